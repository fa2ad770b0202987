"""The functions of SQL that the feature adds."""

from __future__ import annotations

from snowmelt.core import types
from snowmelt.features.data_products import pii
from snowmelt.runtime.feature import SqlFunctions
from snowmelt.runtime.system_functions import SystemFunction
from snowmelt.runtime.table_functions import TableFunction

FUNCTIONS = SqlFunctions(
    system={
        "SYSTEM$CLASSIFY": SystemFunction(1, 2, types.VARCHAR, pii.classify_table, only_called=True),
        "SYSTEM$PII_VIEW": SystemFunction(2, 3, types.VARCHAR, pii.view_text),
        "SYSTEM$SET_PII_CLASS": SystemFunction(3, 3, types.VARCHAR, pii.set_class, only_called=True),
        "SYSTEM$SET_PII_STRATEGY": SystemFunction(3, 3, types.VARCHAR, pii.set_strategy, only_called=True),
    },
    tables=(TableFunction("PII_COLUMNS", (), pii.COLUMNS, pii.all_columns, about="NAME"),),
)
