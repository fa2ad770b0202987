"""Runs of a flow into the account of a test, and what is there then, read by delta-rs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deltalake import DeltaTable

import snowmelt
from snowmelt.extract_load import (
    Batch,
    DeadLetterLoader,
    Extractor,
    Flow,
    FlowResult,
    RawLoader,
    Transformer,
    run_flow,
)
from snowmelt.storage.variant import decode


class CutOffError(Exception):
    """As if the process had been killed here."""


class CutOffLoader(RawLoader):
    """Ends before, or right behind, the commit of one batch."""

    cut_before: int | None = None
    cut_behind: int | None = None
    batches = 0

    def load(self, batch: Batch, loaded_at: str) -> int:
        self.batches += 1
        if self.batches == self.cut_before:
            raise CutOffError
        loaded = super().load(batch, loaded_at)
        if self.batches == self.cut_behind:
            raise CutOffError
        return loaded


def run(
    connection: snowmelt.Connection, extractor: Extractor, transformer: Transformer | None = None, *,
    cut_before: int | None = None, cut_behind: int | None = None,
) -> FlowResult:  # fmt: skip
    loader = CutOffLoader(connection, "raw", "flow", "run")
    loader.cut_before, loader.cut_behind = cut_before, cut_behind
    letters = DeadLetterLoader(connection, "letters", "flow", "run")
    try:
        return run_flow(Flow("flow", extractor, loader, transformer, letters))
    finally:
        letters.close()
        loader.close()


def rows(data: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _delta(data, table).to_pyarrow_table().to_pylist()
    return found


def records(data: Path, table: str = "raw") -> list[dict[str, Any]]:
    return [decode(row["RECORD"]["metadata"], row["RECORD"]["value"]) for row in rows(data, table)]


def version(data: Path, table: str = "raw") -> int:
    return _delta(data, table).version()


def _delta(data: Path, table: str) -> DeltaTable:
    (path,) = (data / "tables").glob(f"*/*/{table}-*")
    return DeltaTable(path)
