"""Where a row was born: the file it was first written to, and its position in it.

Rewriting a file moves rows that nobody changed. In tables whose changes are tracked, files that we rewrite carry the
birthplace of every row in two columns that are not in the table's schema, so that no reader by schema sees them. In a
file without these columns every row was born there.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ORIGIN_FILE = "_snowmelt_origin_file"
ORIGIN_ROW = "_snowmelt_origin_row"
ORIGINS = (ORIGIN_FILE, ORIGIN_ROW)
KEPT_TAG = "snowmelt.origins"
"""On a file in the log, whose rows were moved there and have kept their birthplaces."""
_FILE_TYPE = pa.dictionary(pa.int32(), pa.string())


def with_origins(rows: pa.Table, file: str, known: pa.Table | None = None) -> pa.Table:
    """The rows of a file with their birthplaces: `known`, or else that very file."""
    if known is None:
        known = born_in(file, rows.num_rows)
    for name in ORIGINS:
        rows = rows.append_column(name, known.column(name))
    return rows


def born_in(file: str, count: int, first: int = 0) -> pa.Table:
    """The birthplaces of rows that stand in that file from a position on."""
    codes = pa.repeat(pa.scalar(0, pa.int32()), count)
    files = pa.DictionaryArray.from_arrays(codes, pa.array([file], pa.string()))
    return pa.table({ORIGIN_FILE: files, ORIGIN_ROW: _following(first, count)})


def _following(first: int, count: int) -> pa.Array:
    return pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), count), start=first - 1)


def kept_origins(opened: pq.ParquetFile) -> pa.Table | None:
    """The birthplaces that a file carries; None when its rows were born in it."""
    return as_origins(opened.read(list(ORIGINS))) if carries_origins(opened) else None


def carries_origins(opened: pq.ParquetFile) -> bool:
    return ORIGIN_ROW in opened.schema_arrow.names


def as_origins(found: pa.Table) -> pa.Table:
    """Birthplaces as they were read from a file, in the types that they have here."""
    files = found.column(ORIGIN_FILE)
    if not pa.types.is_dictionary(files.type):
        files = files.dictionary_encode()
    return pa.table({ORIGIN_FILE: files.cast(_FILE_TYPE), ORIGIN_ROW: found.column(ORIGIN_ROW).cast(pa.int64())})


def one_dictionary(rows: pa.Table) -> pa.Table:
    """The rows with one dictionary of files for all of them, which makes them small on disk."""
    if ORIGIN_FILE not in rows.column_names:
        return rows
    index = rows.schema.get_field_index(ORIGIN_FILE)
    return rows.set_column(index, ORIGIN_FILE, rows.column(ORIGIN_FILE).unify_dictionaries())
