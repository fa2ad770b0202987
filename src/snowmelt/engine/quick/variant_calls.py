"""Functions of VARIANT that DuckDB calls back into this process for.

A VARIANT is its two parts there, the bytes that Spark has too: DuckDB's own VARIANT has other types of numbers. Each
function takes and gives Arrow's columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from snowmelt.core.lazy import lazy_imports
from snowmelt.core.portable_functions import PORTABLE, PREFIX, PortableFunction
from snowmelt.engine.quick import variant_values as values
from snowmelt.engine.quick.types import ENTRY, VARIANT, array_of
from snowmelt.engine.quick.variant_values import Uncertain, Variant
from snowmelt.storage import variant
from snowmelt.storage.schema import VARIANT as PARTS
from snowmelt.storage.variant_parts import elements_of, fields_of, find_at

with lazy_imports():
    import duckdb
    from duckdb import func

_STEP = re.compile(r"""\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\["([^"]*)"\]|\['([^']*)'\]""")
_ENTRIES = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", PARTS)]))


@dataclass(frozen=True, slots=True)
class Callback:
    """`compute` gets lists of Python values, where a VARIANT is a pair of bytes."""

    name: str
    parameters: tuple[str, ...]
    result: str
    arrow: pa.DataType
    compute: Callable[..., list[Any]]

    def register(self, connection: duckdb.DuckDBPyConnection) -> None:
        # DuckDB counts the parameters that a function names.
        def of_one(a: Any) -> Any:
            return self._column(a)

        def of_two(a: Any, b: Any) -> Any:
            return self._column(a, b)

        def of_three(a: Any, b: Any, c: Any) -> Any:
            return self._column(a, b, c)

        named: tuple[Callable[..., Any], ...] = (of_one, of_two, of_three)
        parameters: list[Any] = [duckdb.type(text) for text in self.parameters]
        connection.create_function(
            self.name, named[len(parameters) - 1], parameters, duckdb.type(self.result),
            type=func.ARROW, null_handling=func.SPECIAL,
        )  # fmt: skip

    def _column(self, *columns: Any) -> Any:
        return _column(self.compute(*map(_values, columns)), self.arrow)


def _values(column: Any) -> list[Any]:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_struct(whole.type) and {field.name for field in whole.type} == {"metadata", "value"}:
        return _pairs(whole)
    return [_plain(item) for item in whole.to_pylist()] if pa.types.is_nested(whole.type) else whole.to_pylist()


def _pairs(column: pa.StructArray) -> list[Variant | None]:
    metadata, content = column.field("metadata").to_pylist(), column.field("value").to_pylist()
    valid = column.is_valid().to_pylist() if column.null_count else [True] * len(metadata)
    return [(m, v) if there else None for m, v, there in zip(metadata, content, valid, strict=True)]


def _plain(item: Any) -> Any:
    """Values inside of a list, with VARIANTs as pairs."""
    if isinstance(item, list):
        return [_plain(part) for part in item]
    if isinstance(item, dict) and "metadata" in item:
        return item["metadata"], item["value"]
    return {key: _plain(part) for key, part in item.items()} if isinstance(item, dict) else item


def _column(found: list[Any], type_: pa.DataType) -> Any:
    if type_ == PARTS:
        parts = [pa.array([one and one[index] for one in found], pa.binary()) for index in (0, 1)]
        missing = pa.array([one is None for one in found], pa.bool_())
        loose = [pa.field("metadata", pa.binary()), pa.field("value", pa.binary())]
        return pa.StructArray.from_arrays(parts, fields=loose, mask=missing)
    return pa.array(found, type_)


def _each(compute: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Calls the function for each row; NULL gives NULL."""

    def each(first: list[Any], *more: list[Any]) -> list[Any]:
        return [None if row[0] is None else compute(*row) for row in zip(first, *more, strict=True)]

    return each


def _portable(function: PortableFunction) -> Callable[..., list[Any]]:
    """Its module is imported when it is first called."""

    def each(*columns: list[Any]) -> list[Any]:
        if function.of_columns:
            return function.compute_column(columns[0], columns[1][0]) if columns[0] else []
        return _each(function.compute)(*columns)

    return each


# -- paths ------------------------------------------------------------------------------------------------------------


@lru_cache(1024)
def steps(path: str) -> tuple[str | int, ...] | None:
    """The keys and positions of a path such as `$.a[0]["b c"]`; None if it is not written so."""
    found: list[str | int] = []
    position = 1
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            return None
        name, index, *quoted = step.groups()
        found.append(int(index) if index is not None else next(text for text in (name, *quoted) if text is not None))
        position = step.end()
    return tuple(found) if path.startswith("$") else None


def _get(given: Variant, path: str) -> Variant | None:
    wanted = steps(path)
    assert wanted is not None
    found = find_at(*given, wanted)
    return None if found is None else (given[0], found)


def _certain(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Without NULL for what is not castable: without `try_`, Spark has an error for that."""

    def certain(given: Variant, *more: Any) -> Any:
        found = compute(given, *more)
        if found is None and given[1][0]:
            raise Uncertain("a cast that fails")
        return found

    return certain


def _elements(given: Variant) -> list[dict[str, bytes]] | None:
    found = elements_of(given[1])
    return None if found is None else [{"metadata": given[0], "value": item} for item in found]


def _entries(given: Variant) -> list[dict[str, Any]] | None:
    found = fields_of(*given)
    if found is None:
        return None
    return [{"key": key, "value": {"metadata": given[0], "value": item}} for key, item in found]


def _decimal_text(given: Variant, precision: int, scale: int) -> str | None:
    found = values.decimal(given, precision, scale)
    return None if found is None else f"{found:f}"


def _is_null(column: list[Any]) -> list[bool]:
    return [given is not None and given[1][0] == 0 for given in column]


def _object(entries: Iterable[dict[str, Any]]) -> Variant:
    return values.object_([(entry["key"], entry["value"]) for entry in entries])


_VARIANT, _LIST, _MAP = VARIANT.duck, array_of(VARIANT).duck, array_of(ENTRY).duck
_OF_SCALARS = {
    "string": ("VARCHAR", pa.string()),
    "bigint": ("BIGINT", pa.int64()),
    "double": ("DOUBLE", pa.float64()),
    "boolean": ("BOOLEAN", pa.bool_()),
    "binary": ("BLOB", pa.binary()),
    "date": ("DATE", pa.date32()),
    "timestamp_ntz": ("TIMESTAMP", pa.timestamp("us")),
    "timestamp": ("TIMESTAMPTZ", pa.timestamp("us", "UTC")),
}
_MADE_OF = ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ")


MARK = "v_"
"""Begins the name of each of them."""


def _callbacks() -> list[Callback]:
    v, digits = (_VARIANT,), (_VARIANT, "INTEGER", "INTEGER")
    found = [
        Callback("v_get", (_VARIANT, "VARCHAR"), _VARIANT, PARTS, _each(_get)),
        Callback("v_json", v, "VARCHAR", pa.string(), _each(values.to_json)),
        Callback("v_kind", v, "VARCHAR", pa.string(), _each(values.kind)),
        Callback("v_schema", v, "VARCHAR", pa.string(), _each(values.schema)),
        Callback("v_is_null", v, "BOOLEAN", pa.bool_(), _is_null),
        Callback("v_parse", ("VARCHAR",), _VARIANT, PARTS, _each(values.parsed)),
        Callback("v_elements", v, _LIST, pa.list_(PARTS), _each(_elements)),
        Callback("v_entries", v, _MAP, _ENTRIES, _each(_entries)),
        Callback("v_array", (_LIST,), _VARIANT, PARTS, _each(values.array)),
        Callback("v_object", (_MAP,), _VARIANT, PARTS, _each(_object)),
        Callback("v_of_decimal", ("VARCHAR",), _VARIANT, PARTS, _each(lambda text: variant.encode(Decimal(text)))),
        Callback("v_try_decimal", digits, "VARCHAR", pa.string(), _each(_decimal_text)),
        Callback("v_decimal", digits, "VARCHAR", pa.string(), _each(_certain(_decimal_text))),
    ]
    for name, compute in values.SCALARS.items():
        result, arrow = _OF_SCALARS[name]
        found.append(Callback(f"v_try_{name}", v, result, arrow, _each(compute)))
        found.append(Callback(f"v_{name}", v, result, arrow, _each(_certain(compute))))
    for name, portable in PORTABLE.items():
        texts = ("VARCHAR",) * portable.arguments
        found.append(Callback(name.replace(PREFIX, MARK), texts, "VARCHAR", pa.string(), _portable(portable)))
    made = _each(variant.encode)
    return found + [Callback(f"v_of_{word.lower()}", (word,), _VARIANT, PARTS, made) for word in _MADE_OF]


def register_all(connection: duckdb.DuckDBPyConnection) -> None:
    for callback in _callbacks():
        callback.register(connection)
