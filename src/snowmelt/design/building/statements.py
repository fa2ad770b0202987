"""The SQL of a project: one file for each table, and one for each gate."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.design.building.naming import gate_name
from snowmelt.design.model import Design, DesignSource, Gate, Stage, StageKind
from snowmelt.extract_load import DEAD_LETTERS_DDL

DEAD_LETTERS = (
    "CREATE TABLE IF NOT EXISTS dead_letters (\n  "
    + DEAD_LETTERS_DDL[1:-1].replace(", ", ",\n  ")
    + "\n)\nCOMMENT = 'Records that could not be understood, with the reason.'"
)
_PREFIXES = {"bronze": 1, "silver": 2, "gold": 3}


def sql_files(design: Design) -> Iterator[tuple[str, str]]:
    yield "sql/snowmelt.toml", f'[project]\nname = "{design.name.lower()}"\n'
    yield "sql/staging/00_dead_letters.sql", f"{DEAD_LETTERS};\n"
    numbers = dict.fromkeys(_PREFIXES, 0)
    for stage in design.stages:
        numbers[stage.layer] += 1
        folder = "transformations" if stage.layer == "gold" else "staging"
        name = f"{_PREFIXES[stage.layer]}{numbers[stage.layer]:02}_{stage.name.lower()}"
        yield f"sql/{folder}/{name}.sql", f"{repeatable(stage)};\n"
    for source in design.sources:
        if source.setup_sql is not None:
            yield f"sql/_connectors/{source.name}.sql", f"{_connector(source, source.setup_sql)}\n"
    for number, gate in enumerate(design.quality, start=1):
        yield f"sql/_quality_checks/{gate_name(number, gate)}.sql", _gate(gate)


def repeatable(stage: Stage) -> str:
    """Raw tables are made once; the others become what the file says, and an equal one stays as it is."""
    if stage.kind is StageKind.TABLE:
        return stage.sql.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1)
    return stage.sql.replace("CREATE ", "CREATE OR ALTER ", 1)


def _gate(gate: Gate) -> str:
    """With a threshold the number is the share of rows that break the rule, and that share is allowed."""
    query = gate.sql.replace(" FROM ", "\nFROM ", 1)
    if not gate.rule.threshold:
        return f"-- severity: {gate.rule.severity}\n{query}\n"
    total = f"SELECT NULLIF(COUNT(*), 0) FROM {gate.rule.table}"
    return (
        f"-- severity: {gate.rule.severity}, allowed: {gate.rule.threshold:g}\n"
        f"SELECT ({gate.sql}) / ({total}) AS breaches\n"
    )


def _connector(source: DesignSource, statement: str) -> str:
    """Variables come from the source's address, which may have a port and a mode of encryption as well."""
    prefix = source.name.upper()
    host = f"HOST = '${{{prefix}_HOST}}'"
    return statement.replace(host, f"{host}\n  PORT = ${{{prefix}_PORT}}\n  SSL_MODE = '${{{prefix}_SSL_MODE}}'", 1)
