"""Iceberg's metadata over the Parquet files of a Delta table. See docs/design/iceberg.md."""
