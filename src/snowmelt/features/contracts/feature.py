"""Contracts: what a table promises to its readers."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.features.contracts.kind import KIND
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature

with lazy_imports():
    from snowmelt.features.contracts import attaching, views
    from snowmelt.features.contracts.enforcing import (
        check_change,
        check_replacement,
        refuse_if_promised,
        refuse_if_promised_within,
        replace,
        swap,
    )


def _begin(account: Account) -> None:
    account.services.offer(views, "PromisedViews")
    account.contracts = attaching
    lifecycle = account.lifecycle
    lifecycle.replacing.subscribe(check_replacement)
    lifecycle.replaced.subscribe(replace)
    lifecycle.columns_changing.subscribe(check_change)
    lifecycle.swapping.subscribe(swap)
    lifecycle.leaving.subscribe(refuse_if_promised)
    lifecycle.all_leaving.subscribe(refuse_if_promised_within)


FEATURE = Feature(
    "contracts",
    kinds=(KIND,),
    begin=_begin,
)
