"""Snowmelt measured beside plain PySpark and Delta: `python -m benchmarks --help`."""
