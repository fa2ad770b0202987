"""Spark is kept up between the accounts that these tests open."""

from __future__ import annotations

import pytest

from snowmelt.runtime.account import Account


@pytest.fixture(scope="session")
def spark_stays_up(account: Account) -> None:
    account.engine.session()
