"""What a project is made of, from a design: connections, flows, captures, sinks. Refuses what can't be built."""

from __future__ import annotations

import keyword
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.design.building.statements import quarantining
from snowmelt.design.making.clean_tables import as_landed, name_in_log, unreadable
from snowmelt.design.model import Design, DesignSink, DesignSource, DesignStage, SourceTable, StageKind
from snowmelt.design.requirements.amounts import seconds_of
from snowmelt.design.requirements.model import DescribedColumn, Load, Options, PiiStrategy, SinkKind, SourceKind, Table
from snowmelt.extract_load import endpoint_of

_VARIABLE = re.compile(r"\$\{(\w+)\}")
SOURCES = tuple(SourceKind)
LOADS: dict[SinkKind, tuple[Load, ...]] = {
    SinkKind.SNOWMELT: tuple(Load),
    SinkKind.POSTGRES: (Load.UPSERT, Load.APPEND, Load.OVERWRITE, Load.MERGE),
    SinkKind.DELTA: (Load.APPEND, Load.OVERWRITE, Load.UPSERT),
    SinkKind.PARQUET: (Load.APPEND, Load.OVERWRITE),
    SinkKind.CSV: (Load.APPEND, Load.OVERWRITE),
    SinkKind.API: (Load.UPSERT,),
}
_TAKEN = (
    "airflow", "apprise", "dagster", "httpx", "pendulum", "prefect", "prometheus_client", "pytest", "snowmelt",
    "structlog", "tests", "yaml",
)  # fmt: skip
_LONGEST = 40
OVERLAP_SECONDS = 600
"""How much later than its change column says a row may be committed, and is still seen by the next run."""
RECONCILE_SECONDS = {1: 3600, 2: 21_600, 3: 86_400}
"""How often rows are held against their sources, by the tier."""
KEYED = (PiiStrategy.HASH, PiiStrategy.TOKENISE)
"""What hides values by a key, and keeps equal ones equal."""
_DATABASES = (SourceKind.POSTGRES, SourceKind.MYSQL)
_NUMBERS = ("NUMBER", "INT", "INTEGER", "BIGINT", "SMALLINT", "DECIMAL", "NUMERIC")
_TIMES = ("TIMESTAMP", "DATE")
_ZONED = ("TIMESTAMP_TZ", "TIMESTAMP_LTZ")
_KEYED = (Load.UPSERT, Load.MERGE, Load.SCD_TYPE_2)


@dataclass(slots=True)
class Parts:
    """Each as the configuration has it."""

    connections: dict[str, dict[str, Any]] = field(default_factory=dict)
    flows: list[dict[str, Any]] = field(default_factory=list)
    captures: list[dict[str, Any]] = field(default_factory=list)
    sinks: list[dict[str, Any]] = field(default_factory=list)
    histories: list[dict[str, Any]] = field(default_factory=list)
    models: list[dict[str, Any]] = field(default_factory=list)
    """Tables that are there already, which others make."""

    @property
    def variables(self) -> dict[str, str]:
        """Names in the environment that connections need, each with the connection's name."""
        return {
            variable: name
            for name, entry in self.connections.items()
            for value in entry.values()
            for variable in _VARIABLE.findall(str(value))
        }

    @property
    def kinds(self) -> set[str]:
        return {str(entry["kind"]) for entry in self.connections.values()}


def parts_of(design: Design) -> Parts:
    """Raises with everything that can't be built, and what can."""
    problems = [
        *_name_problems(design.name.lower()),
        *_source_problems(design),
        *(problem for sink in design.sinks for problem in _sink_problems(design, sink)),
    ]
    if problems:
        raise errors.configuration(f"Can't be built: {'; '.join(problems)}.", hint=_can_be_built())
    made = Parts()
    for source in design.sources:
        if source.kind is SourceKind.SNOWMELT:
            made.models += [_model(design, table) for table in source.tables]
            continue
        made.connections[source.name] = _connection(str(source.kind), source.connection, _options(source))
        if source.capture.way == "log":
            made.captures.append(_capture(design, source))
        else:
            made.flows += [flow for table in source.tables for flow in _flows(design, source, table)]
    for sink in design.sinks:
        if sink.kind is SinkKind.SNOWMELT:
            made.histories += _histories(design, sink)
        else:
            rate = {"requests_per_second": sink.requests_per_second} if sink.requests_per_second is not None else {}
            options = {**sink.options, **rate} if sink.kind is SinkKind.API else sink.options
            made.connections[sink.name] = _connection(str(sink.kind), sink.connection or "", options)
            made.sinks.append(_sink(design, sink))
    _check_connections(made)
    if not (made.flows or made.captures or made.sinks or made.histories or design.stages):
        raise errors.configuration(
            "Nothing to build: all sources and sinks are tables of this account, and there is no transformation.",
            hint="Describe a transformation of these tables, or a sink outside of the account.",
        )
    return made


def _can_be_built() -> str:
    sinks = "; ".join(f"{kind} ({', '.join(loads)})" for kind, loads in LOADS.items())
    return f"Sources: {', '.join(SOURCES)} (postgres also by its log). Sinks: {sinks}."


# -- what can't be built ----------------------------------------------------------------------------------------------


def _name_problems(package: str) -> Iterator[str]:
    """The design's name becomes that of a Python package."""
    if package in sys.stdlib_module_names or package in _TAKEN or keyword.iskeyword(package):
        yield f"a project named {package}, which is a module that it needs (give the design another name)"
    if len(package) > _LONGEST or not package.strip("_"):
        yield f"a project named {package} (take a name of at most {_LONGEST} characters)"


def _source_problems(design: Design) -> Iterator[str]:
    names = [source.name.lower() for source in design.sources]
    names += [sink.name.lower() for sink in design.sinks if sink.kind is not SinkKind.SNOWMELT]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"a source and a sink are both named {name}"
    for source in design.sources:
        yield from _hidden_keys(design, source)
        if source.capture.way == "log" and design.pii is not None and design.pii.strategy is PiiStrategy.DROP:
            yield f"source {source.name} by its log with personal data that must not be landed: a log lands everything"


def _hidden_keys(design: Design, source: DesignSource) -> Iterator[str]:
    strategy = design.pii.strategy if design.pii is not None else None
    for table in source.tables:
        hidden = [column.name for column in table.columns if column.pii and column.name in table.key]
        if hidden and strategy not in (None, *KEYED):
            yield (
                f"{table.name} of {source.name} with its key {', '.join(hidden)} by {strategy}: rows could not be told "
                "apart (take hash or tokenise)"
            )


def _sink_problems(design: Design, sink: DesignSink) -> Iterator[str]:
    loads = LOADS.get(sink.kind)
    if loads is None:
        yield f"sink {sink.name} of kind {sink.kind}"
        return
    if sink.load not in loads:
        yield f"sink {sink.name} of kind {sink.kind} by {sink.load}"
        return
    if not sink.reads:
        yield f"sink {sink.name}, which reads no table"
    for name in sink.reads:
        stage = _readable(design, name)
        if stage is None:
            yield f"sink {sink.name} from {name}, which is not a table of the design"
            continue
        yield from _load_problems(sink, stage)


def _load_problems(sink: DesignSink, stage: DesignStage) -> Iterator[str]:
    if sink.load is Load.APPEND and stage.load is not Load.APPEND:
        yield (
            f"sink {sink.name} by append from {stage.name}, whose rows change: each change would count once more "
            "(take upsert, merge or overwrite)"
        )
    outside = sink.kind is not SinkKind.SNOWMELT
    if sink.load in _KEYED and outside and not _key(sink, stage):
        yield f"sink {sink.name} by {sink.load} from {stage.name}, which has no key"
    if sink.load is Load.SCD_TYPE_3 and stage.load is not Load.SCD_TYPE_3:
        yield f"sink {sink.name} by {sink.load} from {stage.name}, which does not keep the values before"
    if sink.load in (Load.SCD_TYPE_1, Load.SCD_TYPE_2) and stage.load is not Load.SCD_TYPE_2 and not stage.key:
        yield f"sink {sink.name} by {sink.load} from {stage.name}, which has no key"
    sent = {item.source.lower() for item in sink.fields}
    unsent = [name for name in _key(sink, stage) if sent and name.lower() not in sent]
    if sink.load in _KEYED and outside and unsent:
        yield f"sink {sink.name} by {sink.load}, whose fields leave out its key {', '.join(unsent)}"


def _readable(design: Design, name: str) -> DesignStage | None:
    """A table that the design makes, or one that is there already."""
    model = design.models.get(name.lower())
    if model is None:
        return design.stage(name)
    return DesignStage(
        name=model.name, layer="gold", kind=StageKind.DYNAMIC_TABLE, sql="", load=Load.MERGE, key=model.key
    )


def _check_connections(made: Parts) -> None:
    """A secret that stands in the design would end in a file: refused where it is made."""
    anything: defaultdict[str, str] = defaultdict(lambda: "x", dict.fromkeys(made.variables, "x"))
    for name, entry in made.connections.items():
        try:
            endpoint_of(name, entry, anything)
        except SnowmeltError as error:
            raise errors.configuration(f"Can't be built: {error.message}", hint=error.hint) from None


# -- the parts --------------------------------------------------------------------------------------------------------


def _connection(kind: str, address: str, options: Options) -> dict[str, Any]:
    """An address in capitals is the name of a variable."""
    return {"kind": kind, "address": f"${{{address}}}" if address.isupper() else address, **options}


def _options(source: DesignSource) -> Options:
    """What senders of webhooks prove themselves with is a variable, whether somebody thought of it or not."""
    if source.kind is SourceKind.WEBHOOK:
        return {"secret": f"${{{source.name.upper()}_SECRET}}", **source.options}
    return source.options


def _flows(design: Design, source: DesignSource, table: SourceTable) -> Iterator[dict[str, Any]]:
    """One, or one for each tenant, which all fill the same raw table."""
    flow = _flow(design, source, table)
    if not table.tenants:
        yield flow
    for tenant in table.tenants:
        named = table.name.replace("{tenant}", tenant)
        yield {**flow, "name": f"{flow['name']}_{tenant.lower()}", "table": named, "tenant": tenant}


def _flow(design: Design, source: DesignSource, table: SourceTable) -> dict[str, Any]:
    strategy = design.pii.strategy if design.pii is not None else None
    protected = [column.name for column in table.columns if column.pii] if strategy else []
    columns = [_described(column) for column in table.columns]
    flow: dict[str, Any] = {
        "name": table.stage.removeprefix("raw_"), "source": source.name, "table": table.name, "raw": table.stage,
        "clean": _clean_tables(design, table.stage)[0], "key": list(table.key),
        "change_column": table.change_column if source.capture.way == "watermark" else None,
        "whole": source.capture.way == "snapshot" or None, "received": source.capture.way == "events" or None,
        "columns": columns,
        "shape": (design.decision("transform").outcome == "ETL" and bool(columns)) or None,
        "protect": protected, "strategy": str(strategy) if protected else None, "options": _reading(source, table),
        "compared": _compared(design, source, table) or None,
    }  # fmt: skip
    return {key: value for key, value in flow.items() if value not in (None, [], {})}


def _reading(source: DesignSource, table: SourceTable) -> dict[str, Any]:
    """For a database that is read by a change column also the overlap: how far back late commits are looked for."""
    late = source.kind in _DATABASES and source.capture.way == "watermark" and bool(table.key)
    return {**({"overlap": OVERLAP_SECONDS} if late else {}), **table.options}


def _compared(design: Design, source: DesignSource, table: SourceTable) -> dict[str, Any]:
    """The column and the sums by which its rows are compared with the source; nothing if rows have no key."""
    clean = _clean_stage(design, table)
    hidden = [column.name for column in table.columns if column.pii]
    strategy = design.pii.strategy if design.pii is not None else None
    keys_hidden = [name for name in table.key if name in hidden]
    if (
        source.kind is SourceKind.WEBHOOK
        or clean is None
        or table.tenants
        or not table.key
        or (keys_hidden and strategy not in KEYED)
    ):
        return {}
    types = {column.name: column.type.upper().partition("(")[0] for column in table.columns}
    times = [name for name, kind in types.items() if kind.startswith(_TIMES) and name not in hidden]
    day = table.change_column if table.change_column in times else next(iter(times), None)
    made: dict[str, Any] = {
        "table": clean.name, "key": list(table.key), "day": day,
        "called": {column.name: column.here for column in table.columns if column.called},
        "zoned": (day is not None and types[day] in _ZONED) or None,
        "sums": [name for name, kind in types.items() if kind in _NUMBERS and name not in hidden],
        "hashed": keys_hidden, "hidden_as": str(strategy) if keys_hidden else None,
        "complete": source.capture.way in ("log", "snapshot"),
        "quarantine": f"{clean.name}_quarantine" if clean.name in quarantining(design) else None,
        "condition": "is_current" if clean.load is Load.SCD_TYPE_2 else None,
    }  # fmt: skip
    return {key: value for key, value in made.items() if value not in (None, [], {})}


def _clean_stage(design: Design, table: SourceTable) -> DesignStage | None:
    """The clean table of one table, which several of a log share their raw table with."""
    name = clean_name(table)
    return next((stage for stage in design.stages if stage.name == name), None)


def clean_name(table: SourceTable) -> str:
    return table.clean or table.stage.replace("raw_", "stg_", 1)


def _described(column: DescribedColumn) -> dict[str, Any]:
    return {**_column(column.name, column.type), **({} if column.nullable else {"nullable": False})}


def _column(name: str, kind: str) -> dict[str, str]:
    return {"name": name} if kind == "VARCHAR" else {"name": name, "type": kind}


def _clean_tables(design: Design, raw: str) -> list[str]:
    return [stage.name for stage in design.stages if stage.layer == "silver" and raw in stage.reads]


def _capture(design: Design, source: DesignSource) -> dict[str, Any]:
    raw = source.tables[0].stage
    return {
        "name": source.name, "slot": source.capture.slot, "raw": raw,
        "tables": [table.name for table in source.tables], "clean": _clean_tables(design, raw),
        "mirrors": [_mirror(design, source, table) for table in source.tables],
    }  # fmt: skip


def _mirror(design: Design, source: DesignSource, table: SourceTable) -> dict[str, Any]:
    """A table whose changes come by the log, with what is known of it."""
    strategy = design.pii.strategy if design.pii is not None else None
    made = {
        "name": clean_name(table).removeprefix("stg_"), "table": table.name, "key": list(table.key),
        "columns": [_described(column) for column in table.columns],
        "compared": _compared(design, source, table), "in_log": name_in_log(table.name),
        "bad": unreadable(as_landed(Table(name=table.name, columns=table.columns, key=table.key), strategy)),
    }  # fmt: skip
    return {key: value for key, value in made.items() if value not in (None, [], {})}


def _histories(design: Design, sink: DesignSink) -> list[dict[str, Any]]:
    """Tables that don't keep their versions themselves."""
    if sink.load is not Load.SCD_TYPE_2:
        return []
    stages = [stage for name in sink.reads if (stage := _readable(design, name)) is not None]
    return [
        {"table": stage.name, "key": list(stage.key)} for stage in stages
        if stage.load is not Load.SCD_TYPE_2 and stage.kind is not StageKind.TABLE
    ]  # fmt: skip


def _key(sink: DesignSink, stage: DesignStage) -> tuple[str, ...]:
    if stage.load is Load.SCD_TYPE_2:
        return sink.key or ("surrogate_key",)
    return sink.key or stage.key


def _sink(design: Design, sink: DesignSink) -> dict[str, Any]:
    tables = []
    for name in sink.reads:
        stage = _readable(design, name)
        assert stage is not None, "checked before"
        table: dict[str, Any] = {
            "name": stage.name, "target": stage.name, "key": list(_key(sink, stage)),
            "change_column": _change_column(design, sink, stage),
            "fields": {item.source.lower(): item.target for item in sink.fields},
            "values": {
                item.source.lower(): {value.source: value.target for value in item.values}
                for item in sink.fields if item.values
            },
        }  # fmt: skip
        tables.append({key: value for key, value in table.items() if value not in (None, [], {})})
    return {"name": sink.name, "load": str(sink.load), "on_reject": sink.on_reject, "tables": tables}


def _change_column(design: Design, sink: DesignSink, stage: DesignStage) -> str | None:
    """The column that tells new rows; without one the whole table is compared."""
    model = design.models.get(stage.name.lower())
    if sink.load is Load.UPSERT and model is not None:
        return model.change_column
    return "loaded_at" if sink.load is Load.APPEND else None


def _model(design: Design, table: SourceTable) -> dict[str, Any]:
    """With the columns that are known: those that were described, or that something reads."""
    known = {column.name.lower(): _column(column.name, column.type) for column in table.columns}
    fields = [item.source for sink in design.sinks if table.name in sink.reads for item in sink.fields]
    for name in (*table.key, *([table.change_column] if table.change_column else []), *fields):
        known.setdefault(name.lower(), {"name": name})
    return {"name": table.name, "key": list(table.key), "columns": list(known.values())}


def poll_seconds(design: Design) -> float:
    """Between two passes: a quarter of the promise leaves room for extraction, refresh and sinks."""
    return min(60.0, max(0.5, seconds_of(design.service_level.freshness) / 4))
