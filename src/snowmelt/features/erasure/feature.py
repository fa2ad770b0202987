"""Forgetting a person: SYSTEM$FORGET_PERSON and what belongs to it."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.erasure import service, sql_functions


def _begin(account: Account) -> None:
    account.services.offer(service, "Forgetting", account)


FEATURE = Feature("erasure", functions=lambda: sql_functions.FUNCTIONS, begin=_begin)
