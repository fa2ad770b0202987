"""What operators need: service levels, alerts, and the steps for backfill, replay and rollback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snowmelt.core.names import literal
from snowmelt.design.deciding import ALERT_FACTOR, CHECKS_PER_INTERVAL, DesignDecisions
from snowmelt.design.model import (
    Alert,
    DesignGate,
    DesignSink,
    DesignSource,
    DesignStage,
    Packet,
    RunbookStep,
    ServiceLevel,
    StageKind,
)
from snowmelt.design.requirements.amounts import show_seconds
from snowmelt.design.requirements.model import Alerts, GateSeverity, Requirements, SinkKind, SourceKind

CRITICAL_PERCENTILE = 99
"""What is critical is not only looked at now: its data is as fresh as promised in so many of 100 moments of a day."""
_TIERS = {"1": ("99.9 %", "43.8 minutes"), "2": ("99.5 %", "3.6 hours"), "3": ("99.0 %", "7.2 hours")}


def service_level(given: Requirements, verdict: DesignDecisions) -> ServiceLevel:
    assert given.latency is not None
    tier = (verdict.outcome("sla tier") or "3")[0]
    availability, downtime = _TIERS[tier]
    return ServiceLevel.model_validate({
        "tier": int(tier), "availability": availability, "downtime_a_month": downtime,
        "freshness": show_seconds(given.latency), "check_every": show_seconds(given.latency / CHECKS_PER_INTERVAL),
        "alert_after": show_seconds(given.latency * ALERT_FACTOR),
        "percentile": CRITICAL_PERCENTILE if tier == "1" else None,
    })  # fmt: skip


def alerts(
    given: Requirements, verdict: DesignDecisions, stages: Sequence[DesignStage], sources: Sequence[DesignSource],
    gates: Sequence[DesignGate],
) -> list[Alert]:  # fmt: skip
    assert given.latency is not None
    every = show_seconds(given.latency / CHECKS_PER_INTERVAL)
    channel = verdict.outcome("alert channel") or "log"
    found = [*_table_alerts(given.latency, every, channel, stages), *_health(every, channel, sources)]
    if (verdict.outcome("sla tier") or "3")[0] == "1":
        found += _percentile_alerts(given.latency, every, channel, stages)
    found += [
        Alert(
            name=f"gate_{gate.rule.check}_{gate.rule.table}_{index}", severity=gate.rule.severity, every=every,
            condition=_tolerance(gate), sql=gate.sql, channel=channel,
        )
        for index, gate in enumerate(gates, start=1)
    ]  # fmt: skip
    own = given.monitoring.severities if isinstance(given.monitoring, Alerts) else {}
    return [alert.model_copy(update={"channel": own.get(alert.severity, alert.channel)}) for alert in found]


def _tolerance(gate: DesignGate) -> str:
    share = gate.rule.threshold
    return f"more than {share:.2%} of the rows break it" if share else "anything breaks it"


def _table_alerts(latency: float, every: str, channel: str, stages: Sequence[DesignStage]) -> Iterator[Alert]:
    limit = latency * ALERT_FACTOR
    for stage in stages:
        if stage.kind is StageKind.TABLE or stage.target_lag == "DOWNSTREAM":
            continue
        age = "DATEDIFF('second', LATEST_DATA_TIMESTAMP, CURRENT_TIMESTAMP())"
        sql = (
            f"SELECT COUNT(*) AS breaches FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLES()) "
            f"WHERE NAME = {literal(stage.name.upper())} AND {age} > {limit:g}"
        )
        yield Alert(
            name=f"stale_{stage.name}", severity=GateSeverity.ERROR, sql=sql, every=every, channel=channel,
            condition=f"no update for {show_seconds(limit)}, 1.5 times the promised {show_seconds(latency)}",
        )  # fmt: skip
    yield Alert(
        name="refresh_failed", severity=GateSeverity.ERROR, every=every, channel=channel, condition="a refresh failed",
        sql="SELECT COUNT(*) AS breaches FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY("
        "ERROR_ONLY => TRUE))",
    )  # fmt: skip


def _percentile_alerts(latency: float, every: str, channel: str, stages: Sequence[DesignStage]) -> Iterator[Alert]:
    """One long delay is seen at once by `stale_`; many short ones only by their share of the day."""
    share = CRITICAL_PERCENTILE / 100
    for stage in stages:
        if stage.kind is StageKind.TABLE or stage.target_lag == "DOWNSTREAM":
            continue
        sql = (
            "SELECT COUNT(*) AS breaches FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLES()) "
            f"WHERE NAME = {literal(stage.name.upper())} AND TIME_WITHIN_TARGET_LAG_RATIO < {share:g}"
        )
        yield Alert(
            name=f"p{CRITICAL_PERCENTILE}_{stage.name}", severity=GateSeverity.CRITICAL, sql=sql, every=every,
            channel=channel, condition=f"older than {show_seconds(latency)} in more than "
            f"{100 - CRITICAL_PERCENTILE} of 100 moments of the last day",
        )  # fmt: skip


def _health(every: str, channel: str, sources: Sequence[DesignSource]) -> Iterator[Alert]:
    for severity, share in ((GateSeverity.WARN, 80), (GateSeverity.CRITICAL, 95)):
        yield Alert(
            name=f"resources_{share}", severity=severity, every=every, channel=channel,
            condition=f"disk, memory, or a replication slot is at {share} % of its limit",
        )  # fmt: skip
    yield Alert(
        name="dead_letters", severity=GateSeverity.ERROR, every=every, channel=channel,
        condition="rows were rejected or set aside",
    )  # fmt: skip
    yield Alert(
        name="schema_drift", severity=GateSeverity.WARN, every=every, channel=channel,
        condition="a source's columns are not those of the last run",
    )  # fmt: skip
    for source in sources:
        if source.capture.slot is not None:
            yield Alert(
                name=f"slot_{source.name.lower()}", severity=GateSeverity.CRITICAL, every=every, channel=channel,
                condition=f"the slot {source.capture.slot} is lost, or the connector is not RUNNING",
                sql=None,
            )  # fmt: skip


_REPLAYS = {
    "log": "what it must send again comes by an incremental snapshot.",
    "offsets": "open the channel anew at the offset from which events are wanted.",
    "events": "ask the sender to send them again; those that are here are known by their ids.",
    "files": "COPY INTO … FORCE = TRUE for the files that are wanted again.",
    "watermark": "set the watermark back, and run again; rows replace themselves by key.",
    "snapshot": "run again: each run reads the whole.",
}


# -- steps ------------------------------------------------------------------------------------------------------------


def backfill(stages: Sequence[DesignStage]) -> list[RunbookStep]:
    computed = [stage for stage in stages if stage.kind is not StageKind.TABLE]
    if not computed:
        return [
            RunbookStep(text="Nothing is computed here: correct the model where it is made, and run the gates."),
            RunbookStep(text="Run again: rows that are another now are sent, and no others."),
        ]
    last = computed[-1].name
    return [
        RunbookStep(text="Say what is wrong, from when to when, and in which table; count the rows that will change."),
        RunbookStep(
            text="Keep the version that is there, so that it can come back.",
            sql="\n".join(f"CREATE DYNAMIC TABLE {stage.name}_before CLONE {stage.name};" for stage in computed),
        ),
        RunbookStep(
            text="Correct the SQL of the stage, look at what `snowmelt plan` would do, and `snowmelt apply` it."
        ),
        RunbookStep(
            text="Compute the tables again from the raw data, in the order of dependence; raw data is not touched.",
            sql="\n".join(f"ALTER DYNAMIC TABLE {stage.name} REFRESH;" for stage in computed),
        ),
        RunbookStep(
            text="Compare with the query, then run the gates.",
            sql=f"SELECT SYSTEM$CHECK_DYNAMIC_TABLE({literal(last)});",
        ),
        RunbookStep(
            text="When consumers have agreed, remove what was kept.",
            sql="\n".join(f"DROP DYNAMIC TABLE {stage.name}_before;" for stage in computed),
        ),
    ]  # fmt: skip


def replay(sources: Sequence[DesignSource]) -> list[RunbookStep]:
    landed = any(source.kind is not SourceKind.SNOWMELT for source in sources)
    from_raw = "What is in the raw tables is replayed from there: see backfill. No source is asked."
    from_model = "Nothing is landed: the model is what can be sent again."
    return [RunbookStep(text=from_raw if landed else from_model)] + [
        RunbookStep(
            text=f"{source.name}: {_REPLAYS[source.capture.way]}",
            sql=f"ALTER CONNECTOR {source.name.lower()} SNAPSHOT;" if source.capture.way == "log" else None,
        )
        for source in sources
        if source.kind is not SourceKind.SNOWMELT
    ]


def rollback(stages: Sequence[DesignStage], sinks: Sequence[DesignSink]) -> list[RunbookStep]:
    computed = [stage for stage in stages if stage.kind is not StageKind.TABLE]
    stopped = _each(computed, "ALTER DYNAMIC TABLE {} SUSPEND;")
    as_it_was = _each(computed, "SELECT COUNT(*) FROM {} AT (OFFSET => -3600);")
    found = [
        RunbookStep(text="Stop what is refreshed by itself.", sql=stopped)
        if computed
        else RunbookStep(text="Stop the runs."),
        RunbookStep(text="Take the definitions of the last good release, and apply them (`snowmelt apply`)."),
        RunbookStep(text="Where data is wrong and not only its definition, look at it as it was.", sql=as_it_was),
    ]
    found += [
        RunbookStep(text=f"Send the previous rows to {sink.name} again, by key.")
        for sink in sinks
        if sink.kind is not SinkKind.SNOWMELT
    ]
    found.append(
        RunbookStep(
            text="Let it run again, and watch two intervals.", sql=_each(computed, "ALTER DYNAMIC TABLE {} RESUME;")
        )
    )
    return found


def _each(stages: Sequence[DesignStage], statement: str) -> str | None:
    return "\n".join(statement.format(stage.name) for stage in stages) or None


def packets(verdict: DesignDecisions, sources: Sequence[DesignSource], sinks: Sequence[DesignSink]) -> list[Packet]:
    connections = {*(source.connection for source in sources), *(sink.connection or "" for sink in sinks)}
    variables = sorted(name for name in connections if name.isupper())
    return [
        Packet(reader="builder", contents=(
            "design.yaml: stages with their SQL, load strategies, keys, contracts, gates",
            f"secrets from the environment only: {', '.join(variables) or 'none'}",
            f"tests: {verdict.outcome('tests')}",
            "done when the second run changes nothing, and every gate has refused a row that breaks it",
        )),
        Packet(reader="operator", contents=(
            "service level, alerts and their channel, the steps for backfill, replay and rollback",
            f"recovery: {verdict.outcome('recovery')}",
            *(f"{source.name}: {source.capture.way}" for source in sources),
        )),
        Packet(reader="consumer", contents=(
            "contracts with their versions, freshness and owner",
            *(f"{sink.name}: {', '.join(sink.reads)} ({sink.load}, {sink.delivery})" for sink in sinks),
        )),
    ]  # fmt: skip
