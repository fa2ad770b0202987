"""The entry: which words lead to which parser.

What is no feature's is in the tables below; the kinds of features are in `grammar()`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

from snowmelt.core import errors
from snowmelt.sql.statements import (
    alter_table,
    changes,
    databases_schemas,
    describe,
    dml,
    sequences,
    session,
    show,
    tables,
    views,
    warehouses,
)
from snowmelt.sql.statements.base import AnonymousBlock, Explain, ObjectType, Query, Statement
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.kinds import AlterParser, Parser, grammar
from snowmelt.sql.statements.unsupported import KINDS, LEADING_WORDS, refused
from snowmelt.sql.tokens import SqlText, TokenKind, block_end, starts_block

Row = TypeVar("Row")


def parse_statement(sql: SqlText | str) -> Statement:
    """One statement. For any other text it raises a `SnowmeltError`, and never another exception."""
    cursor = TokenCursor(sql)
    if cursor.at_end:
        raise errors.empty_statement()
    if starts_block(cursor.tokens, 0):
        return _block(cursor)
    word = cursor.peek().word
    parser = _own_parser(cursor, word) or _base_parser(cursor, word)
    statement = parser(cursor)
    if cursor.at("->>"):
        raise errors.unsupported("->>")
    cursor.done()
    return statement


def _base_parser(cursor: TokenCursor, word: str) -> Parser:
    parser = STATEMENTS.get(word)
    if parser is None:
        raise errors.unsupported(word) if word in LEADING_WORDS else cursor.unexpected()
    if parser is not _query:
        cursor.advance()
    return parser


def _own_parser(cursor: TokenCursor, word: str) -> Parser | None:
    """The parser of a statement that a feature brings. Its first words have been read then."""
    for words, parser in grammar().verbs.get(word, ()):
        if cursor.match(*words):
            return parser
    return None


def _query(cursor: TokenCursor) -> Query:
    if cursor.at("WITH"):
        _refuse_other_ends(cursor)
    return Query(cursor.rest())


def _refuse_other_ends(cursor: TokenCursor) -> None:
    """Behind its common table expressions a WITH holds a query only; a Query never changes rows."""
    if cursor.peek(2).word == "AS" and cursor.peek(3).word == "PROCEDURE":
        raise errors.unsupported("WITH … AS PROCEDURE")
    depth = 0
    for index, token in enumerate(cursor.tokens):
        depth += (token.word == "(") - (token.word == ")")
        if depth == 0 and token.word in ("INSERT", "UPDATE", "DELETE", "MERGE"):
            if cursor.tokens[index - 1].word == ")":
                raise cursor.unexpected(token)
        elif depth == 0 and token.word == "SELECT":
            return


def _block(cursor: TokenCursor) -> AnonymousBlock:
    cursor.index = block_end(cursor.tokens, 0)
    text = cursor.since(0)
    cursor.done()
    return AnonymousBlock(text)


def _explain(cursor: TokenCursor) -> Statement:
    if not cursor.match("USING"):
        return Explain(cursor.rest())
    word = cursor.expect_any(("TABULAR", "JSON", "TEXT"))
    text = cursor.rest()
    return Explain(text, "JSON" if word == "JSON" else "TEXT" if word == "TEXT" else "TABULAR")


def _create(cursor: TokenCursor) -> Statement:
    or_replace = cursor.match("OR", "REPLACE")
    or_alter = not or_replace and cursor.match("OR", "ALTER")
    modifiers: set[str] = set()
    words = MODIFIERS | grammar().modifiers
    while cursor.at_any(words) and cursor.peek(1).kind is TokenKind.WORD and not _at_kind(cursor):
        modifiers.add(cursor.advance().word)
    also = grammar().also_created.get(cursor.peek().word)
    if also is not None:
        cursor.advance()
        kind, rule = also
    else:
        kind, rule = _take_kind(cursor, chain(CREATE.items(), grammar().create.items()), "CREATE")
    if or_alter and not rule.or_alter:
        raise errors.unsupported(f"CREATE OR ALTER {kind}")
    wrong = modifiers - rule.modifiers
    if wrong:
        raise errors.unsupported(f"CREATE {min(wrong)} {kind}")
    head = CreateHead(kind, or_replace, or_alter, frozenset(modifiers))
    if not head.temporary and (alone := modifiers & {"LOCAL", "GLOBAL"}):
        raise errors.unsupported(f"CREATE {min(alone)} {kind}", hint="LOCAL and GLOBAL stand before TEMPORARY.")
    return rule.parse(cursor, head)


def _alter(cursor: TokenCursor) -> Statement:
    _refuse_longer(cursor, "ALTER")
    if cursor.match("SESSION"):
        return session.parse_alter_session(cursor)
    if cursor.match("ACCOUNT"):
        return session.parse_alter_account(cursor)
    kind, parser = _take_kind(cursor, chain(ALTER.items(), grammar().alter.items()), "ALTER")
    return parser(cursor, kind)


def _drop(cursor: TokenCursor) -> Statement:
    kind, _ = _take_kind(cursor, _all_types(), "DROP")
    return changes.parse_drop(cursor, kind)


def _undrop(cursor: TokenCursor) -> Statement:
    kind, _ = _take_kind(cursor, chain(UNDROP.items(), grammar().undropped.items()), "UNDROP")
    return changes.parse_undrop(cursor, kind)


def _execute(cursor: TokenCursor) -> Statement:
    for kind in grammar().kinds:
        if kind.execute is not None and cursor.match(*kind.name.split()):
            return kind.execute(cursor)
    if cursor.at_kind(TokenKind.WORD):
        raise errors.unsupported(f"EXECUTE {cursor.peek().word}")
    raise cursor.unexpected()


def _comment(cursor: TokenCursor) -> Statement:
    guarded = cursor.match("IF", "EXISTS")
    cursor.expect("ON")
    if cursor.match("COLUMN"):
        return changes.parse_comment_on_column(cursor, guarded=guarded)
    kind, _ = _take_kind(cursor, _all_types(), "COMMENT ON")
    return changes.parse_comment_on(cursor, kind, guarded=guarded)


def _at_kind(cursor: TokenCursor) -> bool:
    """Whether a kind of several words comes next that begins like a modifier: EXTERNAL TABLE, …"""
    return any(" " in kind and cursor.at(*kind.split()) for kind in KINDS)


def _all_types() -> Iterable[tuple[ObjectType, None]]:
    return ((kind, None) for kind in grammar().types)


def _refuse_longer(cursor: TokenCursor, verb: str) -> None:
    """DATABASE ROLE r is no database that is called ROLE, nor SESSION POLICY a session."""
    for name in KINDS:
        words = name.split()
        named = (TokenKind.WORD, TokenKind.QUOTED)
        if len(words) > 1 and cursor.at(*words) and cursor.peek(len(words)).kind in named:
            raise refused(verb, name)


def _take_kind(cursor: TokenCursor, table: Iterable[tuple[ObjectType, Row]], verb: str) -> tuple[ObjectType, Row]:
    _refuse_longer(cursor, verb)
    for kind, row in table:
        if cursor.match(*kind.split()):
            return kind, row
    for name in KINDS:
        if cursor.at(*name.split()):
            raise refused(verb, name)
    for kind, _ in _all_types():
        if cursor.at(*kind.split()):
            raise errors.unsupported(f"{verb} {kind}")
    raise cursor.unexpected()


CREATE: dict[ObjectType, CreateRule] = {
    ObjectType.DATABASE: databases_schemas.CREATE_DATABASE,
    ObjectType.SCHEMA: databases_schemas.CREATE_SCHEMA,
    ObjectType.TABLE: tables.CREATE_TABLE,
    ObjectType.VIEW: views.CREATE_VIEW,
    ObjectType.SEQUENCE: sequences.CREATE_SEQUENCE,
    ObjectType.WAREHOUSE: warehouses.CREATE_WAREHOUSE,
}
MODIFIERS = frozenset().union(*(rule.modifiers for rule in CREATE.values()))

ALTER: dict[ObjectType, AlterParser] = {
    ObjectType.DATABASE: databases_schemas.parse_alter_database,
    ObjectType.SCHEMA: databases_schemas.parse_alter_schema,
    ObjectType.TABLE: alter_table.parse_alter_table,
    ObjectType.VIEW: views.parse_alter_view,
    ObjectType.SEQUENCE: sequences.parse_alter_sequence,
    ObjectType.WAREHOUSE: warehouses.parse_alter_warehouse,
}

UNDROP = dict.fromkeys((ObjectType.DATABASE, ObjectType.SCHEMA, ObjectType.TABLE))

STATEMENTS: dict[str, Parser] = {
    "SELECT": _query,
    "WITH": _query,
    "VALUES": _query,
    "(": _query,
    "EXPLAIN": _explain,
    "CREATE": _create,
    "ALTER": _alter,
    "DROP": _drop,
    "UNDROP": _undrop,
    "COMMENT": _comment,
    "TRUNCATE": tables.parse_truncate,
    "INSERT": dml.parse_insert,
    "UPDATE": dml.parse_update,
    "DELETE": dml.parse_delete,
    "MERGE": dml.parse_merge,
    "EXECUTE": _execute,
    "SHOW": show.parse_show,
    "DESCRIBE": describe.parse_describe,
    "DESC": describe.parse_describe,
    "USE": session.parse_use,
    "SET": session.parse_set,
    "UNSET": session.parse_unset,
    "BEGIN": session.parse_begin,
    "START": session.parse_start,
    "COMMIT": session.parse_commit,
    "ROLLBACK": session.parse_rollback,
}
