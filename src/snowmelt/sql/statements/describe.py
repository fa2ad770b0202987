"""DESCRIBE, one statement for all kinds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Literal

from snowmelt.core import errors
from snowmelt.sql.statements.base import NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import argument_types
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.kinds import grammar, name_parts
from snowmelt.sql.statements.unsupported import KINDS as OTHER_KINDS
from snowmelt.sql.tokens import SqlText, TokenKind

KINDS = (
    "EXTERNAL TABLE", "EVENT TABLE", "MATERIALIZED VIEW", "TABLE", "VIEW", "SCHEMA", "DATABASE", "WAREHOUSE",
    "SEQUENCE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DescribeStatement(Statement):
    kind: str
    """One of `KINDS`, a feature's kind, or RESULT."""
    name: NameRef | None
    arguments: tuple[SqlText, ...] | None = None
    type: Literal["COLUMNS", "STAGE"] = "COLUMNS"
    """DESCRIBE TABLE t TYPE = STAGE shows the stage's properties."""
    query_id: SqlText | None = None
    """For DESCRIBE RESULT: `'id'` or LAST_QUERY_ID()."""


def parse_describe(cursor: TokenCursor) -> DescribeStatement:
    if cursor.match("RESULT"):
        return DescribeStatement("RESULT", None, query_id=cursor.rest())
    for kind in chain(KINDS, grammar().described):
        if cursor.at(*kind.split()) and cursor.peek(len(kind.split())).word != ".":
            cursor.index += len(kind.split())
            return _described(cursor, kind)
    for kind in chain(OTHER_KINDS, grammar().types):
        if cursor.at(*kind.split()):
            raise errors.unsupported(f"DESCRIBE {kind}")
    if cursor.at("SEARCH", "OPTIMIZATION"):
        raise errors.unsupported("DESCRIBE SEARCH OPTIMIZATION")
    raise cursor.unexpected()


def _described(cursor: TokenCursor, kind: str) -> DescribeStatement:
    name = cursor.name(name_parts(ObjectType(kind)))
    arguments = argument_types(cursor, ObjectType(kind))
    described: Literal["COLUMNS", "STAGE"] = "COLUMNS"
    if cursor.match("TYPE", "="):
        described = "STAGE" if cursor.expect_any(("COLUMNS", "STAGE")) == "STAGE" else "COLUMNS"
    elif cursor.at_kind(TokenKind.WORD):
        raise cursor.unexpected()
    return DescribeStatement(str(kind), name, arguments, described)
