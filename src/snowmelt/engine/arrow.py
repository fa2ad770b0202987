"""Rows from Spark as Arrow, NULLs in VARIANT columns included.

PySpark's Arrow form of a VARIANT is a struct of two fields that are not nullable, and its own conversion then refuses
a column with a NULL in it. So such columns travel with JSON null in place of NULL, and a flag beside them that says
which is which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    from pyspark.sql import functions as f
    from pyspark.sql import types as spark_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VARIANT_FIELDS = [pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)]
_FLAG = "__is_null_"


def to_arrow(frame: DataFrame) -> pa.Table:
    """All rows; a VARIANT column is struct<metadata, value>, NULL where it is."""
    variants = [
        index for index, field in enumerate(frame.schema.fields) if isinstance(field.dataType, spark_types.VariantType)
    ]
    if not variants:
        return frame.toArrow()
    names = frame.columns
    # Results may name two columns alike: by place they are unique.
    plain = frame.toDF(*[f"c{index}" for index in range(len(names))])
    values = [
        f.coalesce(f.col(f"c{index}"), f.parse_json(f.lit("null"))).alias(f"c{index}")
        if index in variants
        else f.col(f"c{index}")
        for index in range(len(names))
    ]
    flags = [f.col(f"c{index}").isNull().alias(f"{_FLAG}{index}") for index in variants]
    data = plain.select(*values, *flags).toArrow()
    for index in variants:
        column = pa.chunked_array(
            [
                _masked(*chunks)
                for chunks in zip(data.column(index).chunks, data.column(f"{_FLAG}{index}").chunks, strict=True)
            ],
            type=pa.struct(VARIANT_FIELDS),
        )
        data = data.set_column(index, f"c{index}", column)
    return data.select(list(range(len(names)))).rename_columns(names)


def _masked(values: pa.StructArray, nulls: pa.BooleanArray) -> pa.StructArray:
    parts = [values.field("metadata"), values.field("value")]
    return pa.StructArray.from_arrays(parts, fields=VARIANT_FIELDS, mask=nulls)
