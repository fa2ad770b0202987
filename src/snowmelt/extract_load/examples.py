"""Rows that break gates: a few of each are kept for as long as the gate is broken, so that nobody has to search."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.extract_load.quarantining import NOT_FILLED

GATE_EXAMPLES_DDL = (
    "(gate VARCHAR NOT NULL, example VARIANT NOT NULL COMMENT 'the key of a row with what the gate looks at', "
    "run_id VARCHAR NOT NULL, counted_at TIMESTAMP_LTZ NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class GateExample:
    gate: str
    example: dict[str, Any]


def keep_examples(connection: SqlConnection, folder: Path, broken: Collection[str], run_id: str) -> None:
    """In place of those that were kept before. `folder` has a query for each gate of which single rows are to blame."""
    kept = {str(row[0]) for row in connection.execute("SELECT DISTINCT gate FROM gate_examples").fetchall()}
    if kept:
        connection.execute(f"DELETE FROM gate_examples WHERE gate IN ({', '.join(map(literal, sorted(kept)))})")
    for gate in sorted(broken):
        path = folder / f"{gate}.sql"
        if path.is_file():
            _keep(connection, gate, path.read_text(encoding="utf-8"), run_id)


def _keep(connection: SqlConnection, gate: str, query: str, run_id: str) -> None:
    try:
        connection.execute(
            "INSERT INTO gate_examples (gate, example, run_id, counted_at) "
            f"SELECT {literal(gate)}, example::VARIANT, {literal(run_id)}, CURRENT_TIMESTAMP() FROM (\n{query}\n)"
        )
    except SnowmeltError as error:
        if error.code != NOT_FILLED:
            raise


def kept_examples(connection: SqlConnection) -> list[GateExample]:
    """By gate."""
    rows = connection.execute("SELECT gate, TO_JSON(example) FROM gate_examples ORDER BY gate, 2").fetchall()
    return [GateExample(str(gate), json.loads(str(example))) for gate, example in rows]
