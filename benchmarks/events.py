"""The table of the small benchmarks: orders of a shop, a million at full scale."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from benchmarks.workbench import TableSpec

COLUMNS = {
    "id": "INTEGER",
    "customer": "INTEGER",
    "status": "VARCHAR",
    "amount": "NUMBER(12, 2)",
    "ordered": "DATE",
}
_FILES = 8


def events(
    name: str, rows: int, *, first: int = 0, files: int = _FILES, change_feed: bool = False, scattered: bool = False
) -> TableSpec:
    """Rows with ids from `first` on, the same on every run; scattered ones are any large numbers, in no order."""

    def frame(spark: SparkSession) -> DataFrame:
        ids = spark.range(first, first + rows, 1, files)
        return ids.selectExpr(
            "xxhash64(id, 4) AS id" if scattered else "id",
            "pmod(xxhash64(id), 50000) AS customer",
            "element_at(array('new', 'paid', 'sent', 'returned'), cast(pmod(xxhash64(id, 1), 4) + 1 AS int)) AS status",
            "cast(pmod(xxhash64(id, 2), 1000000) / 100 AS decimal(12, 2)) AS amount",
            "date_add(DATE '2024-01-01', cast(pmod(xxhash64(id, 3), 700) AS int)) AS ordered",
        )

    return TableSpec(name, COLUMNS, frame, change_feed=change_feed)


def empty(name: str) -> TableSpec:
    return events(name, 0, files=1)
