"""`python -m snowmelt.engine.training`: makes the archive of Spark's classes, see `archive`.

It starts a small Spark and does with it what servers do most, so that the classes for that are in the archive.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from pyspark.sql import SparkSession

from snowmelt.core.errors import SnowmeltError
from snowmelt.engine import jvm
from snowmelt.engine.archive import make_archive
from snowmelt.engine.arrow import to_arrow
from snowmelt.engine.session import CHANGES, LIGHT, TINY, choose_pool, sibling, start

_DUMP_SECONDS = 900.0
_QUERIES = (
    "SELECT COUNT(*) AS N FROM given",
    "SELECT NAME, SUM(ID) AS TOTAL, MAX(AT) AS LATEST FROM given GROUP BY NAME ORDER BY 2 DESC LIMIT 5",
    "SELECT a.ID, b.NAME FROM given a LEFT JOIN given b ON a.ID = b.ID WHERE a.NAME LIKE '%1' OR b.PRICE > 1.5",
    "SELECT *, ROW_NUMBER() OVER (PARTITION BY NAME ORDER BY ID) AS PLACE FROM given",
)


def train(settings: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="snowmelt-training-") as folder:
        session = start({**settings, "spark.master": "local[2]", "spark.driver.memory": "1g"}, Path(folder))
        _work(session, Path(folder))
        session.stop()
        jvm.end(_DUMP_SECONDS)


def _work(session: SparkSession, folder: Path) -> None:
    rows = session.range(1000).selectExpr(
        "id AS ID", "CONCAT('name ', id % 10) AS NAME", "CAST(id AS DECIMAL(12, 2)) AS PRICE",
        "TIMESTAMP_SECONDS(id) AS AT",
    )  # fmt: skip
    rows.write.format("delta").option("userMetadata", "training").save(str(folder / "delta"))
    rows.coalesce(1).write.parquet(str(folder / "files"))
    for lane in (LIGHT, TINY, CHANGES, {}):
        beside = sibling(session, lane)
        choose_pool(beside, None)
        beside.read.schema(rows.schema).parquet(str(folder / "files")).createOrReplaceTempView("given")
        for query in _QUERIES:
            to_arrow(beside.sql(query))


def main() -> int:
    # So that Java's process, which ends when this one does, and the draft go when the server is stopped.
    signal.signal(signal.SIGTERM, _exit)
    try:
        return 0 if make_archive(train) else 1
    except SnowmeltError as error:
        print(f"snowmelt: {error.message} {error.hint or ''}", file=sys.stderr)
        return 1


def _exit(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(1)


if __name__ == "__main__":
    sys.exit(main())
