"""SHOW, one statement for all kinds."""

from __future__ import annotations

from dataclasses import dataclass

from snowmelt.core import errors
from snowmelt.sql.statements.base import NameRef, Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.kinds import grammar
from snowmelt.sql.tokens import SqlText, TokenKind

_KINDS = (
    "PRIMARY KEYS", "UNIQUE KEYS", "IMPORTED KEYS", "EXPORTED KEYS",
    "EXTERNAL TABLES", "EVENT TABLES", "HYBRID TABLES", "ICEBERG TABLES",
    "MATERIALIZED VIEWS",
    "RESOURCE MONITORS", "DATABASE ROLES", "STORAGE INTEGRATIONS", "INTEGRATIONS",
    "TABLES", "VIEWS", "SCHEMAS", "DATABASES", "WAREHOUSES", "COLUMNS", "OBJECTS", "PARAMETERS",
    "VARIABLES", "SEQUENCES", "TRANSACTIONS", "LOCKS", "REGIONS",
    "SHARES", "SECRETS", "ORGANIZATION ACCOUNTS",
)  # fmt: skip
_WITH_HISTORY = frozenset({"TABLES", "SCHEMAS", "DATABASES", "VIEWS"})
_SCOPES = (
    "ACCOUNT", "DATABASE", "SCHEMA", "TABLE", "VIEW", "SESSION", "USER", "WAREHOUSE", "TASK", "PIPE", "CLASS",
    "APPLICATION PACKAGE", "APPLICATION", "DYNAMIC TABLE", "STREAM", "FAILOVER GROUP",
)  # fmt: skip
_AFTER_SCOPE = frozenset({"STARTS", "LIMIT", "LIKE", "ROOT", "->>"})


def shown_kinds() -> tuple[str, ...]:
    """All that parses. Which of them have an answer is the engine's to say."""
    return (*_KINDS, *grammar().shown)


@dataclass(frozen=True, slots=True)
class ShowScope:
    kind: str | None
    """ACCOUNT, DATABASE, SCHEMA, TABLE, …; None for `IN name`, where the kind follows from what is shown."""
    name: NameRef | None
    """None for the account, or the session's current database, schema, …"""


@dataclass(frozen=True, slots=True)
class ShowStatement(Statement):
    kind: str
    """One of `shown_kinds()`, such as TABLES or PRIMARY KEYS."""
    terse: bool = False
    history: bool = False
    like: str | None = None
    scope: ShowScope | None = None
    starts_with: str | None = None
    limit: int | None = None
    from_name: str | None = None
    root_only: bool = False
    """SHOW TASKS … ROOT ONLY."""
    grants: SqlText | None = None
    """What follows SHOW GRANTS, as written: `ON TABLE t`, `TO ROLE r`, …"""


def parse_show(cursor: TokenCursor) -> ShowStatement:
    terse = cursor.match("TERSE")
    kind = _kind(cursor)
    if kind in ("GRANTS", "FUTURE GRANTS"):
        grants = None if cursor.at_end else cursor.until("->>")
        return ShowStatement(kind, terse, grants=grants)
    history = (kind in _WITH_HISTORY or kind in grammar().with_history) and cursor.match("HISTORY")
    like: str | None = None
    scope: ShowScope | None = None
    # Snowflake documents LIKE before IN, and takes them in both orders.
    while True:
        if like is None and cursor.match("LIKE"):
            like = cursor.string()
        elif scope is None and cursor.at_any(("IN", "FOR")):
            cursor.advance()
            scope = _scope(cursor)
        else:
            break
    root_only = kind == "TASKS" and cursor.match("ROOT", "ONLY")
    starts_with: str | None = None
    if cursor.match("STARTS"):
        cursor.expect("WITH")
        starts_with = cursor.string()
    limit: int | None = None
    from_name: str | None = None
    if cursor.match("LIMIT"):
        limit = cursor.whole()
        from_name = cursor.string() if cursor.match("FROM") else None
    return ShowStatement(kind, terse, history, like, scope, starts_with, limit, from_name, root_only)


def _kind(cursor: TokenCursor) -> str:
    for kind in shown_kinds():
        if cursor.match(*kind.split()):
            return kind
    if cursor.at_kind(TokenKind.WORD):
        words = [cursor.peek().word]
        if cursor.peek(1).kind is TokenKind.WORD and cursor.peek(1).word not in ("LIKE", "IN", "FOR"):
            words.append(cursor.peek(1).word)
        if words[-1].endswith("S"):
            raise errors.unsupported(f"SHOW {' '.join(words)}")
    raise cursor.unexpected()


def _scope(cursor: TokenCursor) -> ShowScope:
    for kind in _SCOPES:
        words = kind.split()
        # `IN schema.t` names something that is called SCHEMA.
        if cursor.at(*words) and cursor.peek(len(words)).word != ".":
            cursor.index += len(words)
            named = cursor.at_kind(TokenKind.WORD) or cursor.at_kind(TokenKind.QUOTED)
            named = named and not cursor.at_any(_AFTER_SCOPE)
            if kind in ("ACCOUNT", "SESSION") and named:
                raise cursor.unexpected()
            return ShowScope(kind, cursor.name() if named else None)
    return ShowScope(None, cursor.name())
