"""Names that several files of a project share."""

from __future__ import annotations

from snowmelt.design.model import DesignGate


def gate_name(number: int, gate: DesignGate) -> str:
    """The name of a gate's file, and of the gate in logs and metrics. `number` counts from 1."""
    return f"{number:02}_{gate.rule.check}_{gate.rule.table.lower()}"
