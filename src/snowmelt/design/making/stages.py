"""The stages: raw tables, typed and clean tables over them, and what the business asks. Each with its SQL in full."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal
from snowmelt.design.deciding import DesignDecisions
from snowmelt.design.making.clean_tables import (
    Clean,
    as_called,
    as_landed,
    changes_of_log,
    named,
    newest_of_records,
    of_log,
    of_records,
    versions_of_log,
    versions_of_readings,
    versions_of_records,
)
from snowmelt.design.making.previous_values import values_before, values_before_of_log, values_before_of_readings
from snowmelt.design.model import DesignStage, StageKind
from snowmelt.design.requirements.amounts import show_seconds
from snowmelt.design.requirements.model import (
    DescribedColumn,
    Load,
    Mode,
    Requirements,
    Source,
    SourceKind,
    Table,
    Transformation,
)
from snowmelt.design.rules.known import FILES, tables_of
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.reads import tables_in

DOWNSTREAM = "DOWNSTREAM"
WAREHOUSE = "COMPUTE_WH"
TENANT = "tenant"
_MINUTE = 60
_OTHER = re.compile(r"[^A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Landed:
    """A table of a source, and the names of what it becomes."""

    source: Source
    table: Table
    """With the names that the source has for its columns."""
    raw: str
    clean: str

    @property
    def here(self) -> Table:
        """With the names that they have in the clean table."""
        return as_called(self.table)


def landed(given: Requirements, verdict: DesignDecisions) -> list[Landed]:
    """Not of tables that are here already: a reverse flow reads a finished model, and adds no layer."""
    outside = [(source, table) for source, table in tables_of(given) if source.kind is not SourceKind.SNOWMELT]
    found: list[Landed] = []
    strategy = given.pii.strategy if given.pii is not None else None
    for (source, table), name in zip(outside, _names(outside), strict=True):
        raw = f"raw_{source.name.lower()}_changes" if captured_by_log(source, verdict) else f"raw_{name}"
        found.append(Landed(source, _of_tenants(as_landed(table, strategy)), raw, f"stg_{name}"))
    return found


def _of_tenants(table: Table) -> Table:
    """Schemas of many tenants are one table, in which the tenant is part of the key."""
    if not table.tenants:
        return table
    tenant = DescribedColumn(name=TENANT, nullable=False, description="whose row it is")
    columns = (tenant, *table.columns) if table.columns else ()
    return table.model_copy(update={"key": (TENANT, *table.key), "columns": columns})


def _names(items: Sequence[tuple[Source, Table]]) -> list[str]:
    """A word for each table: the last part of its name if no other table has it, else with its source, else in full."""
    longer = [
        [plain_name(table.name) for _, table in items],
        [f"{source.name.lower()}_{plain_name(table.name)}" for source, table in items],
        [f"{source.name.lower()}_{_OTHER.sub('_', table.name).strip('_').lower()}" for source, table in items],
    ]
    return [
        next((names[index] for names in longer if names.count(names[index]) == 1), longer[-1][index])
        for index in range(len(items))
    ]


def models(given: Requirements) -> list[DesignStage]:
    """Tables that are here already, which others make and keep fresh."""
    return [
        DesignStage(name=table.name, layer="gold", kind=StageKind.TABLE, sql="", load=Load.MERGE, key=table.key)
        for source, table in tables_of(given) if source.kind is SourceKind.SNOWMELT
    ]  # fmt: skip


def captured_by_log(source: Source, verdict: DesignDecisions) -> bool:
    return verdict.outcome("capture") == "log" and source.kind is SourceKind.POSTGRES


def read_as_whole(source: Source, verdict: DesignDecisions) -> bool:
    """Nothing tells what changed or went: all of it comes whenever anything in it is another."""
    if captured_by_log(source, verdict) or source.kind in (SourceKind.KAFKA, SourceKind.WEBHOOK, *FILES):
        return False
    if verdict.facts.value("idempotency_given") == "overwrite":
        return True
    return any(table.deletes or not table.change_column for table in source.tables)


def plain_name(name: str) -> str:
    """The last part of a name in the source, as a word that SQL takes: `public.Order Lines` is order_lines."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2].partition("*")[0] or name
    word = _OTHER.sub("_", last.removesuffix(".").rpartition(".")[2] if _is_dotted(last) else last.partition(".")[0])
    word = word.strip("_").lower() or "data"
    return word if not word[0].isdigit() else f"t_{word}"


def _is_dotted(name: str) -> bool:
    """`public.orders` rather than `orders.csv`."""
    return name.rpartition(".")[2].lower() not in ("csv", "json", "jsonl", "ndjson", "parquet", "avro", "gz", "")


def leaf_lag(latency: float) -> str:
    """The target lag of the last tables: the promise; below a minute half of it, as capture and load need the rest."""
    return show_seconds(latency if latency >= _MINUTE else max(1, int(latency // 2)))


def stages(given: Requirements, verdict: DesignDecisions) -> list[DesignStage]:
    """In the order in which they are made."""
    assert given.latency is not None, "without a promise there is no design"
    items = landed(given, verdict)
    lag = leaf_lag(given.latency)
    read = {name for item in given.transformations for name in tables_read(item.sql)}
    found = _raw_stages(items, verdict)
    slow = _slow_lag(given, verdict)
    for item in items:
        last = item.clean.upper() not in read
        wanted = _wanted(given, item, last=last)
        own = (slow if _waits(given, item.clean, last=last) else lag) if last else DOWNSTREAM
        found.append(_clean_stage(item, verdict, own, wanted, _asked_by(given, item.clean)))
    for transformation in in_order(given.transformations):
        last = transformation.name.upper() not in read
        own = (slow if _waits(given, transformation.name, last=last) else lag) if last else DOWNSTREAM
        found.append(_business_stage(transformation, own, _asked_by(given, transformation.name)))
    return found


def _asked_by(given: Requirements, table: str) -> tuple[str, ...]:
    """The columns by which readers ask for a table."""
    return next((item.columns for item in given.access if item.table.lower() == table.lower()), ())


BATCH_SECONDS = 3600.0
"""Between two passes of the batch path, where nobody said."""


def _slow_lag(given: Requirements, verdict: DesignDecisions) -> str:
    """The target lag of tables that only the batch path of a HYBRID design refreshes."""
    assert given.latency is not None
    if verdict.outcome("mode") != Mode.HYBRID:
        return leaf_lag(given.latency)
    return show_seconds(batch_seconds(given))


def batch_seconds(given: Requirements) -> float:
    return min((sink.every for sink in given.sinks if not sink.real_time and sink.every), default=BATCH_SECONDS)


def _waits(given: Requirements, table: str, *, last: bool) -> bool:
    """Whether all who read it may wait."""
    readers = [sink for sink in given.sinks if (table in sink.reads) or (last and not sink.reads)]
    return bool(readers) and not any(sink.real_time for sink in readers)


def in_order(given: Sequence[Transformation]) -> list[Transformation]:
    """Each behind those that it reads. Raises for those that read each other."""
    names = {item.name.upper(): item for item in given}
    graph = {name: [read for read in tables_read(item.sql) if read in names] for name, item in names.items()}
    try:
        return [names[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        circle = " reads ".join(names[name].name for name in reversed(error.args[1]))
        raise errors.configuration(f"Transformations read each other: {circle}.") from None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What those who read a clean table want of its past."""

    load: Load | None = None
    previous: tuple[str, ...] = ()


_PASTS = (Load.SCD_TYPE_2, Load.SCD_TYPE_3, Load.SCD_TYPE_1)


def _wanted(given: Requirements, item: Landed, *, last: bool) -> _Wanted:
    if given.shape == "vault" and item.table.key:
        return _Wanted(Load.SCD_TYPE_2)
    reading = [sink for sink in given.sinks if item.clean in sink.reads or (last and not sink.reads)]
    for load in _PASTS:
        wanting = [sink for sink in reading if sink.load is load]
        if wanting:
            return _Wanted(load, tuple(dict.fromkeys(name for sink in wanting for name in sink.previous)))
    return _Wanted()


def tables_read(sql: str) -> list[str]:
    """Names of tables that a query reads, folded; none for a text that is no query, about which lint says more."""
    try:
        return sorted(parts[-1] for parts in tables_in(parse_snowflake(sql)))
    except SnowmeltError:
        return []


# -- bronze -----------------------------------------------------------------------------------------------------------


def _raw_stages(items: Sequence[Landed], verdict: DesignDecisions) -> list[DesignStage]:
    found: dict[str, DesignStage] = {}
    for item in items:
        if item.raw in found:
            continue
        by_log = captured_by_log(item.source, verdict)
        what = f"change of {item.source.name}" if by_log else f"record of {item.table.name}"
        about = f"Every {what}, as it came and for good."
        columns = _CHANGE_COLUMNS if by_log else _record_columns(whole=read_as_whole(item.source, verdict))
        listed = ",\n".join(f"  {column}" for column in columns)
        clustering = "\nCLUSTER BY (TO_DATE(loaded_at))" if _by_day(verdict) and not by_log else ""
        sql = (
            f"CREATE TABLE {item.raw} (\n{listed}\n){clustering}\n"
            f"CHANGE_TRACKING = TRUE{_kept(verdict)}\nCOMMENT = {literal(about)}"
        )  # fmt: skip
        found[item.raw] = DesignStage(
            name=item.raw, layer="bronze", kind=StageKind.TABLE, sql=sql, load=Load.APPEND,
            reads=(f"{item.source.name}.{item.table.name}",), description=about,
        )  # fmt: skip
    return list(found.values())


_MOST_DAYS = 90


def _kept(verdict: DesignDecisions) -> str:
    """How far back the versions of a raw table reach, where it was said how far everything must be computable again."""
    window = verdict.facts.value("replay_seconds")
    if window is None:
        return ""
    return f"\nDATA_RETENTION_TIME_IN_DAYS = {max(1, min(_MOST_DAYS, round(window / 86_400)))}"


def _by_day(verdict: DesignDecisions) -> bool:
    return verdict.outcome("partitioning") == "by day and key"


def _record_columns(*, whole: bool) -> list[str]:
    complete = " COMMENT 'NULL in the row behind the last one of a reading, which is complete then'"
    columns = [
        f"record VARIANT{complete if whole else ' NOT NULL'}",
        "origin VARCHAR NOT NULL COMMENT 'the file, topic and offset, or table that it came from'",
        "run_id VARCHAR NOT NULL",
        "loaded_at TIMESTAMP_LTZ NOT NULL",
    ]
    return (
        [*columns, "reading NUMBER NOT NULL COMMENT '1, 2, 3, …: each is all that the source held'"]
        if whole
        else columns
    )


_CHANGE_COLUMNS = (
    "change_number NUMBER NOT NULL COMMENT 'the order in which changes happened'",
    "operation VARCHAR NOT NULL COMMENT 'INSERT, UPDATE, DELETE, TRUNCATE; READ for what a snapshot found'",
    "table_name VARCHAR NOT NULL",
    "before VARIANT",
    "after VARIANT",
    "ts_ms NUMBER COMMENT 'when the source committed it'",
    "ingested_at TIMESTAMP_LTZ",
)


# -- silver -----------------------------------------------------------------------------------------------------------


def _clean_stage(
    item: Landed, verdict: DesignDecisions, lag: str, wanted: _Wanted, asked_by: tuple[str, ...]
) -> DesignStage:
    clustered = verdict.outcome("partitioning") in ("by day and key", "by key") and bool(item.table.key)
    options = _options(lag, asked_by or (item.here.key if clustered else ()))
    clean = Clean(item.clean, item.raw, item.table, options)
    keyed = bool(item.table.key)
    versions = wanted.load is Load.SCD_TYPE_2 and keyed
    if captured_by_log(item.source, verdict):
        load = Load.SCD_TYPE_2 if versions else Load.MERGE if item.table.key else Load.APPEND
        sql = (versions_of_log if versions else of_log if item.table.key else changes_of_log)(clean)
        if keyed and wanted.load is Load.SCD_TYPE_3:
            load, sql = Load.SCD_TYPE_3, values_before_of_log(clean, wanted.previous)
    else:
        whole = read_as_whole(item.source, verdict)
        load = Load.SCD_TYPE_2 if versions else _LOADS[bool(item.table.key), whole]
        sql = of_records(clean, whole=whole)
        if versions:
            sql = versions_of_readings(clean) if whole else versions_of_records(clean)
        elif keyed and not whole and wanted.load is Load.SCD_TYPE_1:
            load, sql = Load.SCD_TYPE_1, newest_of_records(clean)
        elif keyed and wanted.load is Load.SCD_TYPE_3:
            made = values_before_of_readings if whole else values_before
            load, sql = Load.SCD_TYPE_3, made(clean, wanted.previous)
    kind = StageKind.SCD_TABLE if sql.startswith("CREATE SCD ") else StageKind.DYNAMIC_TABLE
    about = f"{item.table.name}, typed and clean" + (", every version" if load is Load.SCD_TYPE_2 else "") + "."
    return DesignStage(
        name=item.clean, layer="silver", kind=kind, sql=sql, reads=(item.raw,), load=load, key=item.here.key,
        target_lag=lag, description=about,
    )  # fmt: skip


_LOADS = {
    (True, True): Load.MERGE, (True, False): Load.UPSERT, (False, True): Load.OVERWRITE, (False, False): Load.APPEND,
}  # fmt: skip
"""The load strategy of a clean table: it depends on its key, and on whether the source is read as a whole."""


def _options(lag: str, clustering: Sequence[str] = ()) -> str:
    written = lag if lag == DOWNSTREAM else literal(lag)
    keys = f"\n  CLUSTER BY ({', '.join(map(named, clustering))})" if clustering else ""
    return f"{keys}\n  TARGET_LAG = {written}\n  WAREHOUSE = {WAREHOUSE}\n  REFRESH_MODE = INCREMENTAL"


# -- gold -------------------------------------------------------------------------------------------------------------


def _business_stage(item: Transformation, lag: str, asked_by: tuple[str, ...]) -> DesignStage:
    sql = f"CREATE DYNAMIC TABLE {item.name}{_options(lag, asked_by)}\nAS\n{item.sql.strip().rstrip(';')}"
    reads = tuple(name.lower() for name in tables_read(item.sql))
    return DesignStage(
        name=item.name, layer=item.layer, kind=StageKind.DYNAMIC_TABLE, sql=sql, reads=reads, load=Load.MERGE,
        key=item.key, target_lag=lag, description=item.description or "", examples=item.examples,
    )  # fmt: skip
