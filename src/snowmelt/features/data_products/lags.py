"""A data product is no fresher than its tables: their target lags must keep what it promises."""

from __future__ import annotations

from snowmelt.core import errors
from snowmelt.core.lag import show_lag
from snowmelt.core.names import ObjectName
from snowmelt.features.data_products.definitions import DATA_PRODUCT, DataProductDefinition
from snowmelt.features.data_products.describing import freshness_of
from snowmelt.state.model import RELATIONS, TableDefinition
from snowmelt.state.store import StateReader


def check_product(state: StateReader, product: DataProductDefinition) -> None:
    """Raises when a dynamic table of the product may be staler than it."""
    promised = freshness_of(state, product)
    if promised is None:
        return
    for name in product.objects:
        found = state.catalog.find(name, RELATIONS)
        table = found.definition if found is not None else None
        dynamic = table.dynamic if isinstance(table, TableDefinition) else None
        if dynamic is not None:
            _check(name, dynamic.target_lag, promised)


def check_table(state: StateReader, name: ObjectName, lag: int | None) -> None:
    """Raises when a data product promises the dynamic table to be fresher than its target lag."""
    for item in state.whole_catalog.objects([DATA_PRODUCT]):
        product = item.definition
        assert isinstance(product, DataProductDefinition)
        if name in product.objects:
            promised = freshness_of(state.seen_by(None), product)
            if promised is not None:
                _check(name, lag, promised)


def _check(name: ObjectName, lag: int | None, promised: int) -> None:
    if lag is not None and lag > promised:
        raise errors.SnowmeltError(
            "370016", "22023",
            f"The target lag of '{name}' is {show_lag(lag)}, and the product promises {show_lag(promised)}.",
            hint=f"ALTER DYNAMIC TABLE {name} SET TARGET_LAG = '{show_lag(promised)}', or promise less.",
        )  # fmt: skip
