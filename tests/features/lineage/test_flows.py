"""Where the columns of single queries come from: one case for each part of a query that TPC-H does not have."""

from __future__ import annotations

import pytest

from tests.features.lineage.tracing import by_influence, flow_of

Case = tuple[str, dict[str, dict[str, set[str]]], dict[str, set[str]]]
_CASES: dict[str, Case] = {
    "union": (
        "SELECT c_name AS n FROM customer UNION ALL SELECT s_name FROM supplier",
        {"N": {"identity": {"c_name", "s_name"}}},
        {},
    ),
    "except": (
        "SELECT c_custkey AS k FROM customer EXCEPT SELECT o_custkey FROM orders",
        {"K": {"identity": {"c_custkey"}}},
        {"filter": {"o_custkey"}},
    ),
    "window": (
        "SELECT SUM(l_quantity) OVER (PARTITION BY l_orderkey ORDER BY l_linenumber) AS s FROM lineitem",
        {"S": {"aggregation": {"l_quantity"}, "window": {"l_orderkey", "l_linenumber"}}},
        {},
    ),
    "qualify": (
        "SELECT o_orderkey FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY o_custkey ORDER BY o_orderdate) = 1",
        {"O_ORDERKEY": {"identity": {"o_orderkey"}}},
        {"filter": {"o_custkey", "o_orderdate"}},
    ),
    "case": (
        "SELECT CASE WHEN o_orderstatus = 'F' THEN o_totalprice ELSE 0 END AS p FROM orders",
        {"P": {"conditional": {"o_orderstatus"}, "transformation": {"o_totalprice"}}},
        {},
    ),
    "scalar subquery": (
        "SELECT (SELECT MAX(o_totalprice) FROM orders WHERE o_custkey = c_custkey) AS m FROM customer",
        {"M": {"aggregation": {"o_totalprice"}, "conditional": {"o_custkey", "c_custkey"}}},
        {},
    ),
    "flatten": (
        "SELECT d.id, f.value:name::VARCHAR AS n FROM documents d, LATERAL FLATTEN(INPUT => d.body) f",
        {"ID": {"identity": {"id"}}, "N": {"transformation": {"body"}}},
        {},
    ),
    "flatten with numbers of rows": (
        "SELECT id, seq, f.index FROM documents, LATERAL FLATTEN(INPUT => body) f",
        {"ID": {"identity": {"id"}}, "SEQ": {}, "INDEX": {"transformation": {"body"}}},
        {},
    ),
    "common table expressions": (
        "WITH a AS (SELECT c_custkey AS k FROM customer), b AS (SELECT k + 1 AS k FROM a) SELECT * FROM b",
        {"K": {"transformation": {"c_custkey"}}},
        {},
    ),
    "values": ("SELECT column1 AS v FROM VALUES (1), (2)", {"V": {}}, {}),
}


@pytest.mark.parametrize("name", _CASES)
def test_columns(name: str) -> None:
    query, outputs, rows = _CASES[name]
    flow = flow_of(query)
    assert {output.name: by_influence(output.origins) for output in flow.outputs} == outputs
    assert by_influence(flow.rows) == rows


def test_what_is_only_counted_is_a_source() -> None:
    assert flow_of("SELECT COUNT(*) AS n FROM orders").sources == {"orders"}
