"""DuckDB, which computes a query anew over the very files that Snowmelt's tables consist of."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from benchmarks.comparing import Row
from benchmarks.measuring import timed
from benchmarks.tpch.queries import query_text
from benchmarks.tpch.tables import TABLES
from benchmarks.workbench import Workbench

_MEMORY = "4GB"
"""More than it needs for these queries at scale factor 10; by itself it would take most of the machine's."""


class DuckDbAnew:
    """It is spared what a pipeline would need: asking the log which files are visible, and writing the result.

    Views of the files of each table's visible version are made before the clock starts. DuckDB has its own defaults,
    all cores among them, and keeps nothing of the files between queries but what the operating system does.
    """

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._connection = duckdb.connect(":memory:", config={"memory_limit": _MEMORY})
        self._pinned: dict[str, tuple[str, ...]] = {}
        self._found: dict[str, Sequence[Row]] = {}
        bench.at_close(self._connection.close)

    def update(self, name: str) -> float:
        """Computes the named query of TPC-H, and says in how many milliseconds."""
        self._pin()
        text = query_text(name, self._bench.scale)
        self._found[name], taken = timed(lambda _: self._connection.execute(text).fetchall(), 0)
        return taken

    def rows(self, name: str) -> Sequence[Row]:
        return self._found[name]

    def _pin(self) -> None:
        for table in TABLES:
            files = self._bench.snowmelt_files(table)
            if self._pinned.get(table) != files:
                self._connection.execute(f"CREATE OR REPLACE VIEW {table} AS SELECT * FROM read_parquet({list(files)})")
                self._pinned[table] = files
