"""Gates: queries that count what breaks a rule. A broken one fails the run; a critical one stops it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Gate:
    name: str
    sql: str
    severity: Literal["warn", "error", "critical"] = "error"
    allowed: float = 0
    """How many may break it."""


@dataclass(frozen=True, slots=True)
class GateResult:
    gate: Gate
    breaches: float

    @property
    def passed(self) -> bool:
        return self.breaches <= self.gate.allowed

    @property
    def stops(self) -> bool:
        """Nothing is published."""
        return not self.passed and self.gate.severity == "critical"

    @property
    def fails(self) -> bool:
        """The run has failed; a warning is told, and no more."""
        return not self.passed and self.gate.severity != "warn"


def check_gates(gates: Iterable[Gate], count: Callable[[str], float | None]) -> list[GateResult]:
    """`count` runs a query of one number; NULL, which an empty table may give, breaks nothing."""
    return [GateResult(gate, float(count(gate.sql) or 0)) for gate in gates]
