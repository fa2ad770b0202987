"""Reads tables of a catalog by Spark with Iceberg's own runtime, in a process of its own."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from tests.extract_load.iceberg_spark import rows, shown


def main(jar: str, catalog: str, *tables: str) -> None:
    """Prints the rows of each table. `catalog`: its properties, as JSON."""
    building = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.catalog.c", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.c.type", "rest")
    )
    for name, value in json.loads(catalog).items():
        building = building.config(f"spark.sql.catalog.c.{name}", value)
    spark = building.getOrCreate()
    for table in tables:
        found = rows(spark.table(f"c.{table}"))
        print("ROWS", json.dumps([{name: shown(value) for name, value in row.items()} for row in found]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
