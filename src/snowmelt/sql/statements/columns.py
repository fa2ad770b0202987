"""Column definitions and constraints, as CREATE TABLE and ALTER TABLE … ADD share them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from snowmelt.core import errors
from snowmelt.sql.statements.base import Annotation, NameRef
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.kinds import declared
from snowmelt.sql.tokens import SqlText

_COLUMN_WORDS = (
    "NOT", "NULL", "DEFAULT", "AUTOINCREMENT", "IDENTITY", "CONSTRAINT", "PRIMARY", "UNIQUE", "REFERENCES",
    "FOREIGN", "CHECK", "COMMENT", "COLLATE", "MASKING", "PROJECTION", "WITH", "TAG", "AS",
)  # fmt: skip
_FLAGS = ("ENFORCED", "DEFERRABLE", "VALIDATE", "NOVALIDATE", "RELY", "NORELY", "ENABLE", "DISABLE")
_RULES = (("CASCADE",), ("RESTRICT",), ("SET", "NULL"), ("SET", "DEFAULT"), ("NO", "ACTION"))


@dataclass(frozen=True, slots=True)
class IdentitySpec:
    start: int = 1
    step: int = 1
    ordered: bool | None = None
    """None where neither ORDER nor NOORDER was written."""


@dataclass(frozen=True, slots=True)
class Constraint:
    name: str | None
    rely: bool


@dataclass(frozen=True, slots=True)
class PrimaryKey(Constraint):
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UniqueKey(Constraint):
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ForeignKeySpec(Constraint):
    columns: tuple[str, ...]
    references: NameRef
    referenced_columns: tuple[str, ...]
    """Empty: the primary key of the table referred to."""


@dataclass(frozen=True, slots=True)
class CheckSpec(Constraint):
    expression: SqlText
    validate: bool = True
    """False with NOVALIDATE: rows that are there already need not satisfy it."""


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    name: str
    type: SqlText | None
    """None where a CREATE TABLE … AS leaves the type to the query."""
    line: int = field(default=1, compare=False)
    position: int = field(default=0, compare=False)
    nullable: bool | None = None
    """None where nothing was said; a PRIMARY KEY column is then NOT NULL all the same."""
    default: SqlText | None = None
    identity: IdentitySpec | None = None
    comment: str | None = None
    constraints: tuple[Constraint, ...] = ()
    """The constraints written at the column. Their `columns` are this one."""
    annotations: tuple[Annotation, ...] = ()
    """What features say of the column."""


def column_spec(cursor: TokenCursor) -> ColumnSpec:
    line, position = cursor.source.position(cursor.peek().start)
    name = cursor.identifier()
    typed = not (cursor.at_any((",", ")", *_COLUMN_WORDS)) or cursor.at_end)
    type_text = cursor.type_text() if typed else None
    nullable: bool | None = None
    default: SqlText | None = None
    identity: IdentitySpec | None = None
    comment: str | None = None
    constraints: list[Constraint] = []
    annotations: list[Annotation] = []
    collation = ""
    while cursor.at_any(_COLUMN_WORDS):
        if cursor.match("NOT", "NULL"):
            nullable = False
            _properties(cursor)
        elif cursor.match("NULL"):
            nullable = True
        elif cursor.at("DEFAULT") and default is None:
            cursor.advance()
            default = cursor.until(",", *_COLUMN_WORDS, takes_first=True)
        elif cursor.at_any(("AUTOINCREMENT", "IDENTITY")) and identity is None:
            cursor.advance()
            identity = _identity(cursor)
        elif cursor.match("COMMENT"):
            cursor.match("=")
            comment = cursor.string()
        elif cursor.match("COLLATE"):
            collation = cursor.string()
        elif cursor.at_any(("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK")):
            constraints.append(_inline_constraint(cursor, name))
        elif (said := declared(cursor, name)) is not None:
            annotations.append(said)
        else:
            raise _unsupported_clause(cursor)
    if collation and type_text is not None:
        type_text = replace(type_text, text=f"{type_text.text} COLLATE '{collation}'")
    return ColumnSpec(
        name, type_text, line, position, nullable, default, identity, comment, tuple(constraints), tuple(annotations)
    )  # fmt: skip


def _unsupported_clause(cursor: TokenCursor) -> errors.SnowmeltError:
    cursor.match("WITH")
    for words in (("PROJECTION", "POLICY"), ("TAG",)):
        if cursor.at(*words):
            return errors.unsupported(" ".join(words))
    if cursor.at("AS", "("):
        return errors.unsupported("virtual column")
    return cursor.unexpected()


def _identity(cursor: TokenCursor) -> IdentitySpec:
    start, step = 1, 1
    if cursor.match("("):
        start = cursor.whole()
        if cursor.match(","):
            step = cursor.whole()
        cursor.expect(")")
    else:
        start, step = start_and_increment(cursor)
    if step == 0:
        raise errors.invalid_value("0", "INCREMENT")
    word = cursor.match_any(("ORDER", "NOORDER"))
    return IdentitySpec(start, step, None if word is None else word == "ORDER")


def start_and_increment(cursor: TokenCursor) -> tuple[int, int]:
    """`START [WITH] [=] n INCREMENT [BY] [=] m`, each optional."""
    start, step = 1, 1
    while True:
        if cursor.match("START"):
            cursor.match("WITH")
            cursor.match("=")
            start = cursor.whole()
        elif cursor.match("INCREMENT"):
            cursor.match("BY")
            cursor.match("=")
            step = cursor.whole()
        else:
            return start, step


def at_constraint(cursor: TokenCursor) -> bool:
    """Whether an out-of-line constraint comes next; `unique` and `check` may be column names too."""
    return (
        cursor.at("CONSTRAINT")
        or cursor.at("PRIMARY", "KEY")
        or cursor.at("FOREIGN", "KEY")
        or cursor.at("UNIQUE", "(")
        or cursor.at("UNIQUE", "KEY")
        or cursor.at("CHECK", "(")
    )


def _inline_constraint(cursor: TokenCursor, column: str) -> Constraint:
    name = cursor.identifier() if cursor.match("CONSTRAINT") else None
    if cursor.match("PRIMARY"):
        cursor.expect("KEY")
        return PrimaryKey(name, _properties(cursor), (column,))
    if cursor.match("UNIQUE"):
        return UniqueKey(name, _properties(cursor), (column,))
    if cursor.match("CHECK"):
        expression = cursor.inside()
        return _check(cursor, name, expression)
    if cursor.match("FOREIGN"):
        cursor.expect("KEY")
    return _references(cursor, name, (column,))


def table_constraint(cursor: TokenCursor) -> Constraint:
    """An out-of-line constraint."""
    name = cursor.identifier() if cursor.match("CONSTRAINT") else None
    if cursor.match("PRIMARY"):
        cursor.expect("KEY")
        columns = cursor.identifiers()
        return PrimaryKey(name, _properties(cursor), columns)
    if cursor.match("UNIQUE"):
        cursor.match("KEY")
        columns = cursor.identifiers()
        return UniqueKey(name, _properties(cursor), columns)
    if cursor.match("CHECK"):
        expression = cursor.inside()
        return _check(cursor, name, expression)
    cursor.expect("FOREIGN", "KEY")
    return _references(cursor, name, cursor.identifiers())


def _check(cursor: TokenCursor, name: str | None, expression: SqlText) -> CheckSpec:
    start = cursor.index
    rely = _properties(cursor)
    said = {token.word for token in cursor.source.tokens[start : cursor.index]}
    return CheckSpec(name, rely, expression, "NOVALIDATE" not in said)


def _references(cursor: TokenCursor, name: str | None, columns: tuple[str, ...]) -> ForeignKeySpec:
    cursor.expect("REFERENCES")
    table = cursor.name()
    referenced = cursor.identifiers() if cursor.at("(") else ()
    return ForeignKeySpec(name, _properties(cursor), columns, table, referenced)


def _properties(cursor: TokenCursor) -> bool:
    """Reads the constraint properties, of which only RELY means anything; says whether it was there."""
    rely = False
    while True:
        if cursor.at("NOT") and cursor.peek(1).word in ("ENFORCED", "DEFERRABLE"):
            cursor.index += 2
        elif cursor.match("INITIALLY"):
            cursor.expect_any(("DEFERRED", "IMMEDIATE"))
        elif cursor.match("MATCH"):
            cursor.expect_any(("FULL", "SIMPLE", "PARTIAL"))
        elif cursor.at("ON", "UPDATE") or cursor.at("ON", "DELETE"):
            cursor.index += 2
            if not any(cursor.match(*rule) for rule in _RULES):
                raise cursor.unexpected()
        elif cursor.at_any(_FLAGS):
            rely = cursor.advance().word == "RELY" or rely
        else:
            return rely
