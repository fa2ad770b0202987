"""Data products, and the treatment of personal data."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.data_products import pii
from snowmelt.features.data_products.kind import KIND
from snowmelt.runtime import pii_at_ingest
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction


def _begin(account: Account) -> None:
    account.lifecycle.replaced.subscribe(pii_at_ingest.keep_classes)
    account.lifecycle.cloned.subscribe(pii_at_ingest.copy_classes)
    account.lifecycle.column_renamed.subscribe(pii_at_ingest.column_renamed)


FEATURE = Feature(
    "data_products",
    begin=_begin,
    kinds=(KIND,),
    system_functions={
        "SYSTEM$CLASSIFY": SystemFunction(1, 2, types.VARCHAR, pii.classify_table, only_called=True),
        "SYSTEM$PII_VIEW": SystemFunction(2, 3, types.VARCHAR, pii.view_text),
        "SYSTEM$SET_PII_CLASS": SystemFunction(3, 3, types.VARCHAR, pii.set_class, only_called=True),
        "SYSTEM$SET_PII_STRATEGY": SystemFunction(3, 3, types.VARCHAR, pii.set_strategy, only_called=True),
    },
    table_functions=(TableFunction("PII_COLUMNS", (), pii.COLUMNS, pii.all_columns, about="NAME"),),
)
