"""The net change of every row: one deletion, one insertion, both, or nothing.

A row is known by its birthplace. What was there before is the first image of a row when that is one that went; what is
there now is the last one when that came. Where somebody rewrote files without keeping birthplaces, rows are known by
what they hold: an insertion and a deletion of equal rows are the same row, going on under another birthplace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snowmelt.storage.change_files import ORDER, SIGN, ChangedRows
from snowmelt.storage.origins import ORIGIN_FILE, ORIGIN_ROW, ORIGINS

UPDATE = "__update"
"""Whether the row is one half of an update."""
_KEY = "__key"
_INDEX = "__index"
_ROWS_A_FILE = 1 << 40


def net_changes(changes: ChangedRows) -> pa.Table:
    """The rows with `__sign`, `__update` and birthplaces, in no particular order."""
    rows = _keyed(changes.rows)
    names = [name for name in rows.column_names if name not in (*ORIGINS, SIGN, ORDER, _KEY)]
    rows = _by_birthplace(rows, names)
    if not changes.identified:
        rows = _by_values(rows, names)
    return rows.drop_columns([_KEY])


def _keyed(rows: pa.Table) -> pa.Table:
    """With one number for each birthplace."""
    files = rows.column(ORIGIN_FILE).unify_dictionaries()
    codes = pa.chunked_array([chunk.indices for chunk in files.chunks], pa.int32()).cast(pa.int64())
    key = pc.add(pc.multiply(codes, pa.scalar(_ROWS_A_FILE, pa.int64())), rows.column(ORIGIN_ROW))
    return rows.append_column(_KEY, key)


def _by_birthplace(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    order = pc.sort_indices(rows.select([_KEY, ORDER]), sort_keys=[(_KEY, "ascending"), (ORDER, "ascending")])
    keys = rows.column(_KEY).take(order)
    came = pc.greater(rows.column(SIGN).take(order), 0)
    first, last = _borders(keys)
    before = pc.and_(first, pc.invert(came))
    after = pc.and_(last, came)
    old = rows.take(order.filter(before))
    new = rows.take(order.filter(after))
    # Both are in the order of their keys, and have each only once.
    old_keys, new_keys = old.column(_KEY).to_numpy(), new.column(_KEY).to_numpy()
    both = pa.array(np.isin(old_keys, new_keys, assume_unique=True))
    also = pa.array(np.isin(new_keys, old_keys, assume_unique=True))
    changed = pc.invert(same_rows(old.filter(both), new.filter(also), names))
    return pa.concat_tables(
        [
            _marked(old.filter(pc.invert(both)), update=False),
            _marked(new.filter(pc.invert(also)), update=False),
            _marked(old.filter(both).filter(changed), update=True),
            _marked(new.filter(also).filter(changed), update=True),
        ]
    )


def _borders(keys: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    """Which of sorted keys are the first, and which the last of their kind."""
    if len(keys) == 0:
        nothing = pa.array([], pa.bool_())
        return nothing, nothing
    values = keys.combine_chunks()
    differs = pc.not_equal(values.slice(1), values.slice(0, len(values) - 1))
    one = pa.array([True])
    return pa.concat_arrays([one, differs]), pa.concat_arrays([differs, one])


def _marked(rows: pa.Table, *, update: bool) -> pa.Table:
    return rows.drop_columns([ORDER]).append_column(UPDATE, pa.repeat(pa.scalar(update), rows.num_rows))


def same_rows(left: pa.Table, right: pa.Table, names: Sequence[str]) -> pa.Array:
    """Row by row, whether two tables hold the same; NULL is the same as NULL."""
    result = pa.repeat(pa.scalar(True), left.num_rows)
    for name in names:
        result = pc.and_(result, _same(left.column(name).combine_chunks(), right.column(name).combine_chunks()))
    return result


def _same(left: pa.Array, right: pa.Array) -> pa.Array:
    nulls = pc.and_(pc.is_null(left), pc.is_null(right))
    if pa.types.is_struct(left.type):
        equal = pc.and_(pc.is_valid(left), pc.is_valid(right))
        for index in range(left.type.num_fields):
            equal = pc.and_(equal, _same(pc.struct_field(left, [index]), pc.struct_field(right, [index])))
        return pc.or_(nulls, equal)
    equal = pc.fill_null(pc.equal(left, right), False)
    if pa.types.is_floating(left.type):
        equal = pc.or_(equal, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), False))
    return pc.or_(nulls, equal)


# -- by values --------------------------------------------------------------------------------------------------------


def _by_values(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Rows whose birthplace changed are followed by what they hold."""
    pairs = _equal_pairs(rows, names)
    if not pairs:
        return rows
    keys = rows.column(_KEY).to_pylist()
    signs = rows.column(SIGN).to_pylist()
    old = {keys[index]: index for index, sign in enumerate(signs) if sign < 0}
    new = {keys[index]: index for index, sign in enumerate(signs) if sign > 0}
    following = {keys[came]: keys[went] for came, went in pairs}
    led_to = set(following.values())
    gone = {index for pair in pairs for index in pair}
    renamed: dict[int, int] = {}
    """The place of a row's last image to that of an image with its first birthplace."""
    updates: dict[int, bool] = {}
    for head in following.keys() - led_to:
        tail = head
        while tail in following:
            tail = following[tail]
        before, after = old.get(head), new.get(tail)
        for index in (before, after):
            if index is not None:
                updates[index] = before is not None and after is not None
        if after is not None:
            renamed[after] = before if before is not None else new[head]
    return _rewritten(rows, gone, renamed, updates)


def _rewritten(
    rows: pa.Table, gone: set[int], renamed: dict[int, int], updates: dict[int, bool]
) -> pa.Table:  # fmt: skip
    count = rows.num_rows
    source = pa.array([renamed.get(index, index) for index in range(count)], pa.int64())
    flags = rows.column(UPDATE).to_pylist()
    for index, flag in updates.items():
        flags[index] = flag
    for name in (*ORIGINS, _KEY):
        rows = rows.set_column(rows.schema.get_field_index(name), name, rows.column(name).take(source))
    rows = rows.set_column(rows.schema.get_field_index(UPDATE), UPDATE, pa.array(flags, pa.bool_()))
    kept = [index for index in range(count) if index not in gone]
    return rows.take(pa.array(kept, pa.int64()))


def _equal_pairs(rows: pa.Table, names: Sequence[str]) -> list[tuple[int, int]]:
    """Places of an insertion and a deletion of rows that hold the same."""
    comparable = _flat(rows.select(list(names))).append_column(_INDEX, pa.array(range(rows.num_rows), pa.int64()))
    keys = [name for name in comparable.column_names if name != _INDEX]
    if not keys:
        return []
    comparable = comparable.append_column(SIGN, rows.column(SIGN))
    grouped = comparable.group_by(keys).aggregate([(_INDEX, "list"), (SIGN, "min"), (SIGN, "max")])
    mixed = grouped.filter(pc.not_equal(grouped.column(f"{SIGN}_min"), grouped.column(f"{SIGN}_max")))
    signs = rows.column(SIGN).to_pylist()
    pairs: list[tuple[int, int]] = []
    for indexes in mixed.column(f"{_INDEX}_list").to_pylist():
        came = [index for index in indexes if signs[index] > 0]
        went = [index for index in indexes if signs[index] < 0]
        pairs += zip(came, went, strict=False)
    return pairs


def _flat(rows: pa.Table) -> pa.Table:
    """VARIANT columns as the bytes they consist of, which can be grouped by."""
    while any(pa.types.is_struct(field.type) for field in rows.schema):
        rows = rows.flatten()
    return rows
