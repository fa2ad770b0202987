"""Accounts without Spark: rows of literals are written, and tables read, without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Account]:
    """A fresh account of this test alone, in which Spark is not started."""
    with open_account(tmp_path / "data", settings=Settings(lock_timeout_seconds=120)) as opened:
        yield opened
        assert not opened.engine.started.is_set(), "this test was to do without Spark"
