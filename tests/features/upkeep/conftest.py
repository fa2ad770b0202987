"""An account of one test, without Spark, whose clock stands still until the test moves it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def account(tmp_path: Path, clock: ManualClock) -> Iterator[Account]:
    with open_account(tmp_path, clock=clock) as opened:
        yield opened


@pytest.fixture
def session(account: Account) -> Session:
    return account.session()
