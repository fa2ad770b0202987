from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.table import DeltaStore
from tests.storage.support import COLUMNS, SMALL, TAG


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DeltaStore]:
    opened = DeltaStore(StorageRoot(str(tmp_path / "tables")))
    yield opened
    opened.close()


@pytest.fixture
def location(store: DeltaStore) -> str:
    """A table with the columns ID and NAME, change feed on, at version 0."""
    created = store.root.new_location("SHOP", "PUBLIC", "ORDERS")
    assert store.create(created, SMALL, change_feed=True, tag=TAG) == 0
    return created


@pytest.fixture
def wide(store: DeltaStore) -> str:
    """A table with a column of every awkward type."""
    created = store.root.new_location("SHOP", "PUBLIC", "WIDE")
    store.create(created, COLUMNS, change_feed=True, tag=TAG)
    return created
