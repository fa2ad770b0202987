"""Inputs: what values a playbook takes, and how each is written into SQL.

The type of an input decides its SQL form, so that no value can become other SQL than its type says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, field_validator
from sqlglot import exp

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lag import parse_lag
from snowmelt.core.names import literal, quote, split_name
from snowmelt.core.types import parse_type
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.base import Query
from snowmelt.sql.statements.parse import parse_statement

Scalar = str | int | float | bool | None
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WILDCARDS = re.compile(r"([%_\\])")


class InputType(StrEnum):
    TEXT = "text"
    TEXTS = "texts"
    """Several, separated by commas."""
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    IDENTIFIER = "identifier"
    NAME = "name"
    """Of an object in a schema, with one to three parts."""
    COLUMNS = "columns"
    LAG = "lag"
    DATA_TYPE = "data type"
    WORD = "word"
    """A keyword, written as it is."""
    QUERY = "query"
    EXPRESSION = "expression"


class InputSpec(BaseModel):
    """An input as the front matter declares it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: InputType = InputType.TEXT
    description: str = ""
    default: Scalar = None
    """May name other inputs, as in `{{ table }}_COPY`."""
    choices: tuple[Scalar, ...] = ()
    optional: bool = False

    @field_validator("default", mode="before")
    @classmethod
    def _dates_are_text(cls, value: object) -> object:
        # YAML makes dates of what looks like one.
        return value.isoformat() if isinstance(value, date) else value


@dataclass(frozen=True, slots=True)
class InputValue:
    """A value of an input."""

    plain: str
    """As a person wrote it; what conditions compare and the journal keeps."""
    sql: str
    text: str
    """What a string literal of it holds."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Of a name: `database`, `schema` and `name`, in their stored form."""

    def rendered(self, part: str | None, form: str | None) -> str:
        """The SQL of `{{ input.part | form }}`. Raises KeyError for a part that there is not."""
        if part is None:
            sql, text = self.sql, self.text
        else:
            text = self.parts[part]
            sql = quote(text)
        if form is None:
            return sql
        return literal(_WILDCARDS.sub(r"\\\1", text) if form == "like" else text)


FORMS = frozenset({"text", "like"})
PARTS = frozenset({"database", "schema", "name"})


@dataclass(frozen=True, slots=True)
class PlaybookHome:
    """Where names are that say no more."""

    database: str = "SNOWMELT"
    schema: str = "PUBLIC"


def parse_value(spec: InputSpec, raw: Scalar, home: PlaybookHome) -> InputValue:
    """The value, or a ValueError that says what is wrong with it."""
    plain = ("true" if raw else "false") if isinstance(raw, bool) else str(raw).strip()
    allowed = {str(choice).casefold() for choice in spec.choices}
    if allowed and plain.casefold() not in allowed:
        raise ValueError(f"'{plain}' is not one of {', '.join(map(str, spec.choices))}")
    return _PARSERS[spec.type](plain, home)


def _text(plain: str, _: PlaybookHome) -> InputValue:
    return InputValue(plain, literal(plain), plain)


def _texts(plain: str, _: PlaybookHome) -> InputValue:
    items = [item.strip() for item in plain.split(",")]
    if not all(items):
        raise ValueError(f"'{plain}' is not a list of texts")
    return InputValue(plain, ", ".join(map(literal, items)), plain)


def _integer(plain: str, _: PlaybookHome) -> InputValue:
    if re.fullmatch(r"[+-]?\d{1,38}", plain) is None:
        raise ValueError(f"'{plain}' is not a whole number")
    return InputValue(plain, plain, plain)


def _number(plain: str, _: PlaybookHome) -> InputValue:
    try:
        value = Decimal(plain)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise ValueError(f"'{plain}' is not a number")
    return InputValue(plain, format(value, "f"), plain)


def _boolean(plain: str, _: PlaybookHome) -> InputValue:
    known = {"true": "TRUE", "yes": "TRUE", "false": "FALSE", "no": "FALSE"}
    if plain.lower() not in known:
        raise ValueError(f"'{plain}' is neither true nor false")
    sql = known[plain.lower()]
    return InputValue(sql.lower(), sql, sql.lower())


def _date(plain: str, _: PlaybookHome) -> InputValue:
    try:
        found = date.fromisoformat(plain)
    except ValueError:
        raise ValueError(f"'{plain}' is not a date (yyyy-mm-dd)") from None
    return InputValue(plain, f"{literal(found.isoformat())}::DATE", found.isoformat())


def _timestamp(plain: str, _: PlaybookHome) -> InputValue:
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        raise ValueError(f"'{plain}' is not a timestamp (yyyy-mm-dd hh:mm:ss)") from None
    kind = "TIMESTAMP_NTZ" if found.tzinfo is None else "TIMESTAMP_TZ"
    text = found.isoformat(sep=" ")
    return InputValue(plain, f"{literal(text)}::{kind}", text)


def _identifier(plain: str, _: PlaybookHome) -> InputValue:
    parts = split_name(plain)
    if parts is None or len(parts) != 1 or not parts[0]:
        raise ValueError(f"'{plain}' is not a name of one part")
    return InputValue(plain, quote(parts[0]), parts[0])


def _name(plain: str, home: PlaybookHome) -> InputValue:
    parts = split_name(plain)
    if parts is None or len(parts) > 3 or not all(parts):
        raise ValueError(f"'{plain}' is not a name, as NAME, SCHEMA.NAME or DATABASE.SCHEMA.NAME")
    full = (*(home.database, home.schema)[: 3 - len(parts)], *parts)
    sql = ".".join(map(quote, full))
    return InputValue(plain, sql, sql, dict(zip(("database", "schema", "name"), full, strict=True)))


def _columns(plain: str, _: PlaybookHome) -> InputValue:
    names: list[str] = []
    for piece in plain.split(","):
        parts = split_name(piece)
        if parts is None or len(parts) != 1 or not parts[0]:
            raise ValueError(f"'{piece.strip()}' is not the name of a column")
        names.append(quote(parts[0]))
    sql = ", ".join(names)
    return InputValue(plain, sql, sql)


def _lag(plain: str, _: PlaybookHome) -> InputValue:
    if plain.upper() == "DOWNSTREAM":
        return InputValue("DOWNSTREAM", "DOWNSTREAM", "DOWNSTREAM")
    if not parse_lag(plain):
        raise ValueError(f"'{plain}' is not a lag, as '5 minutes' or DOWNSTREAM")
    return InputValue(plain, literal(plain), plain)


def _data_type(plain: str, _: PlaybookHome) -> InputValue:
    if parse_type(plain) is None:
        raise ValueError(f"'{plain}' is not a data type")
    return InputValue(plain, plain.upper(), plain)


def _word(plain: str, _: PlaybookHome) -> InputValue:
    if _WORD.match(plain) is None:
        raise ValueError(f"'{plain}' is not a word")
    return InputValue(plain, plain.upper(), plain)


def _query(plain: str, _: PlaybookHome) -> InputValue:
    text = plain.rstrip().removesuffix(";")
    try:
        statement = parse_statement(text)
    except SnowmeltError as error:
        raise ValueError(f"it is not a query: {error.message}") from None
    if not isinstance(statement, Query):
        raise ValueError("it is a statement, not a query")
    # The line break ends a comment at its end.
    return InputValue(plain, f"{text}\n", text)


def _expression(plain: str, _: PlaybookHome) -> InputValue:
    sql = f"({plain}\n)"
    # Alone and in its parentheses it must be one expression: `1) + (2` is one only in a part of that.
    for text, wanted in ((plain, exp.Expr), (sql, exp.Paren)):
        try:
            tree = parse_snowflake(f"SELECT {text}")
        except SnowmeltError as error:
            raise ValueError(f"'{plain}' is not an expression: {error.message}") from None
        clauses = {name for name, value in tree.args.items() if value}
        if clauses != {"expressions"} or len(tree.expressions) != 1 or not isinstance(tree.expressions[0], wanted):
            raise ValueError(f"'{plain}' is not one expression")
    return InputValue(plain, sql, plain)


_PARSERS: dict[InputType, Callable[[str, PlaybookHome], InputValue]] = {
    InputType.TEXT: _text, InputType.TEXTS: _texts, InputType.INTEGER: _integer,
    InputType.NUMBER: _number, InputType.BOOLEAN: _boolean,
    InputType.DATE: _date, InputType.TIMESTAMP: _timestamp, InputType.IDENTIFIER: _identifier, InputType.NAME: _name,
    InputType.COLUMNS: _columns, InputType.LAG: _lag, InputType.DATA_TYPE: _data_type, InputType.WORD: _word,
    InputType.QUERY: _query, InputType.EXPRESSION: _expression,
}  # fmt: skip

SAMPLES: dict[InputType, str] = {
    InputType.TEXT: "text", InputType.TEXTS: "a, b", InputType.INTEGER: "1",
    InputType.NUMBER: "1.5", InputType.BOOLEAN: "true",
    InputType.DATE: "2026-01-31", InputType.TIMESTAMP: "2026-01-31 10:00:00", InputType.IDENTIFIER: "EXAMPLE",
    InputType.NAME: "EXAMPLE", InputType.COLUMNS: "A, B", InputType.LAG: "1 minute", InputType.DATA_TYPE: "VARCHAR",
    InputType.WORD: "EXAMPLE", InputType.QUERY: "SELECT 1 AS A", InputType.EXPRESSION: "1 = 1",
}  # fmt: skip
"""A value of each type, with which lint parses SQL."""
