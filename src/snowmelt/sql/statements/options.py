"""`NAME = value` lists, read into frozen models.

A model is a dataclass whose fields are the options in lower case, each annotated with the reader of its
value, as in `comment: Annotated[str | None, text] = None`. None means that the option was not given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from snowmelt.core import errors
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import TokenKind

Reader = Callable[[TokenCursor, str], Any]


class Outside(Enum):
    """What an option leads to that is not in the account: `Annotated[str | None, text, Outside.FILE]`."""

    ADDRESS = "address"
    """A machine, a port, a URL: what the server connects to, and how."""
    FILE = "file"
    """A file of the server's machine."""
    VARIABLE = "variable"
    """A variable of the server's environment."""


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """On an option that is accepted and changes nothing: `Annotated[str | None, word, WithoutEffect("why")]`.

    Only for what asks for speed or cost, or is a note: an option that chooses rows works or is refused.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Options:
    """Base of the option models."""

    def given(self) -> dict[str, Any]:
        """The options that were written, by upper-cased name."""
        values = {item.name.upper(): getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


Model = TypeVar("Model", bound=Options)


# Readers: each takes the value that comes next and names the option in its error.


def text(cursor: TokenCursor, name: str) -> str:
    return cursor.string()


@dataclass(frozen=True, slots=True)
class CommentOption(Options):
    """The only option of kinds that have nothing else to set or unset."""

    comment: Annotated[str | None, text] = None


def whole(cursor: TokenCursor, name: str) -> int:
    token = cursor.peek()
    if token.kind is TokenKind.STRING:
        if not token.text.isascii() or not token.text.isdigit() or len(token.text) > 38:
            raise errors.invalid_value(token.text, name)
        return int(cursor.advance().text)
    return cursor.whole()


def boolean(cursor: TokenCursor, name: str) -> bool:
    token = cursor.peek()
    if token.kind not in (TokenKind.WORD, TokenKind.STRING):
        raise cursor.unexpected()
    value = {"TRUE": True, "FALSE": False}.get(token.text.upper())
    if value is None:
        raise errors.invalid_value(token.text, name)
    cursor.advance()
    return value


def word(cursor: TokenCursor, name: str) -> str:
    """A bare word or a string, upper-cased: Snowflake takes both for most enumerations."""
    if cursor.at_kind(TokenKind.STRING) or cursor.at_kind(TokenKind.QUOTED):
        return cursor.advance().text.upper()
    # Not an identifier: a reserved word such as NULL may be a value.
    if not cursor.at_kind(TokenKind.WORD):
        raise cursor.unexpected()
    return cursor.advance().word


def tags(cursor: TokenCursor, name: str) -> tuple[tuple[str, str], ...]:
    """`('layer' = 'gold', 'certified')`; a tag without a value has the empty one."""
    cursor.expect("(")
    found: dict[str, str] = {}
    while not cursor.match(")"):
        if found:
            cursor.expect(",")
        tag = cursor.string()
        found[tag] = cursor.string() if cursor.match("=") else ""
    return tuple(found.items())


def strings(cursor: TokenCursor, name: str) -> tuple[str, ...]:
    """`('a', 'b')`, perhaps empty."""
    cursor.expect("(")
    found: list[str] = []
    while not cursor.match(")"):
        if found:
            cursor.expect(",")
        found.append(cursor.string())
    return tuple(found)


def name_reference(cursor: TokenCursor, name: str) -> NameRef:
    return cursor.name()


def no_collation(cursor: TokenCursor, name: str) -> str:
    """Only the empty one, which is the default: any other would order and compare texts in another way."""
    value = cursor.string()
    if value:
        raise errors.unsupported(name)
    return value


NO_COLLATION = WithoutEffect("only '' is accepted, which is the default")


def only_default(default: bool) -> Reader:
    """A flag whose other value would give other rows, and is not here."""

    def read(cursor: TokenCursor, name: str) -> bool:
        if boolean(cursor, name) is not default:
            raise errors.unsupported(f"{name} = {str(not default).upper()}")
        return default

    return read


def one_of(*allowed: str) -> Reader:
    def read(cursor: TokenCursor, name: str) -> str:
        shown = cursor.peek().text
        value = word(cursor, name)
        if value not in allowed:
            raise errors.invalid_value(shown, name)
        return value

    return read


def readers(model: type[Options]) -> dict[str, Reader]:
    """The readers of a model, by upper-cased option."""
    # mypy takes the class of a frozen dataclass for unhashable.
    return _readers(cast("Hashable", model))


@cache
def _readers(model: Any) -> dict[str, Reader]:
    hints = get_type_hints(model, include_extras=True)
    return {item.name.upper(): hints[item.name].__metadata__[0] for item in fields(model)}


def at_option(cursor: TokenCursor) -> bool:
    return cursor.at_kind(TokenKind.WORD) and cursor.peek(1).word == "="


def read_options(
    cursor: TokenCursor, model: type[Model], kind: str, *, extra: Collection[str] = (), commas: bool = True
) -> Model:
    """All `NAME = value` pairs that come next. An unknown NAME is an invalid property of `kind`.

    `extra`: options the caller reads by itself; the list ends before one of them.
    """
    values: dict[str, Any] = {}
    known = readers(model)
    while at_option(cursor) and cursor.peek().word not in extra:
        name = cursor.peek().word
        if name not in known:
            raise errors.invalid_property(name, kind)
        if name.lower() in values:
            raise duplicate(name)
        cursor.index += 2
        values[name.lower()] = known[name](cursor, name)
        if commas and cursor.at(",") and cursor.peek(1).kind is TokenKind.WORD and cursor.peek(2).word == "=":
            cursor.advance()
    return model(**values)


def read_required_options(cursor: TokenCursor, model: type[Model], kind: str) -> Model:
    """Reads options as `read_options` does, for SET: at least one must be there."""
    if not at_option(cursor):
        raise cursor.unexpected()
    return read_options(cursor, model, kind)


def read_unset(cursor: TokenCursor, model: type[Options], kind: str, *, extra: Collection[str] = ()) -> tuple[str, ...]:
    """The option names after UNSET."""
    found: list[str] = []
    known = readers(model)
    while True:
        if not cursor.at_kind(TokenKind.WORD):
            raise cursor.unexpected()
        name = cursor.advance().word
        if name not in known and name not in extra:
            raise errors.invalid_property(name, kind)
        found.append(name)
        if not cursor.match(",") and cursor.at_end:
            return tuple(found)


def duplicate(name: str) -> errors.SnowmeltError:
    return errors.compilation("001492", "42601", f"duplicate property '{name}'")


def merged(model: type[Model], pieces: Collection[Model]) -> Model:
    """One model from option lists that other clauses stood between."""
    values: dict[str, Any] = {}
    for piece in pieces:
        for name, value in piece.given().items():
            if name.lower() in values:
                raise duplicate(name)
            values[name.lower()] = value
    return model(**values)
