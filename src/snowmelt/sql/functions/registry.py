"""What it means for a function to be on the allow-list.

A `Function` says how many arguments it takes and of which types, what it returns, and how Spark says it. The binder
checks and casts the arguments, so that `emit` sees values of the declared types only.

Writing one is a line:

    scalar("LEFT", "str, int", VARCHAR, "left(_0, _1)")

The fourth argument is a Spark template (`_0` is the first argument) or a function of a `Call`. `docs/reference/
functions.md` is generated from the values in `tests/slt/functions`: a function without a tested value fails the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlglot import exp

from snowmelt.core import errors, types
from snowmelt.core.types import DataType
from snowmelt.core.version import VERSION
from snowmelt.sql.dialect import spark


class FunctionKind(StrEnum):
    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    """May also stand in a window."""
    WINDOW = "window"
    """Stands in a window only."""
    CONTEXT = "context"
    """Its value comes from the session or the statement, and is put in as a constant."""


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What context functions and time-zone dependent casts may know. Constant during a statement."""

    now: datetime
    """The statement's instant: every CURRENT_TIMESTAMP of a statement is the same one."""
    time_zone: str = "UTC"
    user: str = "ADMIN"
    role: str = "ACCOUNTADMIN"
    roles: frozenset[str] = frozenset({"ACCOUNTADMIN", "PUBLIC"})
    """All that are active: the role, the secondary ones, and what they bring with them."""
    secondary_roles: tuple[str, ...] = ()
    """ALL, or names."""
    available_roles: frozenset[str] = frozenset({"ACCOUNTADMIN", "PUBLIC"})
    database: str | None = None
    schema: str | None = None
    warehouse: str | None = None
    session_id: str = ""
    account: str = "SNOWMELT"
    version: str = VERSION
    last_query_ids: tuple[str, ...] = ()
    transaction_id: str | None = None
    invoker: str | None = None
    """The role whose rights the body has that is being bound: a view's owner. None for that of the session."""
    token_key: str = ""
    """What PII_TOKEN mixes into its tokens."""
    parameters: dict[str, str | int | bool] = field(default_factory=dict)
    """Session parameters such as TIMESTAMP_OUTPUT_FORMAT, WEEK_START, TIMEZONE."""

    def at(self, instant: datetime) -> SessionContext:
        """The same with another time. Contexts that watch who reads what override it: a copy is no reading."""
        return replace(self, now=instant)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One use of a function, its arguments already checked, cast and turned into Spark."""

    name: str
    args: tuple[exp.Expr, ...]
    """Spark expressions."""
    types: tuple[DataType, ...]
    """The arguments' types, after the casts that `takes` asked for."""
    source: tuple[exp.Expr, ...]
    """The arguments as written, for those that must be constants (a date part, a format)."""
    returns: DataType
    context: SessionContext
    distinct: bool = False
    order: tuple[exp.Ordered, ...] = ()
    """WITHIN GROUP (ORDER BY …), as Spark expressions."""
    order_types: tuple[DataType, ...] = ()
    """The types of what `order` sorts by."""
    ignore_nulls: bool = False
    window: bool = False
    """Whether OVER (…) follows."""

    def literal(self, index: int) -> str | None:
        """The text of an argument that is a constant or a bare word (`DAY`, `'day'`); None when it is neither."""
        if index >= len(self.source):
            return None
        node = self.source[index]
        if isinstance(node, exp.Literal):
            return str(node.this)
        if isinstance(node, exp.RawString):
            return str(node.this)
        if isinstance(node, exp.Column) and not node.table:
            return str(node.name)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return f"-{node.this.this}"
        return None


Returns = DataType | Callable[[tuple[DataType, ...]], DataType]
Emit = str | Callable[[FunctionCall], exp.Expr]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    kind: FunctionKind
    min_args: int
    max_args: int | None
    """None: any number."""
    takes: tuple[str, ...]
    """What each argument is cast to before `emit`; the last one repeats. See `ARGUMENT_WORDS`."""
    returns: Returns
    emit: Emit
    volatile: bool = False
    """Gives another value when asked again: refused in incremental definitions."""
    family: str = ""
    refusal: str | None = None
    """Set for what Snowflake has and can't be done faithfully here: the hint of the error that names it."""
    typed: Callable[[FunctionCall], DataType] | None = None
    """For the few whose constants decide the type, such as TO_NUMBER(x, 10, 2)."""
    accepts: frozenset[str] = frozenset()
    """What may stand with its arguments beyond them; see `MODIFIERS`. A call with any other is refused.

    `list`: its first argument may be a list in parentheses, whose members come behind the other arguments.
    """
    names: tuple[tuple[str, str | None], ...] = ()
    """Of arguments that may be given by name, with the text that stands for one that is left out."""

    def result_type(self, types: tuple[DataType, ...]) -> DataType:
        return self.returns if isinstance(self.returns, DataType) else self.returns(types)

    def to_spark(self, call: FunctionCall) -> exp.Expr:
        return spark(self.emit, *call.args) if isinstance(self.emit, str) else self.emit(call)


ARGUMENT_WORDS = {
    "any": "as it is",
    "str": "cast to VARCHAR",
    "int": "cast to a 64-bit integer, rounding",
    "num": "a NUMBER or FLOAT as it is; text and VARIANT are cast to NUMBER(38, 5) or FLOAT",
    "float": "cast to FLOAT",
    "bool": "cast to BOOLEAN",
    "date": "cast to DATE",
    "ts": "DATE, TIMESTAMP_* as it is; text is cast to TIMESTAMP_NTZ",
    "datetime": "DATE, TIME, TIMESTAMP_* as it is; text is cast to TIMESTAMP_NTZ",
    "bin": "cast to BINARY",
    "variant": "cast to VARIANT",
    "word": "a constant word such as DAY or 'day', not evaluated",
    "same": "all `same` arguments are cast to their common type",
}


MODIFIERS = {
    "distinct": "DISTINCT in",
    "order": "WITHIN GROUP (ORDER BY …) behind",
    "nulls": "IGNORE NULLS or RESPECT NULLS with",
    "list": "a list of arguments in parentheses of",
}
"""What a call may carry beyond its arguments, and how an error says that it may not."""


def function(
    kind: FunctionKind,
    name: str,
    takes: str,
    returns: Returns,
    emit: Emit,
    *,
    least: int | None = None,
    variadic: bool = False,
    volatile: bool = False,
    typed: Callable[[FunctionCall], DataType] | None = None,
    accepts: str = "",
    names: str = "",
) -> Function:
    """`takes` lists the argument words; `least` is the number that must be given, `variadic` repeats the last.

    `accepts` lists the modifiers that the function reads, `names` those of its arguments: `a, b = 'default'`.
    """
    words = tuple(word.strip() for word in takes.split(",") if word.strip())
    unknown = [word for word in words if word not in ARGUMENT_WORDS]
    if unknown:
        raise ValueError(f"{name}: unknown argument words {unknown}")
    if not MODIFIERS.keys() >= set(accepts.split()):
        raise ValueError(f"{name}: unknown modifiers {accepts}")
    return Function(
        name=name,
        kind=kind,
        min_args=len(words) if least is None else least,
        max_args=None if variadic else len(words),
        takes=words,
        returns=returns,
        emit=emit,
        volatile=volatile,
        typed=typed,
        accepts=frozenset(accepts.split()),
        names=tuple(_name_and_default(item) for item in names.split(",") if item),
    )


def _name_and_default(item: str) -> tuple[str, str | None]:
    name, given, default = item.partition("=")
    return name.strip(), default.strip().strip("'") if given else None


def scalar(name: str, takes: str, returns: Returns, emit: Emit, **options: Any) -> Function:
    return function(FunctionKind.SCALAR, name, takes, returns, emit, **options)


def aggregate(name: str, takes: str, returns: Returns, emit: Emit, **options: Any) -> Function:
    return function(FunctionKind.AGGREGATE, name, takes, returns, emit, **options)


def window(name: str, takes: str, returns: Returns, emit: Emit, **options: Any) -> Function:
    return function(FunctionKind.WINDOW, name, takes, returns, emit, **options)


def context(name: str, takes: str, returns: Returns, emit: Emit, **options: Any) -> Function:
    return function(FunctionKind.CONTEXT, name, takes, returns, emit, **options)


def refused(name: str, hint: str) -> Function:
    """A function that Snowflake has and that can't be done faithfully: using it is an error that names it."""

    def emit(call: FunctionCall) -> exp.Expr:
        raise errors.unsupported(name, hint=hint)

    never = function(FunctionKind.SCALAR, name, "any", types.NULL, emit, least=0, variadic=True)
    return replace(never, refusal=hint)


def alias(original: Function, *names: str) -> tuple[Function, ...]:
    """The same function under other names."""
    return tuple(replace(original, name=name) for name in names)


def first_type(types: Sequence[DataType]) -> DataType:
    """The type of the first argument, for functions that return what they were given."""
    return types[0]
