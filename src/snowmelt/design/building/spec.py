"""data-pipeline-spec.md: every section filled from the design."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from snowmelt.design.building.granting import published, roles
from snowmelt.design.building.parts import RECONCILE_SECONDS, Parts
from snowmelt.design.building.statements import quarantining
from snowmelt.design.model import Design, RunbookStep
from snowmelt.design.output.blocks import Block, Bullets, Code, Drawing, Heading, Paragraph, grid, to_markdown
from snowmelt.design.output.diagram import picture
from snowmelt.design.output.document import at_percentile, reverse_flow
from snowmelt.design.requirements.amounts import show_seconds
from snowmelt.design.requirements.model import DescribedColumn, PiiStrategy, QualityRule, SinkKind
from snowmelt.extract_load.transforming import TOKEN_KEY

_VERSION = "0.1.0"


def specification(design: Design, parts: Parts) -> str:
    return to_markdown([
        Heading(f"{design.name}: specification", 1), *_overview(design), Heading("Architecture"),
        Drawing(picture(design)), *_ends(design, parts), *_transformations(design), *_operation(design, parts),
        *_runbook(design, parts), Heading("Change log"),
        _change_log(design),
    ])  # fmt: skip


def _change_log(design: Design) -> Block:
    """As the design has it; only one that no command has written has no log."""
    rows = [(item.version, item.date.isoformat(), item.what, item.by) for item in reversed(design.changes)]
    return grid(("version", "date", "what", "by"), rows or [(_VERSION, "", "built from design.yaml", design.owner)])


def _dates(design: Design) -> Iterator[tuple[str, str]]:
    if design.changes:
        yield "first designed", design.changes[0].date.isoformat()
        yield "last changed", design.changes[-1].date.isoformat()


def _overview(design: Design) -> Iterator[Block]:
    yield Heading("Overview")
    yield grid(
        ("", ""),
        [("version", design.changes[-1].version if design.changes else _VERSION), *_dates(design),
         ("owner", design.owner), ("recipe", design.recipe), ("mode", design.mode),
         ("pattern", design.pattern),
         ("freshness", design.service_level.freshness), ("availability", design.service_level.availability)],
    )  # fmt: skip
    yield Paragraph(
        f"{design.mode}: {design.decision('mode').reason} {design.pattern}: {design.decision('pattern').reason}"
    )
    yield Heading("Purpose")
    ends = ", ".join(sink.name for sink in design.sinks)
    yield Paragraph(design.description or f"Brings {', '.join(s.name for s in design.sources)} to {ends}.")


_HIDDEN = {
    PiiStrategy.HASH: f"hashed before it is landed, with the key in {TOKEN_KEY}",
    PiiStrategy.TOKENISE: f"replaced by tokens before it is landed, with the key in {TOKEN_KEY}",
    PiiStrategy.MASK: "masked before it is landed",
    PiiStrategy.DROP: "never landed",
    PiiStrategy.NONE: "kept as it is",
}


def _ends(design: Design, parts: Parts) -> Iterator[Block]:
    yield Heading("Sources")
    yield grid(
        ("source", "kind", "table", "key", "comes by", "address from"),
        [(source.name, source.kind, table.name, ", ".join(table.key) or "none", source.capture.way, source.connection)
         for source in design.sources for table in source.tables],
    )  # fmt: skip
    yield grid(
        ("table", "column", "type", "may be empty", "personal"),
        [(table.name, _shown(column), column.type, _yes(column.nullable), _yes(column.pii))
         for source in design.sources for table in source.tables for column in table.columns],
    )  # fmt: skip
    volume = next((item for item in design.estimates if item.what == "raw storage"), None)
    if volume is not None:
        yield Paragraph(f"Volume: {volume.how}; {volume.value}.")
    if design.pii is not None:
        hidden = ", ".join(design.pii.columns) or "none is named"
        yield Paragraph(f"Personal data: {hidden}; {_HIDDEN[design.pii.strategy]}. Raw tables and dead letters, too.")
    yield Heading("Destination")
    yield grid(
        ("sink", "kind", "tables", "load", "key", "delivery"),
        [(sink.name, sink.kind, ", ".join(sink.reads), sink.load, ", ".join(sink.key) or "of the table", sink.delivery)
         for sink in design.sinks],
    )  # fmt: skip
    for sink in design.sinks:
        if sink.fields:
            yield from reverse_flow(design, sink)
    if parts.histories:
        kept = ", ".join(f"{item['table']}_history" for item in parts.histories)
        yield Paragraph(f"Every version is kept in {kept}, with valid_from, valid_to and is_current.")


def _transformations(design: Design) -> Iterator[Block]:
    yield Heading("Transformations")
    if not design.stages:
        yield Paragraph(f"None: {', '.join(design.models)} is made elsewhere, and read as it is.")
    yield grid(
        ("table", "layer", "reads", "load", "target lag", "what it is"),
        [(stage.name, stage.layer, ", ".join(stage.reads), stage.load, stage.target_lag or "", stage.description)
         for stage in design.stages],
    )  # fmt: skip
    yield Heading("Quality")
    yield grid(
        ("check", "table", "columns", "allowed", "severity", "stands", "when it fails"),
        [(gate.rule.check, gate.rule.table, ", ".join(gate.rule.columns), _allowed(gate.rule), gate.rule.severity,
          f"behind each refresh: {gate.counted}" if gate.counted else "before rows are visible", gate.on_failure)
         for gate in design.quality],
    )  # fmt: skip
    yield Paragraph(
        "What stands before rows are visible is a quality check of the engine (sql/_gates): no refresh goes round it. "
        "The others are counted (sql/_quality_checks). Each refuses a bad row and passes a good one in "
        "tests/integration/test_gates.py."
    )
    kept = quarantining(design)
    if kept:
        yield Paragraph(
            f"Rows that were kept out of {', '.join(kept)} are in <table>_quarantine: `make quarantine` lists them. "
            "Mend the source, then `make quarantine WHAT=replay` computes the tables anew; WHAT=discard sets aside."
        )
    yield Heading("Contracts and rights", 3)
    yield grid(
        ("contract", "table", "version", "columns"),
        [(item.name, item.stage, item.version, str(len(item.columns) or "of the table"))
         for item in design.contracts],
    )  # fmt: skip
    owner, writer, reader = roles(design)
    yield Paragraph(
        "Attached contracts refuse what would leave a table with other columns; another version is said in `contracts` "
        f"of the requirements. Roles (sql/_grants): {owner} owns the tables, {writer} brings rows, {reader} reads "
        f"{', '.join(published(design)) or 'nothing here'}."
    )


def _shown(column: DescribedColumn) -> str:
    return f"{column.name}, here {column.called}" if column.called else column.name


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _allowed(rule: QualityRule) -> str:
    """In words: which values, how old, how many may break it."""
    parts = [f"at least {rule.minimum:g}"] if rule.minimum is not None else []
    parts += [f"at most {rule.maximum:g}"] if rule.maximum is not None else []
    parts += [f"one of {', '.join(rule.values)}"] if rule.values else []
    parts += [f"{rule.share:.3g} of the rows before must be left"] if rule.share is not None else []
    parts += [f"within {show_seconds(rule.within)}"] if rule.within is not None else []
    parts += [f"{rule.threshold:.3g} of the rows may break it"] if rule.threshold else []
    return ", ".join(parts) or "none breaks it"


def _reconciliation(design: Design, parts: Parts) -> Iterator[Block]:
    """What the rows are compared with, how often, and which differences can go unnoticed in between."""
    for flow in (item for item in parts.flows if item.get("received")):
        yield Paragraph(
            f"{flow['name']}: events of webhooks can't be held against their source, which nobody can ask. What was "
            "answered with 2xx is here, once by its id. What a sender gives up on while the receiver is away is lost; "
            "a sender that fell silent looks like one that has nothing to say."
        )
    every = show_seconds(RECONCILE_SECONDS[design.service_level.tier])
    yield from _sent(design, every)
    compared = [item["name"] for item in _compared(parts)]
    if not compared:
        if parts.flows and all(item.get("received") for item in parts.flows):
            return
        yield Paragraph("No table has a key by which its rows could be held against the source.")
        return
    yield Paragraph(
        f"{', '.join(compared)}: counts, sums and keys are compared with the source by day, every {every} and by "
        "`make reconcile`. The table reconciliations has what was found; a difference that stays fails the run."
    )
    late = [flow for flow in parts.flows if flow.get("options", {}).get("overlap")]
    for flow in late:
        yield Paragraph(
            f"{flow['name']}: a row that is committed more than {show_seconds(flow['options']['overlap'])} later than "
            "its change column says is not seen by a run. The comparison finds and fetches it."
        )


def _sent(design: Design, every: str) -> Iterator[Block]:
    """What sinks outside are held to."""
    outside = [sink for sink in design.sinks if sink.kind not in (SinkKind.SNOWMELT, SinkKind.API)]
    if outside:
        yield Paragraph(
            f"{', '.join(sink.name for sink in outside)}: right behind what is sent, every {every}, and again as long "
            "as they differ, counts and sums by day and then keys are compared with the tables here. What a sink has "
            "beside them is a difference where it is written as a whole."
        )
    for sink in (sink for sink in design.sinks if sink.kind is SinkKind.API):
        yield Paragraph(f"{sink.name}: nothing is read back from an application; it answers for each row.")


def _compared(parts: Parts) -> list[dict[str, Any]]:
    mirrors = [mirror for capture in parts.captures for mirror in capture["mirrors"]]
    return [item for item in (*parts.flows, *mirrors) if "compared" in item]


def _operation(design: Design, parts: Parts) -> Iterator[Block]:
    yield Heading("Scheduling")
    cron = f", cron {design.schedule.cron}" if design.schedule.cron else ""
    yield Paragraph(f"{design.schedule.orchestrator}{cron}; target lag {design.schedule.target_lag}.")
    level = design.service_level
    yield Paragraph(
        f"Promise: {level.freshness} old at most, looked at every {level.check_every}, an alert after "
        f"{level.alert_after}{at_percentile(level)}; available {level.availability}, "
        f"{level.downtime_a_month} a month down. Tables are refreshed behind those that they read, "
        "and sinks get their rows behind the gates."
    )
    yield Heading("Error handling")
    yield Bullets((
        "Transient errors are tried again, five times, with growing waits; typed errors say whether they are.",
        "Records that are wrong go to dead_letters with their reason, and the rest goes on.",
        f"Repeated steps are harmless: {design.idempotency}. {design.decision('idempotency').reason}",
        f"Changed columns: {design.schema_evolution}. {design.decision('schema evolution').reason}",
    ))  # fmt: skip
    yield Heading("Reconciliation", 3)
    yield from _reconciliation(design, parts)
    yield Heading("Monitoring")
    yield Paragraph(
        "Logs are JSON lines with the run's id. Metrics of each run are in data/metrics; rules and dashboard in "
        f"monitoring. Lineage events have the namespace {design.lineage_namespace}."
    )
    yield grid(
        ("alert", "severity", "when", "checked every", "channel"),
        [(item.name, item.severity, item.condition, item.every, item.channel) for item in design.alerts],
    )


def _runbook(design: Design, parts: Parts) -> Iterator[Block]:
    yield Heading("Runbook")
    yield Heading("Start", 3)
    variables = ", ".join(parts.variables) or "no variable"
    yield Paragraph(f"With {variables} in the environment: `make run` once, `make stream` for as long as it is wanted.")
    yield Code("make run", "sh")
    if parts.models:
        named = ", ".join(model["name"] for model in parts.models)
        yield Paragraph(f"{named} must be in the data directory: name the one in which it is made, DATA=<directory>.")
    yield Heading("Stop", 3)
    yield Paragraph("Ctrl-C, at any time: what was not committed comes with the next run. To stop refreshes:")
    yield from _steps(design.rollback[:1])
    yield Heading("Backfill", 3)
    yield from _steps(design.backfill)
    yield Paragraph("`make backfill` makes every table anew from the raw data, and asks no source.")
    yield Heading("Common issues", 3)
    yield grid(
        ("what is seen", "what to do"),
        [("an environment variable is not set", "fill in .env from .env.example, and load it"),
         ("a source is not available", "nothing is lost: run again when it is reachable"),
         ("a gate is broken", "`make quality` shows rows that break it, and gate_examples keeps them; mend the source"),
         ("a table lost more rows than a gate lets it, and that is right", "ALTER DYNAMIC TABLE <table> DROP QUALITY "
          "CHECK gate_row_count, then ALTER DYNAMIC TABLE <table> REFRESH; the next run sets the gate again"),
         ("a refresh was refused", "its last good version is visible; mend the rows in the source, and run again"),
         ("rows in dead_letters", "`make letters` lists them; mend the record in the table or the transformer, then "
          "`make letters WHAT=replay`, or WHAT=discard to set them aside"),
         ("rows are not as in the source", "look at its newest rows in reconciliations: examples are keys"),
         ("columns of a source have changed", "SELECT * FROM schema_changes WHERE ended_at IS NULL; change the design"),
         ("a table is stale", "SELECT * FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY())")],
    )  # fmt: skip


def _steps(steps: Iterable[RunbookStep]) -> Iterator[Block]:
    for number, step in enumerate(steps, start=1):
        yield Paragraph(f"{number}. {step.text}")
        if step.sql:
            yield Code(step.sql)
