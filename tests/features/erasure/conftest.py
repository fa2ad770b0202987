"""An account of one test, which shares the Spark of all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.conftest import SPARK


@pytest.fixture
def account(shared_account: Account, tmp_path: Path) -> Iterator[Account]:
    # It keeps Spark up between the tests.
    shared_account.engine.session()
    with open_account(tmp_path, settings=Settings(spark=SPARK)) as opened:
        yield opened


@pytest.fixture
def session(account: Account) -> Session:
    return account.session()
