"""The SQL of a project: one file for each table, for each gate, and for its rights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snowmelt.core.names import literal
from snowmelt.design.building.granting import grants
from snowmelt.design.building.naming import gate_name
from snowmelt.design.model import Design, DesignGate, DesignSource, DesignStage, GateCheck, StageKind
from snowmelt.design.requirements.amounts import seconds_of
from snowmelt.extract_load import DEAD_LETTERS_DDL
from snowmelt.extract_load.examples import GATE_EXAMPLES_DDL
from snowmelt.extract_load.noting import (
    HEARTBEATS_DDL,
    RECONCILIATIONS_DDL,
    SCHEMA_CHANGES_DDL,
    SETTLED_LETTERS_DDL,
)

DEAD_LETTERS = (
    "CREATE TABLE IF NOT EXISTS dead_letters (\n  "
    + DEAD_LETTERS_DDL[1:-1].replace(", ", ",\n  ")
    + "\n)\nCOMMENT = 'Records that could not be understood, with the reason.'"
)
KEPT = (
    ("01_heartbeats", "heartbeats", HEARTBEATS_DDL, "When all that a source had was read last."),
    ("02_schema_changes", "schema_changes", SCHEMA_CHANGES_DDL, "Columns of sources that are not as they are known."),
    ("03_reconciliations", "reconciliations", RECONCILIATIONS_DDL, "How tables differed from their sources."),
    ("04_settled_letters", "settled_letters", SETTLED_LETTERS_DDL, "Dead letters that were replayed or set aside."),
    ("05_gate_examples", "gate_examples", GATE_EXAMPLES_DDL, "Rows that break gates, as they were counted last."),
)
"""Tables in which runs keep what they see."""
_PREFIXES = {"bronze": 1, "silver": 2, "gold": 3}


def sql_files(design: Design) -> Iterator[tuple[str, str]]:
    yield "sql/snowmelt.toml", f'[project]\nname = "{design.name.lower()}"\n'
    yield "sql/staging/00_dead_letters.sql", f"{DEAD_LETTERS};\n"
    for file, statement in kept_tables():
        yield f"sql/staging/{file}.sql", f"{statement};\n"
    numbers = dict.fromkeys(_PREFIXES, 0)
    for stage in design.stages:
        numbers[stage.layer] += 1
        folder = "transformations" if stage.layer == "gold" else "staging"
        name = f"{_PREFIXES[stage.layer]}{numbers[stage.layer]:02}_{stage.name.lower()}"
        yield f"sql/{folder}/{name}.sql", f"{repeatable(stage, gated=stage.name in gated(design))};\n"
    for number, view in enumerate(design.views, start=1):
        yield f"sql/transformations/9{number:02}_{view.name.lower()}.sql", f"-- {view.description}\n{view.sql};\n"
    yield from _beside(design)
    for source in design.sources:
        if source.setup_sql is not None:
            yield f"sql/_connectors/{source.name}.sql", f"{_connector(source, source.setup_sql)}\n"
    for number, gate in enumerate(design.quality, start=1):
        yield f"sql/_quality_checks/{gate_name(number, gate)}.sql", _gate(gate)
        if gate.examples:
            yield f"sql/_examples/{gate_name(number, gate)}.sql", f"{gate.examples}\n"
        if gate.checks:
            text = ";\n".join(check.sql for check in gate.checks)
            yield f"sql/_gates/{gate_name(number, gate)}.sql", f"{text};\n"
    yield "sql/_grants/grants.sql", grants(design)


def _beside(design: Design) -> Iterator[tuple[str, str]]:
    """Statements that no run executes: tasks, which a server runs, and the deletion of data past its retention."""
    if design.tasks:
        # A task that is behind others is resumed before the one that begins.
        resumed = [f"ALTER TASK {task.name} RESUME" for task in reversed(design.tasks)]
        text = ";\n\n".join([*(task.sql for task in design.tasks), ";\n".join(resumed)])
        yield "sql/_tasks/tasks.sql", f"-- `make tasks`: by schedule in the account of a server.\n{text};\n"
    if design.retention is not None:
        seconds = seconds_of(design.retention)
        raw = [stage for stage in design.stages if stage.kind is StageKind.TABLE]
        ends = [
            f"DELETE FROM {stage.name}\nWHERE {_arrived(stage)} < DATEADD('second', -{seconds:.0f}, SYSDATE())"
            for stage in raw
        ]
        about = f"-- Data may be kept for {design.retention}. `make retention`; computed tables follow. PD-05 is meant."
        text = ";\n".join(f"-- snowmelt:ignore PD-05\n{statement}" for statement in ends)
        yield "sql/_retention/retention.sql", f"{about}\n{text};\n"


def _arrived(stage: DesignStage) -> str:
    return "ingested_at" if stage.name.endswith("_changes") else "loaded_at"


def kept_tables() -> Iterator[tuple[str, str]]:
    """File and statement of each."""
    for file, name, columns, about in KEPT:
        listed = columns[1:-1].replace(", ", ",\n  ")
        yield file, f"CREATE TABLE IF NOT EXISTS {name} (\n  {listed}\n)\nCOMMENT = {literal(about)}"


def gated(design: Design) -> set[str]:
    """Tables whose rows pass quality checks before they are visible."""
    return {check.table for gate in design.quality for check in gate.checks}


def quarantining(design: Design) -> list[str]:
    """The tables whose bad rows are kept in a quarantine table."""
    found = {check.table for gate in design.quality for check in gate.checks if check.quarantines}
    return [stage.name for stage in design.stages if stage.name in found]


def repeatable(stage: DesignStage, *, gated: bool) -> str:
    """Raw tables are made once; the others become what the file says, and an equal one stays as it is.

    What has gates begins without rows: its first ones come through them, too.
    """
    if stage.kind is StageKind.TABLE:
        return stage.sql.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1)
    text = stage.sql.replace("CREATE ", "CREATE OR ALTER ", 1)
    mode = "\n  REFRESH_MODE = INCREMENTAL"
    return text.replace(mode, f"{mode}\n  INITIALIZE = ON_SCHEDULE", 1) if gated else text


def _gate(gate: DesignGate) -> str:
    """With a threshold the number is the share of rows that break the rule, and that share is allowed."""
    kept = [check for check in gate.checks if check.quarantines]
    if kept:
        return _quarantined(gate, kept)
    query = gate.sql.replace(" FROM ", "\nFROM ", 1)
    if not gate.rule.threshold:
        return f"-- severity: {gate.rule.severity}\n{query}\n"
    total = f"SELECT NULLIF(COUNT(*), 0) FROM {gate.rule.table}"
    return (
        f"-- severity: {gate.rule.severity}, allowed: {gate.rule.threshold:g}\n"
        f"SELECT ({gate.sql}) / ({total}) AS breaches\n"
    )


def _quarantined(gate: DesignGate, kept: Sequence[GateCheck]) -> str:
    """Counts the rows that a check took out of the table, which stay in quarantine until they are settled."""
    table = gate.rule.table
    names = " OR ".join(f"CONTAINS(quality_checks || ',', {literal(f'{check.name.upper()},')})" for check in kept)
    query = f"SELECT COUNT_IF({names}) AS breaches\nFROM {table}_quarantine"
    if not gate.rule.threshold:
        return f"-- severity: {gate.rule.severity}\n{query}\n"
    return (
        f"-- severity: {gate.rule.severity}, allowed: {gate.rule.threshold:g}\n"
        "SELECT bad / NULLIF(bad + good, 0) AS breaches\n"
        f"FROM (SELECT COUNT_IF({names}) AS bad FROM {table}_quarantine)\n"
        f"CROSS JOIN (SELECT COUNT(*) AS good FROM {table})\n"
    )


def _connector(source: DesignSource, statement: str) -> str:
    """Variables come from the source's address, which may have a port and a mode of encryption as well."""
    prefix = source.name.upper()
    host = f"HOST = '${{{prefix}_HOST}}'"
    return statement.replace(host, f"{host}\n  PORT = ${{{prefix}_PORT}}\n  SSL_MODE = '${{{prefix}_SSL_MODE}}'", 1)
