"""Gates: what their severities mean for a run."""

from __future__ import annotations

from snowmelt.extract_load import Gate, check_gates


def test_an_error_fails_the_run_and_a_critical_one_stops_it() -> None:
    counts: dict[str, float | None] = {"three": 3, "none": None}
    for severity, fails, stops in (("warn", False, False), ("error", True, False), ("critical", True, True)):
        gates = [Gate("a", "three", severity, allowed) for allowed in (2, 3)] + [Gate("b", "none", severity)]  # type: ignore[arg-type]
        results = check_gates(gates, lambda query: counts[query])
        assert [item.passed for item in results] == [False, True, True]
        assert [item.fails for item in results] == [fails, False, False]
        assert [item.stops for item in results] == [stops, False, False]
