"""Running functions of users over real Spark DataFrames.

Each call has a Spark session of its own, so that what it sets or names there is nobody else's. Its result is a global
temporary view, which all sessions see.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors, types
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.types import DataType
from snowmelt.engine.model import FrameColumn, FrameView

with lazy_imports():
    from pyspark import sql
    from pyspark.sql import types as spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "global_temp"
SESSION = {"spark.sql.caseSensitive": "false"}
"""Names in a function may be written in any case, as everywhere in Spark and in Snowflake."""


class SparkTables:
    """What a function gets: `table(name)` gives the rows as of the refresh; all else is Spark's session."""

    def __init__(self, session: SparkSession, tables: Mapping[str, Callable[[], DataFrame]]) -> None:
        self.session = session
        self._tables = tables

    @property
    def read(self) -> SparkTables:
        """So that `spark.read.table(…)` reads as it does in PySpark."""
        return self

    def table(self, name: str) -> DataFrame:
        found = self._tables.get(name.upper()) or self._tables.get(name)
        if found is None:
            known = ", ".join(self._tables) or "nothing"
            raise errors.compilation(
                "002003", "42S02", f"The function asks for table '{name}', but its reads=[…] has {known}.",
                hint="Add it to reads=[…], or write its name as a constant in the call of table().",
            )  # fmt: skip
        return found()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)


def view_of(given: object, handler: str) -> FrameView:
    """The view of what a function returned. Raises unless that is a DataFrame with columns that a table can have."""
    if not isinstance(given, sql.DataFrame):
        raise errors.compilation(
            "391546", "42601", f"{handler} returned {type(given).__name__}; it must return a Spark DataFrame."
        )
    columns = tuple(_column(field) for field in given.schema.fields)
    name = f"frame_{uuid.uuid4().hex}"
    given.createGlobalTempView(name)
    return FrameView(name, columns)


def _column(field: spark_types.StructField) -> FrameColumn:
    match field.dataType:
        case spark_types.DecimalType() as decimal:
            return FrameColumn(field.name, types.number(decimal.precision, decimal.scale))
        case spark_types.ArrayType():
            return FrameColumn(field.name, types.ARRAY, nested=True)
        case spark_types.StructType() | spark_types.MapType():
            return FrameColumn(field.name, types.OBJECT, nested=True)
    found = _types().get(type(field.dataType))
    if found is None:
        raise errors.unsupported(
            f"column '{field.name}' of Spark's type {field.dataType.simpleString()}", hint="Cast it in the function."
        )
    return FrameColumn(field.name, found)


@cache
def _types() -> dict[type[spark_types.DataType], DataType]:
    return {
        spark_types.ByteType: types.INTEGER,
        spark_types.ShortType: types.INTEGER,
        spark_types.IntegerType: types.INTEGER,
        spark_types.LongType: types.INTEGER,
        spark_types.FloatType: types.FLOAT,
        spark_types.DoubleType: types.FLOAT,
        spark_types.StringType: types.VARCHAR,
        spark_types.BooleanType: types.BOOLEAN,
        spark_types.DateType: types.DATE,
        spark_types.TimestampType: types.TIMESTAMP_LTZ,
        spark_types.TimestampNTZType: types.TIMESTAMP_NTZ,
        spark_types.BinaryType: types.BINARY,
        spark_types.VariantType: types.VARIANT,
    }
