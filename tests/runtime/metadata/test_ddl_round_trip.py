"""Running what GET_DDL prints makes the same table again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.core import types
from snowmelt.core.names import ObjectName
from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.metadata.ddl import SYSTEM_NAME, object_ddl
from snowmelt.runtime.session import Session
from snowmelt.sql.statements.cursor import RESERVED
from snowmelt.state.model import (
    CatalogObject,
    CheckConstraint,
    Column,
    ForeignKey,
    IdentityColumn,
    Key,
    ObjectKind,
    TableDefinition,
)

_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12)
_NAME = st.one_of(
    st.from_regex(r"[A-Z_][A-Z0-9_$]{0,6}", fullmatch=True),
    st.sampled_from(sorted({*RESERVED, "PRIMARY", "FOREIGN", "CONSTRAINT", "IF", "IDENTIFIER", "DEFAULT", "COMMENT"})),
    st.text(st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="`"), min_size=1, max_size=6).filter(
        lambda name: name not in (".", "..")
    ),
)
_PLAIN_TYPES = [
    types.INTEGER, types.FLOAT, types.VARCHAR, types.BINARY, types.BOOLEAN, types.DATE, types.VARIANT, types.OBJECT,
    types.ARRAY, types.TIME, types.TIMESTAMP_NTZ, types.TIMESTAMP_LTZ, types.TIMESTAMP_TZ,
]  # fmt: skip
_TYPES = st.one_of(
    st.sampled_from(_PLAIN_TYPES),
    st.builds(types.varchar, st.integers(1, types.MAX_VARCHAR)),
    st.integers(1, 38).flatmap(lambda p: st.builds(types.number, st.just(p), st.integers(0, min(p, 37)))),
    st.builds(lambda digits: replace(types.TIMESTAMP_NTZ, precision=digits), st.integers(0, 9)),
)
_DEFAULTS = {
    Kind.NUMBER: ["0", "-5", "1 + 2", "NULL"],
    Kind.VARCHAR: ["'x'", "'it''s'", r"'a\\b'", "UPPER('q')", "NULL"],
    Kind.BOOLEAN: ["TRUE", "NOT TRUE"],
    Kind.DATE: ["CURRENT_DATE()", "'2024-01-31'::DATE"],
    Kind.TIMESTAMP_NTZ: ["CURRENT_TIMESTAMP()::TIMESTAMP_NTZ"],
}


@st.composite
def _column(draw: st.DrawFn, name: str) -> Column:
    type_ = draw(_TYPES)
    extra: dict[str, Any] = {}
    if type_.is_number and type_.scale == 0 and (type_.precision or 0) >= 18 and draw(st.booleans()):
        step = draw(st.integers(1, 9))
        extra["identity"] = IdentityColumn(start=draw(st.integers(-9, 9)), step=step, ordered=draw(st.booleans()))
    elif _fits(type_) and draw(st.booleans()):
        extra["default"] = draw(st.sampled_from(_DEFAULTS[type_.kind]))
    nullable = extra.get("default") == "NULL" or draw(st.booleans())
    comment = draw(st.none() | _TEXT)
    return Column(name=name, type=type_, nullable=nullable, comment=comment, **extra)


def _fits(type_: DataType) -> bool:
    """Whether the sample defaults are values of the type: a short VARCHAR or NUMBER(1,1) would refuse some."""
    if type_.kind is Kind.NUMBER:
        return (type_.precision or 0) - (type_.scale or 0) >= 2
    return type_.kind in _DEFAULTS and not (type_.kind is Kind.VARCHAR and (type_.length or 0) < 5)


@st.composite
def _definition(draw: st.DrawFn, parent: ObjectName) -> TableDefinition:
    names = draw(st.lists(_NAME, min_size=1, max_size=5, unique_by=str.upper))
    columns = [draw(_column(name)) for name in names]
    keyed = [column.name for column in columns if not column.type.is_semi_structured]
    constraint = st.one_of(st.just(SYSTEM_NAME + "1"), _NAME.map(lambda name: f"{name}_k"))
    labels = iter(draw(st.lists(constraint, min_size=4, max_size=4, unique_by=str.upper)))
    extra: dict[str, Any] = {}
    if keyed and draw(st.booleans()):
        chosen = tuple(draw(st.lists(st.sampled_from(keyed), min_size=1, unique=True)))
        extra["primary_key"] = Key(name=next(labels), columns=chosen)
        columns = [
            column.model_copy(update={"nullable": False, "default": None}) if column.name in chosen else column
            for column in columns
        ]
    if keyed and draw(st.booleans()):
        extra["unique_keys"] = (Key(name=next(labels), columns=(draw(st.sampled_from(keyed)),)),)
    whole = [column.name for column in columns if column.type == types.INTEGER]
    if whole and draw(st.booleans()):
        extra["foreign_keys"] = (
            ForeignKey(name=next(labels), columns=(whole[0],), references=parent, referenced_columns=("ID",)),
        )
    if draw(st.booleans()):
        extra["checks"] = (CheckConstraint(name=next(labels), expression="1 < 2"),)
    if draw(st.booleans()):
        extra["cluster_by"] = tuple(_quoted(name) for name in keyed[:2])
    return TableDefinition(
        columns=tuple(columns),
        location="",
        transient=draw(st.booleans()),
        retention_days=draw(st.sampled_from([0, 1])),
        change_tracking=draw(st.booleans()),
        schema_evolution=draw(st.booleans()),
        **extra,
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _visible(definition: TableDefinition) -> dict[str, Any]:
    """The definition as SHOW and DESCRIBE tell it: where the rows lie and which integer type holds them is not seen."""
    kept = definition.model_dump(exclude={"location", "change_feed", "spark_only", "columns"})
    for key in (kept["primary_key"], *kept["unique_keys"], *kept["foreign_keys"], *kept["checks"]):
        if key is not None and key["name"].startswith(SYSTEM_NAME):
            key["name"] = SYSTEM_NAME
    kept["columns"] = [
        (column.name, str(column.type), column.nullable, column.default, column.identity, column.comment)
        for column in definition.columns
    ]
    return kept


@pytest.fixture(scope="module")
def home(metadata_account: Any) -> Session:
    session: Session = metadata_account.session()
    session.execute("CREATE OR REPLACE DATABASE round_trip")
    session.execute("CREATE TABLE parent (id INT PRIMARY KEY)")
    return session


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_table_comes_back(home: Session, data: st.DataObject) -> None:
    parent = ObjectName("ROUND_TRIP", "PUBLIC", "PARENT")
    definition = data.draw(_definition(parent))
    name = ObjectName("ROUND_TRIP", "PUBLIC", data.draw(_NAME.filter(lambda name: name != "PARENT")))
    comment = data.draw(st.none() | _TEXT)
    instant = datetime(2024, 1, 1, tzinfo=UTC)
    item = CatalogObject(
        id="1", name=name, owner="R", comment=comment, created_on=instant, altered_on=instant, definition=definition
    )
    text = object_ddl(item, qualified=data.draw(st.booleans()))
    home.execute(text)
    with home.account.state.read() as state:
        found = state.catalog.find(name, [ObjectKind.TABLE])
    assert found is not None
    assert found.comment == comment
    assert isinstance(found.definition, TableDefinition)
    assert _visible(found.definition) == _visible(definition)
    # And the text is a fixed point: a table made from it prints it again.
    again = home.execute(f"SELECT GET_DDL('TABLE', {_literal(str(name))}, TRUE)").rows()[0][0]
    assert again == object_ddl(item, qualified=True)


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
