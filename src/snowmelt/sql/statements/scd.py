"""CREATE SCD TYPE 1 | 2 | 3 TABLE: a dynamic table whose query is made from events, keys and an order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.sql.scd import Dimension
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.dynamic_tables import (
    Clauses,
    CreateDynamicTable,
    DynamicTableOptions,
    TargetLag,
    take_clause,
)
from snowmelt.sql.statements.heads import created_name
from snowmelt.sql.statements.options import merged, readers
from snowmelt.sql.tokens import SqlText, TokenKind

DEFAULT_LAG = TargetLag(60)
_ENDS_EXPRESSION = (
    "FROM", "KEY", "SEQUENCE", "DELETE", "TRACK", "CLUSTER", "COPY", "REQUIRE", "FROZEN", "IMMUTABLE", "WITH",
    *readers(DynamicTableOptions),
)  # fmt: skip
"""What can follow an expression that stands free. One that needs such a word as a name goes into parentheses."""


@dataclass(slots=True)
class _Declared:
    options: Clauses = field(default_factory=Clauses)
    dimension: dict[str, Any] = field(default_factory=dict)

    def put(self, name: str, value: object) -> None:
        if name in self.dimension:
            raise errors.compilation("001492", "42601", f"duplicate property '{name.upper().replace('_', ' ')}'")
        self.dimension[name] = value


def parse_create_scd_table(cursor: TokenCursor, head: CreateHead) -> CreateDynamicTable:
    """Behind CREATE [OR …] [TRANSIENT] SCD."""
    cursor.expect("TYPE")
    type_ = _type(cursor)
    cursor.expect("TABLE")
    name, guarded = created_name(cursor, head)
    shown = cursor.since(0).text
    declared = _Declared()
    while not cursor.at("FROM"):
        _clause(cursor, declared)
    cursor.expect("FROM")
    start = cursor.index
    stream = _source(cursor)
    source = cursor.since(start).text
    dimension = Dimension(type_, source=source, stream=stream, **_checked(declared.dimension, type_, stream))
    options = merged(DynamicTableOptions, declared.options.pieces)
    if options.target_lag is None and options.scheduler != "DISABLE":
        options = replace(options, target_lag=DEFAULT_LAG)
    read = source if stream is None else ".".join(map(quote, stream))
    return CreateDynamicTable(
        name, head.or_replace, head.or_alter, guarded, head.transient, (), options,
        query=SqlText(f"SELECT * FROM {read}"), head=shown, dimension=dimension, **declared.options.found,
    )  # fmt: skip


def _type(cursor: TokenCursor) -> Literal[1, 2, 3]:
    token = cursor.peek()
    match cursor.whole():
        case 1:
            return 1
        case 2:
            return 2
        case 3:
            return 3
    raise cursor.unexpected(token)


def _clause(cursor: TokenCursor, declared: _Declared) -> None:
    if cursor.match("KEY"):
        declared.put("key", cursor.identifiers())
    elif cursor.match("SEQUENCE", "BY"):
        expressions = [cursor.until(",", *_ENDS_EXPRESSION, takes_first=True).text]
        while cursor.match(","):
            expressions.append(cursor.until(",", *_ENDS_EXPRESSION, takes_first=True).text)
        declared.put("sequence", tuple(expressions))
    elif cursor.match("DELETE", "WHEN"):
        declared.put("delete_when", cursor.until(*_ENDS_EXPRESSION, takes_first=True).text)
    elif cursor.match("TRACK", "EXCEPT"):
        declared.put("track_except", cursor.identifiers())
    elif cursor.match("TRACK"):
        declared.put("track", cursor.identifiers())
    else:
        take_clause(cursor, declared.options)
        if declared.options.said:
            raise errors.unsupported("policies in CREATE SCD TABLE", hint="Put them on by ALTER DYNAMIC TABLE.")


def _source(cursor: TokenCursor) -> tuple[str, ...] | None:
    """Takes what stands behind FROM; the name of the stream if it is one."""
    if cursor.at("("):
        cursor.inside()
        return None
    if not (cursor.at("STREAM") and cursor.peek(1).kind in (TokenKind.WORD, TokenKind.QUOTED)):
        cursor.name()
        return None
    cursor.advance()
    stream = cursor.name()
    if stream.variable is not None:
        raise errors.unsupported("CREATE SCD … TABLE FROM STREAM IDENTIFIER($variable)")
    return stream.parts


def _checked(found: dict[str, Any], type_: int, stream: tuple[str, ...] | None) -> dict[str, Any]:
    if "key" not in found:
        raise errors.missing_options(["KEY"])
    if "sequence" not in found and stream is None:
        raise errors.missing_options(["SEQUENCE BY"])
    if "track" in found and "track_except" in found:
        raise errors.compilation("001003", "42000", "TRACK and TRACK EXCEPT can't be combined.")
    if type_ == 1 and ("track" in found or "track_except" in found):
        raise errors.compilation(
            "001003", "42000", "SCD TYPE 1 takes no TRACK: it has one row for each key.",
            hint="Leave TRACK out, or choose the columns in FROM (SELECT …).",
        )  # fmt: skip
    return found


CREATE_SCD_TABLE = CreateRule(parse_create_scd_table, frozenset({"TRANSIENT"}), or_alter=True)
