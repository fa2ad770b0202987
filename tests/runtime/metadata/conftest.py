"""An account whose Spark never starts: metadata must not need it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


@pytest.fixture(scope="session")
def metadata_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    folder: Path = tmp_path_factory.mktemp("metadata")
    with open_account(folder, settings=Settings()) as opened:
        yield opened
        assert not opened.engine.started.is_set(), "a metadata statement started Spark"


@pytest.fixture
def meta(metadata_account: Account) -> Iterator[Session]:
    """A session in a fresh database."""
    opened = metadata_account.session()
    name = f"META_{opened.id}"
    opened.execute(f"CREATE DATABASE {name}")
    yield opened
    opened.close()
    with metadata_account.state.begin() as state:
        if state.catalog.database(name) is not None:
            state.catalog.drop_database(name, state.now)
