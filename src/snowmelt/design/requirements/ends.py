"""Sources and sinks of the requirements file: tables, columns, keys, and what each kind takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field, model_validator

from snowmelt.design.requirements.amounts import Bytes, Seconds
from snowmelt.design.requirements.kinds import Load, Name, Options, Part, SinkKind, SourceKind
from snowmelt.extract_load.endpoints import is_secret
from snowmelt.extract_load.options import SINK_OPTIONS, Known, option_problems
from snowmelt.extract_load.sources.registry import SOURCES


def check_source_options(kind: str, options: Options, tables: Iterable[tuple[str, Options]]) -> None:
    """Raises for what a source of that kind does not take."""
    problems = list(_problems(options, SOURCES[kind].connection_options))
    for name, own in tables:
        problems += [f"options of {name}: {problem}" for problem in option_problems(own, SOURCES[kind].table_options)]
    if problems:
        raise ValueError("; ".join(problems))


def check_sink_options(kind: str, options: Options) -> None:
    problems = list(_problems(options, SINK_OPTIONS[kind]))
    if problems:
        raise ValueError("; ".join(problems))


def _problems(options: Options, known: Known | None) -> Iterator[str]:
    """Of a connection, whose secrets must not stand in a file that many read."""
    yield from (f"options: {problem}" for problem in option_problems(options, known))
    for name, value in options.items():
        if is_secret(name, value):
            yield f"options: {name} is a secret; write the name of a variable, {name}: ${{NAME}}, and set that"


class DescribedColumn(Part):
    name: str
    """As the source calls it."""
    type: str = "VARCHAR"
    """As SQL writes it here, whatever the source calls it."""
    nullable: bool = True
    """Whether a row may come without it."""
    pii: bool = False
    """It holds personal data: the strategy of `pii` is applied to it."""
    description: str | None = None
    """What it means, for contracts and documents."""
    called: str | None = Field(default=None, min_length=1)
    """What it is called here, if not as the source calls it."""

    @property
    def here(self) -> str:
        """The name of the column in the clean table."""
        return self.called or self.name


class Table(Part):
    name: str
    """In the source: `public.orders`, a topic, a file pattern, an endpoint."""
    columns: tuple[DescribedColumn, ...] = ()
    """What is read of it; `--look` finds them."""
    key: tuple[str, ...] = ()
    """Columns by which a row is known."""
    change_column: str | None = None
    """Grows whenever a row changes: what an incremental extract asks for."""
    rows: int | None = Field(default=None, ge=0)
    """How many there are now."""
    size: Bytes | None = None
    """How large it is now: `20 GB`."""
    changes_per_second: float | None = Field(default=None, ge=0)
    """Rows that come or change in a second."""
    deletes: bool | None = None
    """Whether rows go; a change column does not tell."""
    replica_identity: Literal["default", "full", "index", "nothing"] | None = None
    """Of a PostgreSQL table: what its log says of a row that is changed or deleted."""
    references: dict[str, str] = Field(default_factory=dict)
    """Columns that hold the key of another table, with its name: `customer_id: public.customers`."""
    tenants: tuple[str, ...] = ()
    """Schemas that each hold this table, `{tenant}` in its name: they become one table with a column `tenant`."""
    options: Options = Field(default_factory=dict)
    """How it is read: `paging` of an API, `delimiter` of files, `parallel` of a database."""

    @model_validator(mode="after")
    def _has_what_it_names(self) -> Table:
        if bool(self.tenants) != ("{tenant}" in self.name):
            raise ValueError("`tenants` and {tenant} in the table's name go together: name: '{tenant}.orders'")
        known = [column.name for column in self.columns]
        check_once("column", known)
        check_once("column called", [column.here.lower() for column in self.columns])
        for name in (*self.key, self.change_column):
            if known and name is not None and name not in known:
                raise ValueError(f"{name} is not one of its columns: {', '.join(known)}")
        return self


class Source(Part):
    name: Name
    """A name for it; becomes part of table names and of environment variables."""
    kind: SourceKind
    """What it is."""
    connection: str | None = None
    """The environment variable with the address, or the path of files. Never a password."""
    region: str | None = None
    """Where it is: `eu-central-1`, `EU`."""
    constrained: bool = False
    """It must not be burdened, or gives only part of what it has: transform on the way."""
    arrives: Seconds | None = None
    """How often new data comes: the time between two files, say."""
    options: Options = Field(default_factory=dict)
    """Of the connection: `auth` and `token` of an API, properties of Kafka's client."""
    tables: tuple[Table, ...] = ()
    """Tables, topics, endpoints or files that are read."""

    @model_validator(mode="after")
    def _in_order(self) -> Source:
        _without_password(self.name, self.connection)
        check_once("table", [table.name for table in self.tables])
        columns = [column for table in self.tables for column in table.columns]
        if self.kind is SourceKind.SNOWMELT and any(column.called for column in columns):
            raise ValueError("`called` is for columns from outside; columns of a table here are named in SQL: a AS b")
        check_source_options(self.kind, self.options, ((table.name, table.options) for table in self.tables))
        return self


class EnumValue(Part):
    """One value, and what the application calls it."""

    source: str
    """The value here."""
    target: str
    """The value there."""


class FieldMapping(Part):
    """One field of a reverse flow."""

    source: str
    """The column here."""
    target: str
    """The field there."""
    values: tuple[EnumValue, ...] = ()
    """Where values have other names there. One that is not listed is rejected."""


class Sink(Part):
    name: Name
    """A name for it; becomes part of environment variables."""
    kind: SinkKind
    """What it is."""
    region: str | None = None
    """Where it is."""
    real_time: bool = False
    """Somebody or something reacts to it at once."""
    every: Seconds | None = None
    """How often the batch path of a HYBRID design brings it up to date. An hour when nothing is said."""
    load: Load | None = None
    """How rows are written."""
    previous: tuple[str, ...] = ()
    """Of `scd_type_3`: columns whose value before the present one is kept, as `previous_<column>`."""
    key: tuple[str, ...] = ()
    """Columns by which the sink knows a row; that of the table when nothing is said."""
    connection: str | None = None
    """The environment variable with the address. Never a password."""
    fields: tuple[FieldMapping, ...] = ()
    """Columns that go out, with the names that the sink has for them. All, under their own names, when empty."""
    on_reject: Literal["reject_row", "halt"] | None = None
    """What happens when the sink refuses a row: a dead letter, or the end of the run."""
    requests_per_second: float | None = Field(default=None, gt=0)
    """The rate limit of an API."""
    reads: tuple[Name, ...] = ()
    """Stages; the last ones when nothing is said."""
    options: Options = Field(default_factory=dict)
    """Of the connection."""

    @model_validator(mode="after")
    def _in_order(self) -> Sink:
        _without_password(self.name, self.connection)
        check_sink_options(self.kind, self.options)
        if (self.load is Load.SCD_TYPE_3) != bool(self.previous):
            raise ValueError("scd_type_3 and `previous`, the columns whose value before is kept, go together")
        return self


def check_once(what: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"there are two {what}s named {', '.join(twice)}")


def _without_password(name: str, connection: str | None) -> None:
    if is_secret("address", connection):
        raise ValueError(f"connection of {name} is a secret: give the name of an environment variable that holds it")
