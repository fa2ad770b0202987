"""The whole design from requirements that leave nothing open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snowmelt.core import errors
from snowmelt.design.antipatterns.library import Library, LintedStatement, library
from snowmelt.design.deciding import Decision, DesignDecisions
from snowmelt.design.making.capturing import address_variable, sources
from snowmelt.design.making.clean_tables import named
from snowmelt.design.making.estimating import estimates
from snowmelt.design.making.gate_queries import Came
from snowmelt.design.making.gates import gates
from snowmelt.design.making.operating import alerts, backfill, packets, replay, rollback, service_level
from snowmelt.design.making.paths import batch_path, engine_settings, final_views, tasks
from snowmelt.design.making.shapes import with_shape
from snowmelt.design.making.stages import Landed, captured_by_log, landed, leaf_lag, models, stages
from snowmelt.design.model import (
    Answer,
    CitedFact,
    Design,
    DesignContract,
    DesignPii,
    DesignSink,
    DesignStage,
    MadeDecision,
    Schedule,
)
from snowmelt.design.requirements.amounts import show_seconds
from snowmelt.design.requirements.missing import questions
from snowmelt.design.requirements.model import (
    DescribedColumn,
    Evolution,
    Load,
    Recipe,
    Requirements,
    Sink,
    SinkKind,
    SourceKind,
)
from snowmelt.design.rules.known import shown_value


def design(given: Requirements, verdict: DesignDecisions) -> Design:
    """Raises when something is open or refused: whoever calls has asked and told before."""
    missing = [item.field for item in questions(given) if item.essential]
    if missing or not verdict.final or given.name is None or given.latency is None:
        open_ = ", ".join(missing) or "what the rules ask or refuse"
        raise errors.configuration(f"The design can't be made while questions are open: {open_}.")
    given = with_shape(given, verdict)
    assert given.name is not None, "checked before"
    made = stages(given, verdict)
    origins = sources(given, verdict)
    ends = [_sink(sink, [*models(given), *made], verdict) for sink in given.sinks]
    columns = {item.clean: item.here.columns for item in landed(given, verdict)}
    came = {item.clean: _came(item, verdict) for item in landed(given, verdict)}
    level = service_level(given, verdict)
    checked = gates(given, [*models(given), *made], came, level.tier)
    contracts = _contracts(given, made, ends, columns)
    held = {item.stage: item.name for item in contracts}
    made = [stage.model_copy(update={"contract": held.get(stage.name)}) for stage in made]
    return Design(
        name=given.name, description=given.description or "", owner=given.owner or "nobody yet",
        recipe=given.recipe or Recipe.ETL, mode=verdict.outcome("mode") or "", pattern=verdict.outcome("pattern") or "",
        decisions=tuple(_made(item) for item in verdict.decisions),
        answers=tuple(
            Answer(rule=item.rule.id, question=item.outcome, answer=text) for item, text in verdict.answered
        ),
        assumptions=tuple(f"{item.text}: {item.default}" for item in questions(given)),
        views=tuple(final_views(given)), tasks=tuple(tasks(given, verdict, made)),
        batch=batch_path(given, verdict, made, ends), engine_settings=engine_settings(verdict),
        compliance=given.compliance, retention=show_seconds(given.retention) if given.retention is not None else None,
        sources=tuple(origins), stages=tuple(made), sinks=tuple(ends), contracts=tuple(contracts),
        quality=tuple(checked), schema_evolution=Evolution(verdict.outcome("schema evolution") or "evolve"),
        pii=_pii(given), schedule=_schedule(given, verdict), service_level=level,
        alerts=tuple(alerts(given, verdict, made, origins, checked)), lineage_namespace=given.name.lower(),
        idempotency=verdict.outcome("idempotency") or "", estimates=tuple(estimates(given, verdict, made)),
        backfill=tuple(backfill(made)), replay=tuple(replay(origins)), rollback=tuple(rollback(made, ends)),
        packets=tuple(packets(verdict, origins, ends)),
    )  # fmt: skip


def _came(item: Landed, verdict: DesignDecisions) -> Came:
    flow = item.clean.removeprefix("stg_")
    by_log = captured_by_log(item.source, verdict)
    compared = item.source.kind is not SourceKind.WEBHOOK
    return Came(item.source.name if by_log else flow, flow, item.here.columns, compared)


def _made(item: Decision) -> MadeDecision:
    return MadeDecision(
        phase=item.rule.phase, topic=item.rule.topic, outcome=item.outcome, rule=item.rule.id, reason=item.rule.reason,
        facts=tuple(
            CitedFact(name=fact.name, value=shown_value(fact.name, fact.value), origin=fact.origin)
            for fact in item.facts
        ),
    )  # fmt: skip


def _sink(sink: Sink, made: Sequence[DesignStage], verdict: DesignDecisions) -> DesignSink:
    read = {name.lower() for stage in made for name in stage.reads}
    ends = tuple(stage.name for stage in made if stage.name.lower() not in read and stage.layer != "bronze")
    keyed = bool(sink.key)
    load = sink.load or (Load.UPSERT if keyed else Load.MERGE if sink.kind is SinkKind.SNOWMELT else Load.OVERWRITE)
    inside = sink.kind is SinkKind.SNOWMELT
    return DesignSink(
        name=sink.name, kind=sink.kind, reads=sink.reads or ends, load=load, key=sink.key, fields=sink.fields,
        connection=None if inside else sink.connection or address_variable(sink.name),
        delivery="exactly once" if inside else verdict.outcome("delivery") or "",
        on_reject=sink.on_reject or "reject_row", requests_per_second=sink.requests_per_second,
        options=sink.options,
    )  # fmt: skip


def _contracts(
    given: Requirements, made: Sequence[DesignStage], ends: Sequence[DesignSink],
    columns: dict[str, tuple[DescribedColumn, ...]],
) -> list[DesignContract]:  # fmt: skip
    assert given.latency is not None
    catalog = library((stage.name, stage.sql) for stage in made)
    read = dict.fromkeys(name for end in ends for name in end.reads)
    versions = _check_versions(given, made, read)
    return [
        DesignContract(
            name=f"{stage.name}_contract", stage=stage.name, freshness=leaf_lag(given.latency),
            version=versions.get(stage.name.lower(), "1.0.0"),
            columns=_published(catalog, item, columns.get(stage.name, ())),
        )
        for item, stage in zip(catalog.items, made, strict=True)
        if stage.name in read
    ]  # fmt: skip


def _published(
    catalog: Library, item: LintedStatement, described: tuple[DescribedColumn, ...]
) -> tuple[DescribedColumn, ...]:
    """The columns as the table has them, with what was said of them; none where they can't be told."""
    known = {named(column.name): column for column in described}
    return tuple(
        known.get(named(column.name), DescribedColumn(name=column.name)).model_copy(
            update={"name": column.name, "type": str(column.type), "nullable": True}
        )
        for column in catalog.columns_of(item) or ()
    )


def _check_versions(given: Requirements, made: Sequence[DesignStage], read: Iterable[str]) -> dict[str, str]:
    versions = {name.lower(): version for name, version in given.contracts.items()}
    known = {name.lower() for name in read} & {stage.name.lower() for stage in made}
    for name in versions.keys() - known:
        raise errors.configuration(
            f"contracts.{name}: no table {name} is published. There are {', '.join(sorted(known)) or 'none'}."
        )
    return versions


def _pii(given: Requirements) -> DesignPii | None:
    if given.pii is None or not given.personal or given.pii.strategy is None:
        return None
    columns = [
        f"{table.name}.{column.name}"
        for source in given.sources
        for table in source.tables
        for column in table.columns
        if column.pii
    ]
    return DesignPii(strategy=given.pii.strategy, columns=tuple(columns))


def _schedule(given: Requirements, verdict: DesignDecisions) -> Schedule:
    assert given.latency is not None
    orchestrator = verdict.outcome("orchestration") or "snowmelt (target lag)"
    cron = given.schedule
    if cron is None and orchestrator in ("airflow", "dagster", "prefect", "cron"):
        cron = cron_for(given.latency)
    return Schedule(orchestrator=orchestrator, cron=cron, target_lag=leaf_lag(given.latency))


def cron_for(latency: float) -> str:
    """Often enough for the promise: a run in each half of the interval."""
    minutes = max(1, int(latency // 120))
    if minutes < 60:
        return f"*/{minutes} * * * * UTC"
    hours = min(minutes // 60, 12)
    return f"0 */{hours} * * * UTC" if hours > 1 else "0 * * * * UTC"
