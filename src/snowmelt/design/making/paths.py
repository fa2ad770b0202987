"""What runs when, and on what: the batch path of HYBRID, tasks of a schedule, views of final days, engine settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snowmelt.design.deciding import DesignDecisions
from snowmelt.design.making.stages import WAREHOUSE, batch_seconds
from snowmelt.design.model import BatchPath, DesignSink, DesignStage, DesignTask, DesignView, StageKind
from snowmelt.design.requirements.amounts import show_seconds
from snowmelt.design.requirements.model import Mode, Requirements

TASKS = "snowmelt (tasks)"
_PARTITION_BYTES = 128_000_000
"""What one task of Spark reads at once, by its own default."""
_EVENTS_A_CORE = 10_000


def batch_path(
    given: Requirements, verdict: DesignDecisions, stages: Sequence[DesignStage], sinks: Sequence[DesignSink]
) -> BatchPath | None:  # fmt: skip
    """What no sink that reacts at once reads, near or far."""
    if verdict.outcome("mode") != Mode.HYBRID:
        return None
    at_once = {sink.name for sink in given.sinks if sink.real_time}
    quick = {name.lower() for sink in sinks if sink.name in at_once for name in sink.reads}
    for stage in reversed(stages):
        if stage.name.lower() in quick:
            quick |= {name.lower() for name in stage.reads}
    computed = [stage.name for stage in stages if stage.kind is not StageKind.TABLE]
    return BatchPath(
        every=show_seconds(batch_seconds(given)), tables=tuple(name for name in computed if name.lower() not in quick),
        sinks=tuple(sink.name for sink in sinks if sink.name not in at_once),
    )  # fmt: skip


def tasks(given: Requirements, verdict: DesignDecisions, stages: Sequence[DesignStage]) -> Iterator[DesignTask]:
    """A root task with the schedule, and a task for each table, after those of the tables that it reads."""
    if verdict.outcome("orchestration") != TASKS or given.schedule is None or given.name is None:
        return
    cron, zone = " ".join(given.schedule.split()[:5]), " ".join(given.schedule.split()[5:]) or "UTC"
    root = f"{given.name.lower()}_begins"
    yield DesignTask(
        name=root,
        sql=f"CREATE TASK IF NOT EXISTS {root}\n  WAREHOUSE = {WAREHOUSE}\n  SCHEDULE = 'USING CRON {cron} {zone}'\n"
        "AS SELECT 1",
    )
    computed = {stage.name.lower() for stage in stages if stage.kind is not StageKind.TABLE}
    for stage in stages:
        if stage.kind is StageKind.TABLE:
            continue
        before = [f"refresh_{name.lower()}" for name in stage.reads if name.lower() in computed] or [root]
        yield DesignTask(
            name=f"refresh_{stage.name.lower()}",
            sql=f"CREATE TASK IF NOT EXISTS refresh_{stage.name.lower()}\n  WAREHOUSE = {WAREHOUSE}\n"
            f"  AFTER {', '.join(before)}\nAS ALTER DYNAMIC TABLE {stage.name} REFRESH",
        )


def final_views(given: Requirements) -> Iterator[DesignView]:
    """Only days that no late row can change any more."""
    if given.lateness is None:
        return
    for item in given.transformations:
        if item.day is not None:
            about = f"The days of {item.name} that are final: {show_seconds(given.lateness)} after their end."
            yield DesignView(
                name=f"{item.name}_final", description=about,
                sql=f"CREATE OR REPLACE VIEW {item.name}_final AS\nSELECT * FROM {item.name}\n"
                f"WHERE DATEADD('second', {86_400 + given.lateness:.0f}, {item.day}::TIMESTAMP_NTZ) <= SYSDATE()",
            )  # fmt: skip


def engine_settings(verdict: DesignDecisions) -> dict[str, str | int]:
    """Beyond one machine, as [spark] of snowmelt.toml has them. The cluster's address is the environment's."""
    engine = verdict.outcome("engine") or ""
    if "cluster" in engine:
        volume = verdict.facts.value("bytes_per_day") or 0
        parts = max(64, round(volume / 24 / _PARTITION_BYTES))
        found: dict[str, str | int] = {
            "spark.sql.shuffle.partitions": parts, "spark.sql.adaptive.enabled": "true",
            "spark.dynamicAllocation.enabled": "true",
        }  # fmt: skip
        if "kafka" in engine:
            events = verdict.facts.value("events_per_second") or 0
            found |= {"spark.dynamicAllocation.enabled": "false",
                      "spark.executor.instances": max(2, round(events / _EVENTS_A_CORE))}  # fmt: skip
        return found
    if verdict.outcome("mode") in (Mode.STREAMING, Mode.HYBRID):
        # Few rows at a time: tasks cost more than what they compute.
        return {"spark.sql.shuffle.partitions": 4, "spark.sql.adaptive.enabled": "false"}
    return {}
