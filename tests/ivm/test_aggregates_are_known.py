"""What an aggregate becomes in Spark is an aggregate for the incremental rules, too.

One that they took for a plain function would be computed row by row.
"""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.ivm.trees import aggregates_in
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.functions.catalog import FUNCTIONS
from snowmelt.sql.functions.registry import FunctionKind
from snowmelt.sql.queries import QueryBinder
from tests.sql.test_binder_fuzz import ENVIRONMENT

OF_WORD = {"any": "i", "str": "s", "int": "1", "num": "n", "float": "0.5", "bool": "o", "bin": "b", "variant": "v"}
AGGREGATES = [f for f in FUNCTIONS.values() if f.kind is FunctionKind.AGGREGATE and f.refusal is None]


@pytest.mark.parametrize("name", [function.name for function in AGGREGATES])
def test_an_aggregate_is_one_for_incremental_rules(name: str) -> None:
    function = FUNCTIONS[name]
    given = [OF_WORD[word] for word in function.takes[: max(function.min_args, 1)]]
    if name in ("MAX_BY", "MIN_BY", "ARRAY_UNION_AGG"):
        given = ["a", *given[1:]]
    if name.startswith("PERCENTILE_"):
        given = ["0.5"]
    texts = [f"{name}({', '.join(given)}){behind}" for behind in ("", " WITHIN GROUP (ORDER BY i)")]
    for text in texts:
        try:
            bound = QueryBinder(ENVIRONMENT).bind(parse_snowflake(f"SELECT {text} AS c FROM t GROUP BY ROLLUP (i)"))
        except SnowmeltError:
            continue
        assert list(aggregates_in(bound.tree.expressions[0])), bound.tree.sql()
        return
    pytest.fail(f"{texts} can't be bound")
