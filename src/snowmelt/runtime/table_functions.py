"""Table functions over metadata and results: TABLE(RESULT_SCAN(…)) and INFORMATION_SCHEMA's functions."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, quote, split_name
from snowmelt.runtime import inputs, spilling
from snowmelt.runtime.kinds import Run, all_kinds
from snowmelt.runtime.metadata.columns import Columns, Row
from snowmelt.runtime.results import ResultCache
from snowmelt.runtime.rights.definitions import rows_without_secrets
from snowmelt.runtime.statement import HasEngine
from snowmelt.runtime.variables import Variable
from snowmelt.sql.functions import documented
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.relations import Relation
from snowmelt.state.model import RELATIONS, CatalogObject, Warehouse
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

MAX_RESULTS = 10_000
_ANYWHERE = frozenset({"INFER_SCHEMA"})
"""Functions that belong to no schema."""
_CORE = ["SNOWFLAKE", "CORE"]
_NEAR = 0.7
"""How alike two names have to be to be taken for a misspelling."""
_INSTEAD = {
    "DIRECTORY": "LIST @stage shows the files of a stage.",
    "GETNEXTVAL": "Write the sequence's NEXTVAL in the SELECT list.",
    "VALIDATE": "COPY INTO … VALIDATION_MODE = RETURN_ERRORS shows the errors of files.",
}
"""Snowflake has them, and people will look for them here."""


class EvaluatingStatement(Protocol):
    """A statement that knows the values of constant expressions."""

    @property
    def context(self) -> SessionContext: ...
    def evaluate(self, text: exp.Expr) -> Variable: ...


class Arguments:
    """The arguments of one call: constants, by name or by position."""

    def __init__(self, run: EvaluatingStatement, function: TableFunction, given: Mapping[str, exp.Expr]) -> None:
        self._run = run
        self._given: dict[str, exp.Expr] = {}
        for key, value in given.items():
            name = function.name_of(key)
            if name is None:
                raise errors.compilation("001019", "42601", f"Invalid argument name '{key}' for {function.name}")
            self._given[name] = value

    def value(self, name: str) -> Any:
        """The value of an argument; None if it is absent."""
        return self._run.evaluate(self._given[name]).value if name in self._given else None

    def text(self, name: str) -> str | None:
        value = self.value(name)
        return None if value is None else str(value)

    def identifier(self, name: str) -> str | None:
        """A name in quotes: 'user1' means USER1, '"User 1"' means itself."""
        text = self.text(name)
        parts = split_name(text) if text is not None else None
        return parts[-1] if parts is not None else text

    def instant(self, name: str) -> datetime | None:
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, str):
            value = _parsed(value, name)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            raise errors.compilation("001007", "22023", f"invalid type [{value}] for parameter '{name}'")
        zone = ZoneInfo(self._run.context.time_zone)
        return value if value.tzinfo is not None else value.replace(tzinfo=zone)

    def limit(self, default: int) -> int:
        value = self.value("RESULT_LIMIT")
        if value is None:
            return default
        try:
            value = int(value)
        except (TypeError, ValueError, OverflowError):
            raise errors.invalid_value(str(value), "RESULT_LIMIT") from None
        if value > MAX_RESULTS:
            raise errors.compilation(
                "001017", "22023", "Value for parameter RESULT_LIMIT exceeds maximum allowable value (10,000)."
            )
        return value if value > 0 else MAX_RESULTS


def _parsed(text: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise errors.invalid_value(text, name) from None


@dataclass(frozen=True, slots=True)
class TableFunction:
    name: str
    arguments: tuple[str, ...]
    columns: Columns
    rows: Callable[[Run, StateReader, Arguments], list[Row]]
    required: int = 0
    about: str | None = None
    """The column that names what a row is about, beside DATABASE_NAME and SCHEMA_NAME: only those who may know of it
    get the row."""
    inner: tuple[str, ...] = ()
    """Columns that tell how it is made and what failed in it: for those who monitor or operate it."""

    def name_of(self, key: str) -> str | None:
        """The argument that a key means: its name, or its position."""
        if key.isdigit():
            return self.arguments[int(key)] if int(key) < len(self.arguments) else None
        return key if key in self.arguments else None


class TableFunctions(Protocol):
    @property
    def table_functions(self) -> Mapping[str, TableFunction]: ...
    @property
    def core_functions(self) -> Mapping[str, TableFunction]: ...


class QueriedAccount(HasEngine, Protocol):
    """An account whose features add table functions, and which keeps results."""

    @property
    def features(self) -> TableFunctions: ...
    @property
    def results(self) -> ResultCache: ...


class QueryingSession(spilling.SpillingSession, Protocol):
    @property
    def user(self) -> str: ...
    @property
    def schema(self) -> str | None: ...


class QueryingStatement(spilling.SpillingStatement, EvaluatingStatement, Protocol):
    """A statement that reads table functions."""

    @property
    def session(self) -> QueryingSession: ...
    @property
    def account(self) -> QueriedAccount: ...


def call(run: QueryingStatement, state: StateReader, name: str, arguments: dict[str, exp.Expr]) -> Relation:
    """The relation that a call in FROM means. Raises the unknown-function error, naming the nearest function."""
    *schema, last = split_name(name) or (name,)
    if last == "RESULT_SCAN" and not schema:
        return _result_scan(run, arguments)
    in_core = schema == _CORE
    features = run.account.features
    function = (features.core_functions if in_core else features.table_functions).get(last)
    if function is None or (schema and not in_core and schema[-1] != "INFORMATION_SCHEMA"):
        if function is None and last in documented.beside()["Table"]:
            raise errors.unsupported(f"the table function {last}", hint=_INSTEAD.get(last))
        known = [
            "RESULT_SCAN", *features.table_functions, *(f"SNOWFLAKE.CORE.{core}" for core in features.core_functions),
        ]  # fmt: skip
        nearest = difflib.get_close_matches(last, known, n=1, cutoff=_NEAR)
        raise errors.unknown_function(name, nearest[0] if nearest else None)
    if not schema and last not in _ANYWHERE and run.session.schema != "INFORMATION_SCHEMA":
        raise errors.unknown_function(name, f"INFORMATION_SCHEMA.{last}")
    if len(schema) > 1 and not in_core and state.catalog.database(schema[0]) is None:
        raise errors.not_found("Database", quote(schema[0]))
    if len(arguments) < function.required:
        raise errors.not_enough_arguments(last, function.required, len(arguments))
    given = Arguments(run, function, arguments)
    key = f"{name} {sorted((key, value.sql()) for key, value in arguments.items())}"
    reference = inputs.attach(run, key, lambda: inputs.rows_table(function.columns, _rows(run, state, function, given)))
    return inputs.table_relation(name, function.columns, reference)


def _rows(run: QueryingStatement, state: StateReader, function: TableFunction, given: Arguments) -> list[Row]:
    """The rows about what the session's roles may know of. They are histories: no secret is in them."""
    found = rows_without_secrets(function.rows(run, state, given))
    if function.about is None or run.authority.sight is None:
        return found
    with run.state.read() as seen:
        names = {_name(row, function.about) for row in found}
        known = {name: item for name in names if (item := _seen(seen, name)) is not None}
    hidden = {
        name for name, item in known.items()
        if isinstance(item, CatalogObject) and not run.authority.looks_inside(Owned(item.id, item.owner))
    }  # fmt: skip
    nothing = dict.fromkeys(function.inner)
    shown = [(row, _name(row, function.about)) for row in found]
    return [{**row, **nothing} if name in hidden else row for row, name in shown if name in known]


def _name(row: Row, about: str) -> tuple[str, ...]:
    return str(row.get("DATABASE_NAME", "")), str(row.get("SCHEMA_NAME", "")), str(row[about])


def _seen(state: StateReader, name: tuple[str, ...]) -> CatalogObject | Warehouse | None:
    if not name[0]:
        return state.warehouses.get(name[-1])
    # Kinds in namespaces of their own are asked for one by one.
    described = [[kind.name] for kind in all_kinds().descriptions if kind.has_history]
    groups = (RELATIONS, *described)
    found = (state.catalog.find(ObjectName(*name), kinds) for kinds in groups)
    return next((item for item in found if item is not None), None)


def _result_scan(run: QueryingStatement, arguments: dict[str, exp.Expr]) -> Relation:
    """The result of an earlier statement of the same user, of any session, as long as it is kept."""
    if "0" not in arguments:
        raise errors.not_enough_arguments("RESULT_SCAN", 1, 0)
    if len(arguments) > 1:
        raise errors.too_many_arguments("RESULT_SCAN", 1, len(arguments))
    query_id = str(run.evaluate(arguments["0"]).value)
    found = run.account.results.get(query_id, run.session.user, run.authority.roles)
    if found is None:
        raise errors.statement_not_found(query_id)
    if found.spilled is not None:
        reference = spilling.attached(run, query_id, found)
        if reference is None:
            raise errors.statement_not_found(query_id)
    else:
        reference = inputs.attach(run, query_id, lambda: inputs.named_by_position(found.data))
    return inputs.table_relation("RESULT_SCAN", found.columns, reference)
