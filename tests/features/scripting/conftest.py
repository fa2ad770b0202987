"""Accounts for scripts: none of these tests starts Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickSettings, Settings
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An account that trusts Python."""
    # A process that runs code has to start, and may import pandas, on a machine that does much else.
    quick = QuickSettings(seconds=300)
    settings = Settings(trust_python=True, spark={"spark.master": "local[1]"}, quick=quick)
    with open_account(tmp_path_factory.mktemp("trusting"), settings=settings) as account:
        yield account
        assert not account.engine.started.is_set(), "one of these tests started Spark"


@pytest.fixture
def script(trusting: Account) -> Iterator[Session]:
    """A session in a fresh schema."""
    session = trusting.session()
    session.execute(f"CREATE SCHEMA S_{session.id}")
    yield session
    session.close()


@pytest.fixture
def wary(tmp_path: Path) -> Iterator[Session]:
    """A session of an account with the default settings."""
    with open_account(tmp_path / "account") as account:
        yield account.session()
