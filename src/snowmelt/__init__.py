"""Snowmelt: continuously refreshing data pipelines on your own Spark and Delta Lake."""

from snowmelt.core.version import VERSION
from snowmelt.projects.columns import Window
from snowmelt.projects.functions import functions
from snowmelt.projects.python import dynamic_table, scd_table, view
from snowmelt.service.dbapi import Connection, Cursor, Error, apilevel, connect, paramstyle, threadsafety

__all__ = [
    "Connection", "Cursor", "Error", "Window", "apilevel", "connect", "dynamic_table", "functions", "paramstyle",
    "scd_table", "threadsafety", "view",
]  # fmt: skip
__version__ = VERSION
