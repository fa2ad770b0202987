"""Every type that we know can be cast to in every spelling, and a spelling that we lack is refused for its types."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.types import DataType, Kind
from snowmelt.sql.binders import Environment
from snowmelt.sql.dialect import parse_snowflake, to_spark_sql
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.no_relations import NoRelations
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.relations import Relation, RelationColumn, TimeTravel
from snowmelt.sql.typewords import type_of_ast

WORDS = (
    "INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "BYTEINT", "NUMBER", "NUMBER(10, 2)", "DECIMAL(5)", "DEC",
    "NUMERIC", "VARCHAR", "VARCHAR(3)", "STRING", "TEXT", "NVARCHAR", "NVARCHAR2", "CHAR VARYING", "NCHAR VARYING",
    "CHAR", "CHARACTER", "NCHAR", "FLOAT", "FLOAT4", "FLOAT8", "DOUBLE", "DOUBLE PRECISION", "REAL", "BOOLEAN", "DATE",
    "TIME", "TIME(3)", "DATETIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMPNTZ", "TIMESTAMP WITHOUT TIME ZONE",
    "TIMESTAMP_LTZ(6)", "TIMESTAMPLTZ", "TIMESTAMP WITH LOCAL TIME ZONE", "TIMESTAMP_TZ", "TIMESTAMPTZ",
    "TIMESTAMP WITH TIME ZONE", "BINARY", "VARBINARY", "VARIANT", "OBJECT", "ARRAY",
)  # fmt: skip
FUNCTIONS: dict[Kind, tuple[str, ...]] = {
    Kind.NUMBER: ("NUMBER", "DECIMAL", "NUMERIC"),
    Kind.FLOAT: ("DOUBLE",),
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.BINARY: ("BINARY",),
    Kind.DATE: ("DATE",),
    Kind.TIME: ("TIME",),
    Kind.TIMESTAMP_NTZ: ("TIMESTAMP", "TIMESTAMP_NTZ"),
    Kind.TIMESTAMP_LTZ: ("TIMESTAMP_LTZ",),
    Kind.TIMESTAMP_TZ: ("TIMESTAMP_TZ",),
}
"""The words that Snowflake has after TO_ and after TRY_TO_."""
WITHOUT_TRY = {
    Kind.VARCHAR: ("CHAR", "VARCHAR"), Kind.VARIANT: ("VARIANT",), Kind.OBJECT: ("OBJECT",), Kind.ARRAY: ("ARRAY",),
}  # fmt: skip
"""Those that it has after TO_ only: each text is a VARCHAR and a VARIANT, and none is an OBJECT."""


class _Source(NoRelations):
    def relation(self, parts: tuple[str, ...], when: TimeTravel | None) -> Relation:
        if parts[-1] != "SOURCE":
            raise errors.not_found("Object", parts[-1])
        columns = (RelationColumn("S", types.VARCHAR), RelationColumn("V", types.VARIANT))
        return Relation("SOURCE", columns, reference="source")


_ENVIRONMENT = Environment(_Source(), SessionContext(now=datetime(2026, 1, 1, tzinfo=UTC)))


def bound_type(expression: str) -> DataType:
    bound = QueryBinder(_ENVIRONMENT).bind(parse_snowflake(f"SELECT {expression} AS x FROM source"))
    assert to_spark_sql(bound.tree)
    return bound.columns[0].type


def test_all_kinds_and_all_words_of_a_cast_are_tried() -> None:
    named = {type_of(word).kind for word in WORDS}
    assert named == set(Kind) - {Kind.NULL} == {*FUNCTIONS, *WITHOUT_TRY}
    missing = [word for word in types.TYPE_WORDS if word not in {text.split("(")[0] for text in WORDS}]
    assert missing == []


def type_of(word: str) -> DataType:
    found = types.parse_type(word)
    assert found is not None, word
    return found


@pytest.mark.parametrize("word", WORDS)
def test_a_cast_binds_in_every_spelling(word: str) -> None:
    target = type_of(word)
    assert type_of_ast(parse_snowflake(f"s::{word}").args["to"]).kind is target.kind
    assert bound_type(f"CAST(v AS {word})") == bound_type(f"v::{word}")
    if target.kind in (Kind.OBJECT, Kind.ARRAY):
        for cast in (f"CAST(s AS {word})", f"s::{word}", f"TRY_CAST(s AS {word})"):
            with pytest.raises(SnowmeltError, match=f"CAST cannot be used with arguments of types .* {target.kind}"):
                bound_type(cast)
        return
    assert bound_type(f"CAST(s AS {word})") == bound_type(f"s::{word}") == bound_type(f"TRY_CAST(s AS {word})")
    assert bound_type(f"s::{word}").kind is target.kind


@pytest.mark.parametrize("kind", [*FUNCTIONS, *WITHOUT_TRY])
def test_the_functions_of_a_type_bind(kind: Kind) -> None:
    for word in (*FUNCTIONS.get(kind, ()), *WITHOUT_TRY.get(kind, ())):
        assert bound_type(f"TO_{word}(v)").kind is kind
        if kind in FUNCTIONS:
            assert bound_type(f"TO_{word}(s)").kind is kind
            assert bound_type(f"TRY_TO_{word}(s)").kind is kind
