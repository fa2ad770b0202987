from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from snowmelt.core.clock import ManualClock
from snowmelt.state.store import StateStore
from tests.support.postgres import empty_schema, postgres_url

__all__ = ["postgres_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state.db"
    return empty_schema(request.getfixturevalue("postgres_url"))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def store(store_url: str, clock: ManualClock) -> Iterator[StateStore]:
    opened = StateStore.open(store_url, clock)
    yield opened
    opened.close()
