"""Anti-patterns in a design: in the SQL of its stages, and in what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.design.antipatterns.library import library
from snowmelt.design.antipatterns.linting import lint_library
from snowmelt.design.antipatterns.model import LintFinding, known_antipatterns, ordered
from snowmelt.design.antipatterns.on_statements import ADDRESS_WITH_PASSWORD
from snowmelt.design.deciding import CHECKS_PER_INTERVAL
from snowmelt.design.model import Design, DesignStage, StageKind
from snowmelt.design.requirements.amounts import seconds
from snowmelt.design.requirements.model import Evolution, GateSeverity, Load, SinkKind

_Found = tuple[str, str, str]
"""Id, object, message."""
_SAID_ELSEWHERE = frozenset({"DW-03", "DO-06"})
"""What SQL alone can't tell of a design, whose contracts and descriptions stand beside it."""


def design_findings(design: Design) -> list[LintFinding]:
    found = [
        LintFinding(item.pattern, design.name, 0, item.object.lower(), item.message)
        for item in lint_library(library((stage.name, stage.sql) for stage in design.stages))
        if item.pattern.id not in _SAID_ELSEWHERE
    ]
    for identifier, name, message in (
        *_ends(design), *_stages(design), *_sources(design), *_published(design), *_observed(design), *_known(design),
    ):  # fmt: skip
        found.append(LintFinding(known_antipatterns()[identifier], design.name, 0, name, message))
    return ordered(found)


def _ends(design: Design) -> Iterator[_Found]:
    if design.idempotency in ("", "none"):
        yield "PD-01", design.name, "nothing makes a repeated step harmless"
    for sink in design.sinks:
        if sink.kind is not SinkKind.SNOWMELT and sink.load is Load.APPEND and not sink.key:
            yield "PD-01", sink.name, "rows are appended without a key: a repeated run sends them again"


def _stages(design: Design) -> Iterator[_Found]:
    layers = {stage.name.lower(): stage.layer for stage in design.stages}
    for stage in design.stages:
        if stage.layer == "bronze" and stage.load is not Load.APPEND:
            yield "PD-05", stage.name, f"raw rows are loaded by {stage.load}, which throws earlier ones away"
        if stage.layer == "silver" and not stage.key:
            yield "ES-03", stage.name, "nothing says which rows are the same"
        if stage.layer == "gold" and any(layers.get(name.lower()) == "bronze" for name in stage.reads):
            yield "DW-04", stage.name, "it reads raw data directly"
        if stage.kind is not StageKind.TABLE and "FULL" in _refresh_mode(stage):
            yield "PD-07", stage.name, "REFRESH_MODE = FULL computes everything at each refresh"


def _refresh_mode(stage: DesignStage) -> str:
    return stage.sql.upper().partition("REFRESH_MODE")[2][:16]


def _sources(design: Design) -> Iterator[_Found]:
    alerts = {alert.name for alert in design.alerts}
    for source in design.sources:
        if ADDRESS_WITH_PASSWORD.search(source.connection):
            yield "PD-06", source.name, "its address has a password in it"
        tracked = all(table.change_column for table in source.tables)
        if source.capture.way == "snapshot" and tracked and source.tables:
            yield "PD-07", source.name, "it is read as a whole, though its tables have change columns"
        if source.capture.slot is not None and f"slot_{source.name.lower()}" not in alerts:
            yield "DO-05", source.name, f"nobody watches the slot {source.capture.slot}"
    discards = design.schema_evolution in (Evolution.DISCARD_ROW, Evolution.DISCARD_VALUE)
    if discards and "dead_letters" not in alerts:
        yield "ES-07", design.name, f"{design.schema_evolution} leaves data out, and nobody counts it"


def _published(design: Design) -> Iterator[_Found]:
    # How fresh a table is, and which columns its source has, says nothing of its rows.
    gated = {gate.rule.table.lower() for gate in design.quality if gate.dimension not in ("freshness", "schema")}
    watched = {alert.name.lower() for alert in design.alerts}
    for name in dict.fromkeys(name for sink in design.sinks for name in sink.reads):
        stage = design.stage(name)
        if stage is None:
            continue
        if stage.contract is None:
            yield "DW-03", name, "consumers read it, and no contract says what it promises"
        if name.lower() not in gated:
            yield "DW-07", name, "no gate looks at it: give it a key"
        if f"stale_{name.lower()}" not in watched:
            yield "DO-01", name, "nobody would know that it has stopped being updated"
        if not stage.description:
            yield "DO-06", name, "nothing says what one row of it is"


def _observed(design: Design) -> Iterator[_Found]:
    interval = float(str(seconds(design.service_level.freshness)))
    channels = {alert.channel for alert in design.alerts if alert.severity is not GateSeverity.WARN}
    for alert in design.alerts:
        if alert.name.startswith("stale_") and float(str(seconds(alert.every))) * CHECKS_PER_INTERVAL > interval:
            yield "DO-02", alert.name, f"it is checked every {alert.every}, which is less than twice per interval"
    if design.service_level.tier < 3 and channels <= {"log"}:
        yield "DO-03", design.name, f"it is of tier {design.service_level.tier}, and its alerts go to the log"
    if not any(alert.name == "refresh_failed" for alert in design.alerts):
        yield "DO-04", design.name, "nobody is told of a refresh that fails"
    if design.owner in ("", "nobody yet"):
        yield "DO-06", design.name, "it has no owner"


def _known(design: Design) -> Iterator[_Found]:
    names = {*design.models, *(stage.name.lower() for stage in design.stages)}
    for stage in design.stages:
        unknown = [name for name in stage.reads if stage.layer != "bronze" and name.lower() not in names]
        if unknown:
            yield "DO-07", stage.name, f"it reads {', '.join(unknown)}, which the design does not know"
