"""Accounts that never start Spark: what they tell of themselves must not need it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from tests.support.promtool import promtool

__all__ = ["promtool"]
START = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def opened(tmp_path: Path, clock: ManualClock) -> Iterator[Account]:
    with open_account(tmp_path / "data", settings=Settings(), clock=clock) as account:
        yield account
