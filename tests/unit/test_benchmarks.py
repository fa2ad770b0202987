"""The benchmark harness: statistics, comparison of results, the report. No Spark is started."""

from __future__ import annotations

import io
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks import cli
from benchmarks.cases import BENCHMARKS, Benchmark
from benchmarks.cases.refresh import Contender, measured, stopped
from benchmarks.comparing import difference_of_rows, difference_of_tables, same_value
from benchmarks.machine import describe
from benchmarks.measuring import Aim, Measure, Outcome, Samples, alone, quantile, side_by_side
from benchmarks.report import Finished, as_json, show
from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES, create_table
from benchmarks.typical import statements
from benchmarks.workbench import Workbench
from snowmelt.core.errors import SnowmeltError

# -- statistics ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 3.0), (0.25, 2.0), (0.95, 4.8), (1.0, 5.0)])
def test_quantiles_are_interpolated(share: float, expected: float) -> None:
    assert quantile([5, 1, 4, 2, 3], share) == pytest.approx(expected)


def test_one_sample_is_every_quantile() -> None:
    assert quantile([7.0], 0.95) == 7.0


def test_warm_up_is_kept_apart() -> None:
    samples = Samples((10.0, 30.0, 20.0), warmup=(900.0,))
    assert (samples.median, samples.maximum) == (20.0, 30.0)


def test_a_ratio_below_one_means_snowmelt_is_faster() -> None:
    measure = Measure("m", Samples((10.0, 20.0, 30.0)), Samples((40.0, 40.0, 40.0)))
    assert measure.ratio == 0.5
    assert measure.ratio_quartiles == (0.375, 0.625)


def test_both_sides_get_the_same_rounds_in_turns() -> None:
    seen: list[tuple[str, int]] = []

    def side(name: str) -> Any:
        return lambda number: seen.append((name, number))

    measure = side_by_side("m", side("ours"), side("theirs"), rounds=2, warmup=1)
    assert seen == [("ours", 0), ("theirs", 0), ("theirs", 1), ("ours", 1), ("ours", 2), ("theirs", 2)]
    assert measure.plain is not None
    assert [len(measure.snowmelt.warmup), len(measure.snowmelt.values), len(measure.plain.values)] == [1, 2, 2]


def test_the_first_difference_is_kept() -> None:
    measure = side_by_side(
        "m", lambda n: n, lambda n: n // 2, rounds=3, warmup=0,
        compare=lambda one, other: None if one == other else f"{one} against {other}",
    )  # fmt: skip
    assert measure.difference == "1 against 0"
    assert Outcome((measure,)).differences == ["m: 1 against 0"]


def test_what_has_no_counterpart_has_no_ratio() -> None:
    measure = alone("m", lambda _: None, rounds=4, warmup=2)
    assert (len(measure.snowmelt.values), len(measure.snowmelt.warmup)) == (4, 2)
    assert measure.ratio is None
    assert measure.ratio_quartiles is None


def test_ways_to_refresh_take_turns_and_each_is_compared() -> None:
    seen: list[str] = []

    def way(label: str, rows: list[tuple[int]]) -> Contender:
        return Contender(label, stopped(lambda name: seen.append(f"{label} {name}")), lambda _: rows)

    def execute(sql: str) -> None:
        if sql.startswith("ALTER DYNAMIC TABLE"):
            seen.append("ours q01")

    connection = SimpleNamespace(execute=execute)
    bench: Any = SimpleNamespace(connection=connection, step=lambda _: None, snowmelt_rows=lambda _: [(1,)])
    ways = [way("right", [(1,)]), way("wrong", [(2,)])]
    measures = measured(bench, ["q01"], 0.01, ways, rounds=1, warmup=1, change=lambda *_: None)
    assert seen == ["ours q01", "right q01", "wrong q01", "right q01", "wrong q01", "ours q01"]
    assert [(m.name, m.difference) for m in measures] == [
        ("1.00% q01 right", None),
        ("1.00% q01 wrong", "(1,) against (2,)"),
    ]
    assert [len(m.snowmelt.values) for m in measures] == [1, 1]


# -- comparison ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1, True),
        (1, Decimal("1.00"), True),
        ("a", "A", False),
        (None, None, True),
        (None, 0, False),
        (date(2024, 1, 31), date(2024, 1, 31), True),
        (1.0, 1.0 + 1e-10, True),
        (1e12, 1e12 + 1, True),
        (1.0, 1.0001, False),
        (Decimal("0.10"), Decimal("0.11"), False),
        # An average to six and to eight digits: the rounding of one number, or not.
        (Decimal("25.52205800"), Decimal("25.522058"), True),
        (Decimal("25.52205849"), Decimal("25.522058"), True),
        (Decimal("25.52205860"), Decimal("25.522058"), False),
    ],
)
def test_values(one: Any, other: Any, same: bool) -> None:
    assert same_value(one, other) is same
    assert same_value(other, one) is same


def test_rows_are_compared_as_multisets() -> None:
    rows = [(2, "b", None), (1, "a", Decimal("1.50")), (1, "a", Decimal("0.50"))]
    assert difference_of_rows(rows, list(reversed(rows))) is None
    assert difference_of_rows(rows, rows[:2]) == "3 rows against 2"
    assert difference_of_rows([(1,), (1,), (2,)], [(1,), (2,), (2,)]) == "(1,) against (2,)"


def test_rounding_does_not_change_which_rows_are_matched() -> None:
    ours = [("x", Decimal("0.33333333")), ("y", Decimal("0.33333333"))]
    theirs = [("y", Decimal("0.333333")), ("x", Decimal("0.333333"))]
    assert difference_of_rows(ours, theirs) is None


def test_tables_are_compared_by_key_whatever_the_case_of_names() -> None:
    ours = pa.table({"ID": [2, 1], "NAME": ["b", "a"]})
    assert difference_of_tables(ours, pa.table({"id": [1, 2], "name": ["a", "b"]}), key="id") is None
    assert difference_of_tables(ours, pa.table({"id": [1, 2], "name": ["a", "c"]}), key="id") == (
        "column NAME has other values"
    )
    assert difference_of_tables(ours, pa.table({"id": [1], "name": ["a"]}), key="id") == "2 rows against 1"
    assert difference_of_tables(ours, pa.table({"id": [1, 2]}), key="id") == "columns ['ID', 'NAME'] against ['ID']"


# -- queries ------------------------------------------------------------------------------------------------------


def test_there_are_22_queries_over_the_eight_tables() -> None:
    texts = [query_text(name, 1.0) for name in query_names()]
    assert len(texts) == 22
    assert len(TABLES) == 8
    assert all("{" not in text for text in texts)
    assert create_table("region").startswith("CREATE TABLE region (r_regionkey INTEGER")


def test_the_fraction_of_q11_follows_the_scale() -> None:
    assert "* 0.0100000000" in query_text("q11", 0.01)
    assert "* 0.0001000000" in query_text("q11", 1.0)


def test_there_are_twenty_typical_statements() -> None:
    assert len(statements()) == 20


# -- report -------------------------------------------------------------------------------------------------------


def finished() -> list[Finished]:
    measure = Measure("m", Samples((1.0, 2.0, 3.0), (9.0,)), Samples((4.0, 4.0, 4.0), (8.0,)))
    other = Measure("n", Samples((1.0,)), Samples((1.0,)), difference="1 against 2")
    return [
        Finished("good", "A good one", 1.0, Outcome((measure,), (Aim("below 5 ms", "2.0 ms", True),), {"rows": 10})),
        Finished("bad", "A bad one", 1.0, Outcome((measure, other), (Aim("below 1 ms", "2.0 ms", False),))),
        Finished("missing", "One that cannot run", 0.1, None, "no such [thing]"),
    ]


def test_only_the_same_results_are_sound() -> None:
    assert [item.sound for item in finished()] == [True, False, False]


def test_json_has_everything_that_was_measured() -> None:
    content = json.loads(json.dumps(as_json(describe(), {"scale": 0.01}, finished())))
    assert {"cores", "memory_gb", "date", "python", "pyspark", "deltalake", "commit"} <= set(content["machine"])
    good, bad, missing = content["benchmarks"]
    assert good["aims"] == [{"aim": "below 5 ms", "measured": "2.0 ms", "met": True}]
    assert good["measures"][0] == {
        "name": "m",
        "snowmelt": {"unit": "ms", "median": 2.0, "p95": 2.9, "max": 3.0, "samples": [1, 2, 3], "warmup": [9]},
        "plain": {"unit": "ms", "median": 4.0, "p95": 4.0, "max": 4.0, "samples": [4, 4, 4], "warmup": [8]},
        "ratio": 0.5,
        "ratio_quartiles": [0.375, 0.625],
        "same_result": True,
        "difference": None,
    }
    assert [measure["same_result"] for measure in bad["measures"]] == [True, False]
    assert (missing["error"], missing["measures"]) == ("no such [thing]", [])


def test_the_terminal_says_what_was_met_and_what_differs() -> None:
    text = io.StringIO()
    console = Console(file=text, width=160)
    for item in finished():
        show(console, item)
    printed = text.getvalue()
    for expected in (
        "A good one", "aim: below 5 ms: 2.0 ms, met", "aim: below 1 ms: 2.0 ms, not met", "0.38-0.62",
        "results differ: n: 1 against 2", "failed: no such [thing]",
    ):  # fmt: skip
        assert expected in printed


# -- command line -------------------------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, outcome: Outcome | SnowmeltError) -> tuple[int, Any]:
    def benchmark(bench: Workbench) -> Outcome:
        if isinstance(outcome, SnowmeltError):
            raise outcome
        return outcome

    monkeypatch.setitem(BENCHMARKS, "tried", Benchmark("Tried", benchmark))
    arguments = ["tried", "--scale", "0.01", "--data", str(folder / "data"), "--json", str(folder / "out.json")]
    code = CliRunner().invoke(cli.app, arguments).exit_code
    assert list((folder / "data").iterdir()) == []
    return code, json.loads((folder / "out.json").read_text(encoding="utf-8"))


def test_missed_aims_do_not_fail_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcome = Outcome((Measure("m", Samples((1.0,))),), (Aim("below 0 ms", "1 ms", False),))
    code, content = run(monkeypatch, tmp_path, outcome)
    assert (code, content["settings"]["benchmarks"]) == (0, ["tried"])


def test_other_results_fail_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcome = Outcome((Measure("m", Samples((1.0,)), Samples((1.0,)), difference="1 against 2"),))
    assert run(monkeypatch, tmp_path, outcome)[0] == 1


def test_an_error_fails_the_run_and_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, content = run(monkeypatch, tmp_path, SnowmeltError("002003", "42S02", "not there"))
    assert code == 1
    assert "not there" in content["benchmarks"][0]["error"]


def test_an_unknown_name_lists_the_known_ones() -> None:
    result = CliRunner().invoke(cli.app, ["fastest"])
    assert result.exit_code == 2
