"""Reads tables by Spark with Iceberg's own runtime, in a process of its own, and prints their rows as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession


def main(jar: str, *addresses: str) -> None:
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    for address in addresses:
        table = spark.read.format("iceberg").load(address)
        print("ROWS", json.dumps([{name: shown(value) for name, value in row.items()} for row in rows(table)]))
    spark.stop()


def rows(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.toArrow().to_pylist()
    return found


def shown(value: Any) -> str | None:
    if value is None:
        return None
    return f"{value.timestamp():.6f}" if getattr(value, "tzinfo", None) is not None else str(value)


if __name__ == "__main__":
    main(*sys.argv[1:])
