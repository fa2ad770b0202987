"""Data products, and the treatment of personal data."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.data_products.kind import KIND
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.data_products import sql_functions
    from snowmelt.runtime.pii_at_ingest import column_renamed, copy_classes, keep_classes


def _begin(account: Account) -> None:
    account.lifecycle.replaced.subscribe(keep_classes)
    account.lifecycle.cloned.subscribe(copy_classes)
    account.lifecycle.column_renamed.subscribe(column_renamed)


FEATURE = Feature(
    "data_products",
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
    kinds=(KIND,),
)
