"""The design document: what was decided and why, what is built, how it is run, and who gets what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snowmelt.design.antipatterns.model import LintFinding
from snowmelt.design.model import Design, DesignGate, DesignSink, DesignSource, RunbookStep, ServiceLevel
from snowmelt.design.output.blocks import Block, Bullets, Code, Drawing, Heading, Paragraph, grid
from snowmelt.design.output.diagram import picture
from snowmelt.design.requirements.model import Recipe
from snowmelt.design.rules.table import ABOUT, Phase


def document(design: Design, findings: Iterable[LintFinding] = ()) -> list[Block]:
    """`findings` are the anti-patterns that were found in it."""
    return [
        Heading(f"Design: {design.name}", 1),
        *_overview(design),
        Heading("Architecture"),
        Drawing(picture(design)),
        *_decisions(design),
        *_frame(design),
        *_layout(design),
        *_optimize(design),
        *_wire(design),
        *_checked(findings),
    ]


def _overview(design: Design) -> Iterator[Block]:
    if design.description:
        yield Paragraph(design.description)
    level = design.service_level
    yield grid(
        ("", ""),
        [
            ("recipe", design.recipe), ("mode", f"{design.mode}: {design.decision('mode').reason}"),
            ("pattern", f"{design.pattern}: {design.decision('pattern').reason}"), ("owner", design.owner),
            ("freshness", level.freshness),
            ("availability", f"tier {level.tier}: {level.availability}, at most {level.downtime_a_month} a month down"),
        ],
    )  # fmt: skip


def _decisions(design: Design) -> Iterator[Block]:
    yield Heading("Decisions")
    for phase in Phase:
        yield Heading(f"{phase}: {ABOUT[phase]}", 3)
        yield grid(
            ("topic", "decision", "why", "rule", "facts"),
            [
                (item.topic, item.outcome, item.reason, item.rule,
                 "; ".join(f"{fact.name} = {fact.value} ({fact.origin})" for fact in item.facts))
                for item in design.decisions
                if item.phase == phase
            ],
        )  # fmt: skip
    if design.answers:
        yield Heading("Asked first", 3)
        yield grid(("rule", "question", "answer"), [(a.rule, a.question, a.answer) for a in design.answers])
    if design.assumptions:
        yield Heading("Assumptions", 3)
        yield Paragraph("These were assumed. State them in the requirements, and make the design again:")
        yield Bullets(design.assumptions)


def _frame(design: Design) -> Iterator[Block]:
    yield Heading("Sources and sinks")
    yield grid(
        ("source", "kind", "table", "key", "change column", "comes by", "lands in"),
        [
            (source.name, source.kind, table.name, ", ".join(table.key) or "none", table.change_column or "none",
             source.capture.way, table.stage)
            for source in design.sources
            for table in source.tables
        ],
    )  # fmt: skip
    yield grid(
        ("sink", "kind", "reads", "load", "key", "delivery"),
        [
            (sink.name, sink.kind, ", ".join(sink.reads), sink.load, ", ".join(sink.key) or "none", sink.delivery)
            for sink in design.sinks
        ],
    )
    if design.pii is not None:
        yield Heading("Personal data", 3)
        where = ", ".join(design.pii.columns) or "no column is named yet"
        yield Paragraph(f"Strategy: {design.pii.strategy} ({where}). Raw tables are for the pipeline's role alone.")
    for source in design.sources:
        if source.capture.way == "log":
            yield from _capture(source)
        elif source.capture.channels:
            yield Heading(f"Channels of {source.name}", 3)
            yield grid(("topic", "channel"), source.capture.channels.items())
            yield Bullets(source.capture.hand_over, numbered=True)
    if design.recipe is Recipe.REVERSE:
        for sink in design.sinks:
            yield from reverse_flow(design, sink)


def _capture(source: DesignSource) -> Iterator[Block]:
    capture = source.capture
    yield Heading(f"Change data capture of {source.name}", 3)
    yield grid(
        ("", ""),
        [
            ("snapshot mode", capture.snapshot_mode or ""), ("publication", capture.publication or ""),
            ("slot", capture.slot or ""),
            ("replica identity", ", ".join(f"{table}: {word}" for table, word in capture.replica_identity.items())),
        ],
    )  # fmt: skip
    yield Paragraph("From the snapshot to the stream, so that nothing is lost:")
    yield Bullets(capture.hand_over, numbered=True)
    if source.setup_sql is not None:
        yield Code(source.setup_sql)


def at_percentile(level: ServiceLevel) -> str:
    """What is promised of a day as a whole, where something is."""
    if level.percentile is None:
        return ""
    return f", or when it is older than promised in more than {100 - level.percentile} of 100 moments of a day"


def reverse_flow(design: Design, sink: DesignSink) -> Iterator[Block]:
    """What goes to an application, how, and under which names."""
    yield Heading(f"Reverse flow to {sink.name}", 3)
    rate = f"{sink.requests_per_second:g} requests a second" if sink.requests_per_second else "none was named"
    yield grid(
        ("", ""),
        [
            ("source model", ", ".join(sink.reads)), ("key", ", ".join(sink.key)),
            ("cadence", design.schedule.cron or design.schedule.target_lag or ""),
            ("a row that is rejected", "is set aside" if sink.on_reject == "reject_row" else "halts the run"),
            ("rate limit", rate),
        ],
    )  # fmt: skip
    yield grid(
        ("column", "field", "values"),
        [
            (item.source, item.target, ", ".join(f"{value.source} → {value.target}" for value in item.values))
            for item in sink.fields
        ],
    )


def _layout(design: Design) -> Iterator[Block]:
    yield Heading("Stages")
    for stage in design.stages:
        yield Heading(f"{stage.name} ({stage.layer})", 3)
        lag = f" Target lag: {stage.target_lag}." if stage.target_lag is not None else ""
        keys = f" Key: {', '.join(stage.key)}." if stage.key else ""
        yield Paragraph(f"{stage.description} Load: {stage.load}.{keys}{lag}".strip())
        yield Code(stage.sql)
    yield Heading("Contracts")
    yield grid(
        ("contract", "table", "version", "compatibility", "freshness", "columns"),
        [
            (item.name, item.stage, item.version, item.compatibility, item.freshness,
             ", ".join(f"{column.name} {column.type}" for column in item.columns) or "those of its query")
            for item in design.contracts
        ],
    )  # fmt: skip
    yield Heading("Schedule")
    cron = f", cron {design.schedule.cron}" if design.schedule.cron else ""
    yield Paragraph(f"{design.schedule.orchestrator}{cron}, target lag {design.schedule.target_lag}.")


def _optimize(design: Design) -> Iterator[Block]:
    yield Heading("Quality gates")
    yield grid(
        ("dimension", "check", "table", "columns", "severity", "when it fails"),
        [(gate.dimension, gate.rule.check, gate.rule.table, ", ".join(gate.rule.columns) or _bounds(gate),
          gate.rule.severity, gate.on_failure) for gate in design.quality],
    )  # fmt: skip
    yield Heading("Idempotency")
    yield Paragraph(f"{design.idempotency}: {design.decision('idempotency').reason}")
    yield Heading("Schema changes")
    yield Paragraph(f"{design.schema_evolution}: {design.decision('schema evolution').reason}")
    yield Heading("Observability")
    level = design.service_level
    yield Paragraph(
        f"Freshness is promised within {level.freshness}, checked every {level.check_every}, and alerted after "
        f"{level.alert_after} without an update{at_percentile(level)}. "
        f"Schema drift: {design.decision('schema drift').outcome}."
    )
    yield grid(
        ("alert", "severity", "when", "checked every", "channel"),
        [(item.name, item.severity, item.condition, item.every, item.channel) for item in design.alerts],
    )
    yield Heading("Capacity and cost")
    yield grid(
        ("", "estimate", "from", "benchmark"),
        [(item.what, item.value, item.how, item.benchmark) for item in design.estimates],
    )
    yield Paragraph("Rates were measured on two cores (docs/performance.md): lower bounds for anything larger.")


def _bounds(gate: DesignGate) -> str:
    rule = gate.rule
    return ", ".join(
        f"{word} {value:.15g}" for word, value in (("from", rule.minimum), ("to", rule.maximum)) if value is not None
    )


def _wire(design: Design) -> Iterator[Block]:
    yield Heading("Tests")
    yield Paragraph(f"{design.decision('tests').outcome}: {design.decision('tests').reason}")
    yield Heading("Lineage")
    yield Paragraph(f"Namespace {design.lineage_namespace}. {design.decision('lineage').reason}")
    for title, steps in (("Backfill", design.backfill), ("Replay", design.replay), ("Rollback", design.rollback)):
        yield Heading(title)
        yield from _steps(steps)
    yield Heading("Hand-over")
    for packet in design.packets:
        yield Heading(f"For the {packet.reader}", 3)
        yield Bullets(packet.contents)


def _steps(steps: Iterable[RunbookStep]) -> Iterator[Block]:
    for number, step in enumerate(steps, start=1):
        yield Paragraph(f"{number}. {step.text}")
        if step.sql:
            yield Code(step.sql)


def _checked(findings: Iterable[LintFinding]) -> Iterator[Block]:
    found = list(findings)
    yield Heading("Anti-patterns")
    if not found:
        yield Paragraph("Checked against PD-01..07, ES-01..07, DW-01..07 and DO-01..07: none was found.")
        return
    yield grid(
        ("id", "where", "what", "what to do"),
        [(item.pattern.id, item.location, item.message, item.pattern.remedy) for item in found],
    )
