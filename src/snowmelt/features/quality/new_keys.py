"""UNIQUE: how many of the rows that came have a key that another row has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from snowmelt.core.types import Kind
from snowmelt.features.quality.looked_at import CAME, WrittenTable, came
from snowmelt.features.quality.runs import derived, fetched
from snowmelt.sql.dialect import identifier, spark
from snowmelt.state.quality_model import QualityCheck
from snowmelt.storage.columns import readable_path
from snowmelt.storage.feed import CHANGE_TYPE
from snowmelt.storage.key_filters import KeyFilters, SoughtKeys
from snowmelt.storage.probe import Among, find_rows
from snowmelt.storage.snapshot import FileList

_LOOKED_UP = 1_000_000
"""With more new keys than that, they are joined with the whole key column."""
_READ = 4_000_000
"""Up to so many changed rows, keys are read in this process; many of these rows may have kept their key."""
_DISTINCT = 10_000_000
"""Up to so many rows in all, the distinct values of a column are counted in this process."""
_FILTERED = 10_000
"""With more than that, hardly a file has none of them."""
_NOT_SEARCHED = frozenset({Kind.FLOAT, Kind.TIMESTAMP_TZ, Kind.TIME})
_COUNT, _ALL, _NEW, _REST = "__n", "__all", "__new", "__rest"


def searchable(written: WrittenTable, check: QualityCheck, rows: int | None, most: int = _READ) -> bool:
    """Whether the keys of so many rows, as far as it is known how many, are looked up rather than joined."""
    types = {column.name: column.type for column in written.definition.columns}
    if any(types[name].kind in _NOT_SEARCHED or types[name].has_key for name in check.columns):
        return False
    return written.local and rows is not None and rows <= most


def rows_with_keys(
    filters: KeyFilters, files: FileList, columns: Sequence[str], keys: pa.Table
) -> pa.Table | None:  # fmt: skip
    """The rows of a table that may have one of the keys, found by statistics, filters of keys and few columns.

    None if they are too many.
    """
    schema = files.metadata.arrow_schema
    stored = keys.select(list(columns)).cast(pa.schema([schema.field(name) for name in columns]))
    complete = stored.filter(pc.invert(_incomplete(stored)))
    conditions = [Among.of(name, stored.column(name)) for name in columns]
    sought = SoughtKeys.of(filters, complete) if 0 < complete.num_rows <= _FILTERED else None
    return find_rows(files, conditions, list(columns), 4 * _LOOKED_UP, sought)


def _incomplete(keys: pa.Table) -> pa.ChunkedArray:
    """Whether a part of the key is NULL: such a key equals no other."""
    found = keys.column(0).is_null()
    for column in keys.columns[1:]:
        found = pc.or_(found, column.is_null())
    return found


class NewKeys:
    """The keys that a write brought, beside those that the table has without it."""

    def __init__(self, written: WrittenTable) -> None:
        self.written = written

    def repeated(self, check: QualityCheck) -> int:
        """The rows that came beyond the first of their key, or with a key that was there."""
        rows = self.written.most_came
        if self.written.is_whole and len(check.columns) == 1 and searchable(self.written, check, rows, _DISTINCT):
            return self._not_distinct(check.columns[0])
        if searchable(self.written, check, rows):
            found = self._looked_up(check)
            if found is not None:
                return found
        return self._counted(check)

    def _not_distinct(self, column: str) -> int:
        """How many rows, of all there are, have a value that an earlier row has."""
        schema = self.written.after.metadata.arrow_schema
        parts = [_columns_in(readable_path(file.uri), [column], schema) for file in self.written.added]
        chunks = [chunk for part in parts for chunk in part.column(0).chunks]
        values = pa.chunked_array(chunks, schema.field(column).type).drop_null()
        if not pa.types.is_integer(values.type):
            return len(values) - len(pc.unique(values))
        # Several times faster than a table of hashes.
        ordered = np.sort(values.to_numpy())
        return int(np.count_nonzero(ordered[1:] == ordered[:-1]))

    @property
    def _rest(self) -> FileList:
        """Where the other rows are; where they are in the same files as those that came, together with them."""
        return self.written.after if self.written.images else self.written.stayed

    def _looked_up(self, check: QualityCheck) -> int | None:
        """Without Spark. None when there are too many keys, or too many rows of the table that have them."""
        new = self._brought(check)
        columns = list(check.columns)
        total = int(pc.sum(new.column(_COUNT)).as_py() or 0)
        if not total or not self._rest.by_path:
            return total - int(new.num_rows)
        if new.num_rows > _LOOKED_UP:
            return None
        found = rows_with_keys(self.written.run.account.key_filters, self._rest, columns, new)
        if found is None:
            return None
        there = found.group_by(columns).aggregate([([], "count_all")])
        both = new.join(there, columns, join_type="left outer")
        own = both.column(_COUNT) if self.written.images else pa.scalar(0)
        alone = pc.less_equal(both.column("count_all").fill_null(0), own)
        return total - int(pc.sum(alone).as_py() or 0)

    def _brought(self, check: QualityCheck) -> pa.Table:
        """The new keys, read from the files that the write made: few columns of not too many rows."""
        columns = list(check.columns)
        schema = self._rest.metadata.arrow_schema
        parts = [self._keys_in(readable_path(uri), columns, schema) for uri in self._files]
        rows = pa.concat_tables(parts)
        rows = rows.filter(pc.invert(_incomplete(rows)))
        counted = rows.group_by(columns).aggregate([(_COUNT, "sum")]).rename_columns([*columns, _COUNT])
        return counted.filter(pc.greater(counted.column(_COUNT), 0))

    @property
    def _files(self) -> Sequence[str]:
        return self.written.images or [file.uri for file in self.written.added]

    def _keys_in(self, path: str, columns: Sequence[str], schema: pa.Schema) -> pa.Table:
        """Each row's key, and whether it came or went: 1 or -1."""
        keys = _columns_in(path, columns, schema)
        one = pa.scalar(1, pa.int64())
        if not self.written.images:
            return keys.append_column(_COUNT, pa.repeat(one, keys.num_rows))
        kinds = pq.read_table(path, columns=[CHANGE_TYPE]).column(0).cast(pa.string())
        return keys.append_column(_COUNT, pc.if_else(came(kinds), one, pc.negate(one)))

    def _new(self, check: QualityCheck) -> exp.Select:
        """Each key that the write brought, and how often. A row that keeps its key brings none."""
        if not self.written.images:
            return self._grouped(self.written.came(), check, spark("count(1)"))
        net = spark("sum(if(_0, 1, -1))", CAME)
        return self._grouped(self.written.imaged(), check, net).having(spark("_0 > 0", net))

    def _grouped(self, rows: exp.Select, check: QualityCheck, count: exp.Expr) -> exp.Select:
        """Each key that is complete, and how many rows have it. A key with a NULL equals no other."""
        columns = [exp.column(identifier(name)) for name in check.columns]
        complete = exp.and_(*(spark("_0 is not null", column) for column in columns))
        query = exp.select(*columns, exp.alias_(count, _COUNT)).from_(derived(rows, _ALL)).where(complete)
        return query.group_by(*(column.copy() for column in columns))

    def _counted(self, check: QualityCheck) -> int:
        """Counts duplicates by reading the key columns of the whole table."""
        new = self._new(check)
        if not self._rest.by_path:
            total = spark("sum(_0 - 1)", exp.column(_COUNT))
            return self._number(exp.select(total).from_(derived(new, _NEW)))
        own, there = exp.column(_COUNT, table=_NEW), exp.column(_COUNT, table=_REST)
        alone = "coalesce(_1, 0) <= _0" if self.written.images else "_1 is null"
        total = spark(f"sum(_0 - if({alone}, 1, 0))", own, there)
        grouped = derived(self._grouped(self._in_question(check, new), check, spark("count(1)")), _REST)
        query = exp.select(total).from_(derived(new, _NEW))
        return self._number(query.join(grouped, on=_same_key(check), join_type="left"))

    def _in_question(self, check: QualityCheck, new: exp.Select) -> exp.Select:
        """The other rows that have a key that came. Those are few beside the table, so that it need not be sorted."""
        rest = exp.Table(
            this=identifier(self.written.view(self._rest.files, "rest")), alias=exp.TableAlias(this=identifier(_REST))
        )
        keys = exp.select(*(exp.column(identifier(name), table=_REST) for name in check.columns)).from_(rest)
        return keys.join(derived(new.copy(), _NEW), on=_same_key(check), join_type="left semi")

    def _number(self, query: exp.Select) -> int:
        found = fetched(self.written.run, query)
        return int(found.column(0)[0].as_py() or 0)


def _columns_in(path: str, columns: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Columns of a file as the table has them; one that is younger than the file is NULL."""
    with pq.ParquetFile(path) as opened:
        there = set(opened.schema_arrow.names)
        rows = opened.read([name for name in columns if name in there])
        count = opened.metadata.num_rows
    arrays = [
        rows.column(name).cast(schema.field(name).type) if name in there else pa.nulls(count, schema.field(name).type)
        for name in columns
    ]
    return pa.table(arrays, names=list(columns))


def _same_key(check: QualityCheck) -> exp.Expr:
    return exp.and_(
        *(
            exp.EQ(this=exp.column(identifier(name), table=_NEW), expression=exp.column(identifier(name), table=_REST))
            for name in check.columns
        )
    )
