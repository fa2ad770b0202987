"""Completion: objects behind FROM, columns of the tables that are mentioned, functions and keywords elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from snowmelt.cli.prompt.words import FUNCTION_NAMES, KEYWORDS
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import fold, quote, split_name
from snowmelt.runtime.results import Result
from snowmelt.sql.tokens import Token, TokenKind, tokenize

_TYPED = re.compile(r"""((?:(?:"[^"]*"|[A-Za-z_][\w$]*)\.)*)("?[\w$]*)\Z""")
_BEFORE_TABLE = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "VIEW", "USING", "DESCRIBE", "DESC"})
_NOT_IN_FROM = frozenset({"SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "QUALIFY", "LIMIT", "SET", "VALUES"})
_BEFORE_KIND = frozenset({"USE", "DROP", "ALTER", "EXECUTE", "UNDROP", "DESCRIBE", "DESC"})
"""Words that a kind of object follows, and behind it the name of one."""
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class KnownObject:
    database: str
    schema: str
    name: str
    kind: str


@dataclass(slots=True)
class AccountNames:
    """What the account has, asked for when it is needed and kept until a statement may have changed it."""

    ask: Callable[[str], Result]
    _objects: list[KnownObject] | None = None
    _columns: dict[str, list[str]] = field(default_factory=dict)
    _names: dict[str, list[str]] = field(default_factory=dict)

    def forget(self) -> None:
        self._objects = None
        self._columns.clear()
        self._names.clear()

    def objects(self) -> list[KnownObject]:
        if self._objects is None:
            rows = self._rows(f"SHOW OBJECTS IN ACCOUNT LIMIT {_MOST}")
            self._objects = [
                KnownObject(row["database_name"], row["schema_name"], row["name"], row["kind"].lower()) for row in rows
            ]
        return self._objects

    def columns(self, table: str) -> list[str]:
        """The columns of a table, spelled as in SQL; none if there is no such table."""
        if table not in self._columns:
            self._columns[table] = [row["name"] for row in self._rows(f"DESCRIBE TABLE {table}")]
        return self._columns[table]

    def names(self, plural: str) -> list[str]:
        if plural not in self._names:
            self._names[plural] = [row["name"] for row in self._rows(f"SHOW {plural}")]
        return self._names[plural]

    def _rows(self, statement: str) -> list[dict[str, str]]:
        """What can't be asked, for want of a right or of a server, is not offered."""
        try:
            result = self.ask(statement)
        except SnowmeltError:
            return []
        names = [column.name for column in result.columns]
        return [dict(zip(names, row, strict=True)) for row in result.rows()]


class SqlCompleter(Completer):
    def __init__(self, names: AccountNames) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        match = _TYPED.search(document.text_before_cursor)
        assert match is not None
        qualifier, typed = match[1].rstrip("."), match[2]
        if not typed and not qualifier and not complete_event.completion_requested:
            return
        before = _tokens_before(document.text_before_cursor[: match.start()])
        if before is None:
            # Inside a string or a comment.
            return
        seen = set()
        around = f"{document.text_before_cursor[: match.start()]} {document.text_after_cursor}"
        for name, what in self._offered(around, before, qualifier):
            shown = _spelled(name, typed)
            if shown.lower().startswith(typed.lower()) and shown not in seen:
                seen.add(shown)
                yield Completion(shown, start_position=-len(typed), display_meta=what)

    def _offered(self, text: str, before: list[Token], qualifier: str) -> Iterator[tuple[str, str]]:
        word = before[-1].word if before else ""
        if qualifier:
            yield from self._inside(text, qualifier)
        elif word not in _BEFORE_TABLE and len(before) > 1 and before[-2].word in _BEFORE_KIND:
            yield from ((quote(name), word.lower()) for name in self._names.names(f"{word}S"))
        elif word in _BEFORE_TABLE or _in_from_list(before):
            yield from self._relations()
        else:
            for table in mentioned(text).values():
                yield from ((quote(column), f"column of {table}") for column in self._names.columns(table))
            yield from ((name + "(", "function") for name in sorted(FUNCTION_NAMES))
            yield from ((name, "") for name in sorted(KEYWORDS))

    def _relations(self) -> Iterator[tuple[str, str]]:
        objects = self._names.objects()
        yield from ((quote(item.name), f"{item.kind} in {item.database}.{item.schema}") for item in objects)
        yield from ((quote(name), "schema") for name in sorted({item.schema for item in objects}))
        yield from ((quote(name), "database") for name in sorted({item.database for item in objects}))

    def _inside(self, text: str, qualifier: str) -> Iterator[tuple[str, str]]:
        """What may follow `alias.`, `schema.`, `database.` or `database.schema.`."""
        parts = split_name(qualifier)
        if parts is None:
            return
        table = mentioned(text).get(parts[-1]) if len(parts) == 1 else None
        if table is not None:
            yield from ((quote(column), f"column of {table}") for column in self._names.columns(table))
        for item in self._names.objects():
            if parts in ((item.schema,), (item.database, item.schema)):
                yield quote(item.name), item.kind
            if parts == (item.database,):
                yield quote(item.schema), "schema"


def mentioned(text: str) -> dict[str, str]:
    """Every table that a statement reads or writes, as it is spelled, by its alias or else its last name."""
    tokens = _tokens(text) or []
    found: dict[str, str] = {}
    for index, token in enumerate(tokens):
        if token.word in _BEFORE_TABLE or (token.word == "," and _in_from_list(tokens[: index + 1])):
            name, following = _dotted(tokens, index + 1)
            parts = split_name(name)
            if parts is not None:
                found[_alias(tokens, following) or parts[-1]] = name
    return found


def _in_from_list(before: list[Token]) -> bool:
    """Whether the next name is one more table of `FROM a, b, …`."""
    for token in reversed(before):
        if token.word == "FROM":
            return before[-1].word in (",", "FROM")
        if token.word in _NOT_IN_FROM:
            return False
    return False


def _dotted(tokens: list[Token], index: int) -> tuple[str, int]:
    parts = []
    while index < len(tokens) and tokens[index].kind in (TokenKind.WORD, TokenKind.QUOTED):
        parts.append(quote(fold(tokens[index].text, quoted=tokens[index].kind is TokenKind.QUOTED)))
        index += 1
        if index >= len(tokens) or tokens[index].word != ".":
            break
        index += 1
    return ".".join(parts), index


def _alias(tokens: list[Token], index: int) -> str | None:
    if index < len(tokens) and tokens[index].word == "AS":
        index += 1
    if index >= len(tokens) or tokens[index].word in KEYWORDS:
        return None
    if tokens[index].kind not in (TokenKind.WORD, TokenKind.QUOTED):
        return None
    return fold(tokens[index].text, quoted=tokens[index].kind is TokenKind.QUOTED)


def _tokens_before(text: str) -> list[Token] | None:
    """The tokens before a name that is being typed; None where it would be part of a string or a comment."""
    tokens = _tokens(f"{text} x")
    return tokens[:-1] if tokens and tokens[-1].start == len(text) + 1 else None


def _tokens(text: str) -> list[Token] | None:
    try:
        return list(tokenize(text).tokens[:-1])
    except SnowmeltError:
        return None


def _spelled(name: str, typed: str) -> str:
    """In the case that somebody types in, where case means nothing."""
    return name.lower() if typed and typed == typed.lower() and not name.startswith('"') else name
