"""Column lineage of TPC-H's queries against `tpch.txt`, which was written by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.tpch.queries import query_names, query_text
from tests.features.lineage.tracing import by_influence, flow_of

_TRUTH = Path(__file__).parent / "tpch.txt"
_PART = re.compile(r"(\w+)\(([^)]*)\)")


def _truth() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in _TRUTH.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            name, _, value = line.partition(" = ")
            found[list(found)[-1]][name] = value
    return found


def _expected(written: str) -> dict[str, set[str]]:
    return {kind: set(columns.split(", ")) for kind, columns in _PART.findall(written)}


@pytest.mark.parametrize("name", query_names())
def test_columns_come_from_where_the_truth_says(name: str) -> None:
    truth = dict(_truth()[name])
    rows = set(truth.pop("rows").split(", "))
    flow = flow_of(query_text(name, 1))

    assert {output.name.lower(): by_influence(output.origins) for output in flow.outputs} == {
        output: _expected(written) for output, written in truth.items()
    }
    assert {column.column.lower() for column in flow.rows} == rows
