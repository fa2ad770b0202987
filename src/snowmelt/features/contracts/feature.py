"""Contracts: what a table promises to its readers."""

from __future__ import annotations

from snowmelt.features.contracts import attaching, enforcing
from snowmelt.features.contracts.kind import KIND
from snowmelt.features.contracts.views import PromisedViews
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature


def _begin(account: Account) -> None:
    account.services.add(PromisedViews())
    account.contracts = attaching
    lifecycle = account.lifecycle
    lifecycle.replacing.subscribe(enforcing.check_replacement)
    lifecycle.replaced.subscribe(enforcing.replace)
    lifecycle.columns_changing.subscribe(enforcing.check_change)
    lifecycle.swapping.subscribe(enforcing.swap)
    lifecycle.leaving.subscribe(enforcing.refuse_if_promised)
    lifecycle.all_leaving.subscribe(enforcing.refuse_if_promised_within)


FEATURE = Feature(
    "contracts",
    kinds=(KIND,),
    begin=_begin,
)
