"""Snowmelt: continuously refreshing data pipelines on your own Spark and Delta Lake."""

from snowmelt.service.dbapi import Connection, Cursor, Error, apilevel, connect, paramstyle, threadsafety

__all__ = ["Connection", "Cursor", "Error", "apilevel", "connect", "paramstyle", "threadsafety"]
__version__ = "0.1.0"
