"""Definitions in Python: `@snowmelt.dynamic_table`, `scd_table` and `view` on a function that gives a query."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from snowmelt.core.names import literal, quote, split_name
from snowmelt.projects import errors as project_errors
from snowmelt.projects.frames import DataFrame, Tables
from snowmelt.sql import spark_frames
from snowmelt.sql.statements.spelling import spelled

Function = Callable[..., "str | DataFrame"]


@dataclass(frozen=True, slots=True)
class PythonDefinition:
    """A function that gives a query, and what is to become of it. Calling it calls the function."""

    kind: str
    """The words behind CREATE."""
    function: Function
    name: str
    """As SQL spells it."""
    options: tuple[str, ...]
    """The clauses between the name and the query."""
    modifier: str = ""
    spark: bool = False
    """Whether the function is called by the server, with Spark, and not here."""
    reads: tuple[str, ...] = ()

    def __call__(self, *arguments: Any, **named: Any) -> str | DataFrame:
        return self.function(*arguments, **named)

    @property
    def file(self) -> str:
        return inspect.getsourcefile(self.function) or ""

    @property
    def line(self) -> int:
        code = getattr(self.function, "__code__", None)
        return code.co_firstlineno if code is not None else 1

    def statement(self, tables: Tables) -> str:
        """The CREATE statement. Calls the function, unless the server is to do that."""
        if self.spark:
            return self._create(self._spark_query())
        wants_tables = bool(inspect.signature(self.function).parameters)
        given = self.function(tables) if wants_tables else self.function()
        if isinstance(given, DataFrame):
            query = given.sql()
        elif isinstance(given, str):
            query = given.strip().rstrip(";").rstrip()
        else:
            raise project_errors.project(
                f"{self.function.__name__} returned {type(given).__name__}; it must return SQL text or a DataFrame.",
                hint="A DataFrame comes from the function's argument: def name(tables): return tables.table('t').…",
            )
        return self._create(query)

    def _spark_query(self) -> str:
        """The module goes with the definition: it must not need its neighbours."""
        code = Path(self.file).read_text(encoding="utf-8")
        if "$$" in code:
            raise project_errors.project("A file with a function for Spark can't have $$ in it.")
        if not inspect.signature(self.function).parameters:
            raise project_errors.project(
                f"{self.function.__name__} must take an argument: the Spark session it works with."
            )
        reads = literal(", ".join(dict.fromkeys([*self.reads, *sorted(_asked(code, self.function.__name__))])))
        arguments = f"HANDLER => {literal(self.function.__name__)}, READS => {reads}, CODE => $$\n{code}$$"
        return f"SELECT * FROM TABLE({spark_frames.FUNCTION}({arguments}))"

    def _create(self, query: str) -> str:
        head = f"CREATE {self.modifier}{self.kind} {self.name}"
        body = ["FROM (", query, ")"] if self.kind.startswith("SCD") else ["AS", query]
        return "\n".join([head, *(f"  {option}" for option in self.options), *body])


def dynamic_table(
    *,
    target_lag: str,
    warehouse: str | None = None,
    refresh_mode: str | None = None,
    name: str | None = None,
    initialize: str | None = None,
    initialization_warehouse: str | None = None,
    cluster_by: Sequence[str] = (),
    data_retention_time_in_days: int | None = None,
    comment: str | None = None,
    transient: bool = False,
    spark: bool = False,
    reads: Sequence[str] = (),
) -> Callable[[Function], PythonDefinition]:
    """A dynamic table of the query that the function gives.

    The function takes nothing and returns SQL text, or takes what it reads tables from and returns a DataFrame:

        @snowmelt.dynamic_table(target_lag="5 minutes")
        def big_orders(tables):
            orders = tables.table("orders")
            return orders.where(orders.amount > 100)

    With `spark=True` it takes a Spark session and returns a Spark DataFrame; the server calls it at every refresh. It
    may ask for the tables that it names as constants, `spark.table("orders")`, and for those in `reads`.
    """
    options = _options(
        target_lag,
        WAREHOUSE=warehouse,
        REFRESH_MODE=refresh_mode,
        INITIALIZE=initialize,
        INITIALIZATION_WAREHOUSE=initialization_warehouse,
        DATA_RETENTION_TIME_IN_DAYS=_text(data_retention_time_in_days),
        COMMENT=literal(comment) if comment is not None else None,
    )
    if cluster_by:
        options.append(f"CLUSTER BY ({', '.join(cluster_by)})")

    def decorate(function: Function) -> PythonDefinition:
        called = _name(function, name)
        modifier = "TRANSIENT " if transient else ""
        return PythonDefinition("DYNAMIC TABLE", function, called, tuple(options), modifier, spark, tuple(reads))

    return decorate


def scd_table(
    *,
    key: Sequence[str],
    sequence_by: Sequence[str],
    type: Literal[1, 2, 3] = 2,
    delete_when: str | None = None,
    track: Sequence[str] = (),
    track_except: Sequence[str] = (),
    target_lag: str = "1 minute",
    warehouse: str | None = None,
    refresh_mode: str | None = None,
    name: str | None = None,
    initialize: str | None = None,
    comment: str | None = None,
    transient: bool = False,
) -> Callable[[Function], PythonDefinition]:
    """A slowly changing dimension of the events that the function's query gives.

        @snowmelt.scd_table(key=["id"], sequence_by=["changed_at"], delete_when="operation = 'DELETE'")
        def customers(tables):
            return tables.table("customer_events").drop("ingested_at")

    Names of columns and expressions are SQL.
    """
    clauses = [f"KEY ({', '.join(key)})", f"SEQUENCE BY {', '.join(sequence_by)}"]
    if delete_when is not None:
        clauses.append(f"DELETE WHEN ({delete_when})")
    if track:
        clauses.append(f"TRACK ({', '.join(track)})")
    if track_except:
        clauses.append(f"TRACK EXCEPT ({', '.join(track_except)})")
    clauses += _options(
        target_lag,
        WAREHOUSE=warehouse,
        REFRESH_MODE=refresh_mode,
        INITIALIZE=initialize,
        COMMENT=literal(comment) if comment is not None else None,
    )

    def decorate(function: Function) -> PythonDefinition:
        modifier = "TRANSIENT " if transient else ""
        return PythonDefinition(f"SCD TYPE {type} TABLE", function, _name(function, name), tuple(clauses), modifier)

    return decorate


def view(
    *, name: str | None = None, comment: str | None = None, secure: bool = False
) -> Callable[[Function], PythonDefinition]:
    """A view of the query that the function gives."""
    options = () if comment is None else (f"COMMENT = {literal(comment)}",)

    def decorate(function: Function) -> PythonDefinition:
        return PythonDefinition("VIEW", function, _name(function, name), options, "SECURE " if secure else "")

    return decorate


def _asked(code: str, function: str) -> Iterator[str]:
    """The names that the function gives to `table(…)` as constants."""
    for definition in ast.walk(ast.parse(code)):
        if isinstance(definition, ast.FunctionDef) and definition.name == function:
            for call in ast.walk(definition):
                match call:
                    case ast.Call(func=ast.Attribute(attr="table"), args=[ast.Constant(value=str(name))]):
                        yield name


def _options(target_lag: str, **others: str | None) -> list[str]:
    """`NAME = value` for those that are given."""
    lag = "DOWNSTREAM" if target_lag.strip().upper() == "DOWNSTREAM" else literal(target_lag)
    given = {"TARGET_LAG": lag, **others}
    return [f"{clause} = {text}" for clause, text in given.items() if text is not None]


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _name(function: Function, given: str | None) -> str:
    if given is None:
        return spelled(function.__name__.upper())
    parts = split_name(given)
    if parts is None or len(parts) > 3:
        raise project_errors.project(f"'{given}' is not the name of a table or view.")
    return ".".join(quote(part) if quote(part) != part else spelled(part) for part in parts)
