"""`ADD QUALITY CHECK name AS KIND (…) options` and `DROP QUALITY CHECK name` of ALTER TABLE and ALTER DYNAMIC TABLE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from snowmelt.core import errors
from snowmelt.sql.statements.base import Action, Annotation, NameRef, Statement
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import if_exists, if_not_exists
from snowmelt.sql.statements.options import Options, name_reference, one_of, read_options, text, whole
from snowmelt.sql.tokens import SqlText, TokenKind

EXPRESSIONS = frozenset({"EXPRESSION", "SQL"})
"""Kinds that have an expression between the parentheses, and not columns."""


def literal(cursor: TokenCursor, name: str) -> str:
    """A number, a string, or an expression in parentheses, as SQL text."""
    if cursor.at("("):
        return f"({cursor.inside().text})"
    start = cursor.index
    if not cursor.match("-"):
        cursor.match("+")
    if not cursor.at_kind(TokenKind.NUMBER) and not (start == cursor.index and cursor.at_kind(TokenKind.STRING)):
        raise cursor.unexpected()
    cursor.advance()
    return cursor.since(start).text


def literals(cursor: TokenCursor, name: str) -> tuple[str, ...]:
    """`('a', 2, …)` as SQL texts."""
    return tuple(item.text for item in cursor.expression_list())


def number(cursor: TokenCursor, name: str) -> float:
    token = cursor.peek()
    try:
        value = float(literal(cursor, name).strip("'"))
    except ValueError:
        raise errors.invalid_value(token.text, name) from None
    return value


def amount(cursor: TokenCursor, name: str) -> str:
    """`5`, `'5'` or `'5 %'`."""
    return cursor.string() if cursor.at_kind(TokenKind.STRING) else literal(cursor, name)


def identifiers(cursor: TokenCursor, name: str) -> tuple[str, ...]:
    return cursor.identifiers()


@dataclass(frozen=True, slots=True)
class QualityOptions(Options):
    """What a check is measured by, and what happens when it fails. Which options a kind takes, its rule says."""

    min: Annotated[str | None, literal] = None
    max: Annotated[str | None, literal] = None
    values: Annotated[tuple[str, ...] | None, literals] = None
    pattern: Annotated[str | None, text] = None
    max_age: Annotated[str | None, text] = None
    quantile: Annotated[float | None, number] = None
    method: Annotated[str | None, one_of("PSI", "KS")] = None
    window: Annotated[int | None, whole] = None
    within: Annotated[str | None, amount] = None
    of_before: Annotated[str | None, amount] = None
    table: Annotated[NameRef | None, name_reference] = None
    key: Annotated[tuple[str, ...] | None, identifiers] = None
    severity: Annotated[str | None, one_of("WARN", "ERROR", "CRITICAL")] = None
    on_failure: Annotated[str | None, one_of("WARN", "QUARANTINE", "FAIL", "SUSPEND")] = None
    threshold: Annotated[str | None, amount] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class AddQualityCheck(Annotation):
    name: str
    kind: str
    columns: tuple[str, ...] = ()
    expression: str | None = None
    options: QualityOptions = QualityOptions()
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class DropQualityCheck(Annotation):
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ReplayQuarantine(Action):
    """Quarantined rows go through the gate again."""

    where: SqlText | None = None


@dataclass(frozen=True, slots=True)
class ExecuteQualityChecks(Statement):
    """All checks of a table over the rows that it has."""

    name: NameRef


def parse_add_check(cursor: TokenCursor, *, replaces: bool = False) -> AddQualityCheck:
    """Behind ADD QUALITY CHECK."""
    guarded = if_not_exists(cursor)
    name = cursor.identifier()
    cursor.expect("AS")
    if not cursor.at_kind(TokenKind.WORD):
        raise cursor.unexpected()
    kind = cursor.advance().word
    columns: tuple[str, ...] = ()
    expression: str | None = None
    if kind in EXPRESSIONS:
        expression = cursor.inside().text
    elif cursor.at("("):
        columns = cursor.identifiers()
    options = read_options(cursor, QualityOptions, "QUALITY CHECK")
    return AddQualityCheck(name, kind, columns, expression, options, guarded, replaces)


def parse_drop_check(cursor: TokenCursor) -> DropQualityCheck:
    """Behind DROP QUALITY CHECK."""
    guarded = if_exists(cursor)
    return DropQualityCheck(cursor.identifier(), guarded)


def parse_replay(cursor: TokenCursor) -> ReplayQuarantine:
    """Behind REPLAY QUARANTINE."""
    return ReplayQuarantine(cursor.rest() if cursor.match("WHERE") else None)


def parse_execute_checks(cursor: TokenCursor) -> ExecuteQualityChecks:
    """Behind EXECUTE QUALITY CHECKS."""
    cursor.expect("ON")
    cursor.match("DYNAMIC")
    cursor.match("TABLE")
    return ExecuteQualityChecks(cursor.name())
