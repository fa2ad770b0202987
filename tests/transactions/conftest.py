"""Accounts without Spark: rows of literals are written, and tables read, without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.core.config import Settings
from snowmelt.service.account import Account


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Account]:
    """A fresh account of this test alone, in which Spark is not started."""
    with Account.open(tmp_path / "data", settings=Settings(lock_timeout_seconds=10)) as opened:
        yield opened
        assert not opened.engine.started.is_set(), "this test was to do without Spark"
