"""Which version of every table is visible, and was at any instant."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import and_, bindparam, delete, func, insert, literal_column, not_, select, update

from snowmelt.core import errors
from snowmelt.state.model import NO_ROWS, TableVersion
from snowmelt.state.prepared import Prepared, Record
from snowmelt.state.repository import AnyRow, Repository, chunks
from snowmelt.state.tables import TABLE_VERSIONS, UNDONE_RANGES

MOVED = "OPTIMIZE"
"""The operation of a version in which rows are only in other files than before."""
_C = TABLE_VERSIONS.c
_VERSIONS = select(
    _C.table_id,
    _C.version,
    _C.committed_at,
    _C.transaction_id,
    _C.query_id,
    _C.operation,
    _C.row_count,
    _C.byte_count,
    _C.is_foreign,
)
_OF_TABLE = _VERSIONS.where(_C.table_id == bindparam("table_id"))
_NEWEST_FIRST = _OF_TABLE.order_by(_C.version.desc())
_VISIBLE = Prepared(_OF_TABLE.where(_C.superseded_by.is_(None)))
# In the words of the partial index: SQLite uses it for no others.
_FOREIGN = select(_C.version).where(_C.table_id == bindparam("table_id"), literal_column("is_foreign"))
_SNAPSHOT = Prepared(
    _VERSIONS.where(_C.table_id.in_(bindparam("table_ids", expanding=True)), _C.superseded_by.is_(None))
)
_OLDEST = Prepared(select(func.min(_C.version)).where(_C.table_id == bindparam("table_id")))
_OLDEST_OF = Prepared(
    select(_C.table_id, func.min(_C.version))
    .where(_C.table_id.in_(bindparam("table_ids", expanding=True)))
    .group_by(_C.table_id)
)
_NOT_MOVED = Prepared(
    select(_C.version)
    .where(
        _C.table_id == bindparam("table_id"),
        _C.version > bindparam("after"),
        _C.version <= bindparam("upto"),
        _C.operation != MOVED,
    )
    .limit(1)
)
# The same order, as versions and instants rise together; but an index leads straight to an old instant.
_LATEST_FIRST = _OF_TABLE.order_by(_C.committed_at.desc(), _C.version.desc())
_AS_OF = Prepared(_LATEST_FIRST.where(_C.committed_at <= bindparam("at")).limit(1))
_EARLIER_THAN = Prepared(_LATEST_FIRST.where(_C.committed_at < bindparam("at")).limit(1))
_LOWER_THAN = Prepared(_NEWEST_FIRST.where(_C.version < bindparam("version")).limit(1))
_OF_QUERY = _VERSIONS.where(_C.query_id == bindparam("query_id")).order_by(_C.table_id, _C.version)
_FIRST_OF_QUERY = select(func.min(_C.version)).where(
    _C.query_id == bindparam("query_id"), _C.table_id == bindparam("table_id")
)
_INSTANT_OF_QUERY = select(func.min(_C.committed_at)).where(_C.query_id == bindparam("query_id"))
_NEWEST_INSTANT = Prepared(select(func.max(_C.committed_at)))
_SUPERSEDE = Prepared(
    update(TABLE_VERSIONS)
    .where(_C.table_id == bindparam("table"), _C.superseded_by.is_(None))
    .values(superseded_by=bindparam("next"))
)
_INSERT = Prepared(insert(TABLE_VERSIONS))
_UNDONE = Prepared(
    select(UNDONE_RANGES.c.first_version, UNDONE_RANGES.c.last_version).where(
        UNDONE_RANGES.c.table_id == bindparam("table_id"),
        UNDONE_RANGES.c.last_version > bindparam("after"),
        UNDONE_RANGES.c.first_version <= bindparam("upto"),
    )
)


class Versions(Repository):
    """The visible versions of each table, with increasing version and never decreasing instant."""

    def visible(self, table_id: str) -> TableVersion | None:
        """The newest version."""
        return self._first(_VISIBLE, {"table_id": table_id})

    def snapshot(self, table_ids: Collection[str]) -> dict[str, TableVersion]:
        """The newest version of each of these tables; a table without any is left out."""
        found: dict[str, TableVersion] = {}
        for part in chunks(list(table_ids)):
            for row in self._rows(_SNAPSHOT, {"table_ids": part}):
                found[row[0]] = _version(row)
        return found

    def as_of(self, table_id: str, at: datetime) -> TableVersion | None:
        """The version that was visible at that instant: the newest one committed then or before."""
        return self._first(_AS_OF, {"table_id": table_id, "at": at})

    def newest_instant(self) -> datetime | None:
        """When the newest version of all tables became visible: what is committed from now on has a later instant."""
        found: datetime | None = self._value(_NEWEST_INSTANT, {})
        return found

    def upto(self, table_id: str, version: int) -> TableVersion | None:
        """The newest version that is not newer than that Delta version."""
        return self._first(_LOWER_THAN, {"table_id": table_id, "version": version + 1})

    def before_query(self, table_id: str, query_id: str) -> TableVersion | None:
        """The version that was visible just before the query's first commit, to this table or to another.

        None when there was none yet, and when the query committed nothing (`of_query` is empty): then the
        instant the query ran decides, which query history knows.
        """
        first = self._execute(_FIRST_OF_QUERY, {"table_id": table_id, "query_id": query_id}).scalar()
        if first is not None:
            return self._first(_LOWER_THAN, {"table_id": table_id, "version": first})
        instant = self._execute(_INSTANT_OF_QUERY, {"query_id": query_id}).scalar()
        if instant is None:
            return None
        return self._first(_EARLIER_THAN, {"table_id": table_id, "at": instant})

    def of_query(self, query_id: str) -> list[TableVersion]:
        """What the query made visible, by table and version."""
        return [_version(row) for row in self._execute(_OF_QUERY, {"query_id": query_id})]

    def history(self, table_id: str) -> list[TableVersion]:
        """All versions, the oldest first."""
        rows = self._execute(_OF_TABLE.order_by(_C.version), {"table_id": table_id})
        return [_version(row) for row in rows]

    def newest(self, table_id: str, count: int) -> list[TableVersion]:
        """The newest versions, at most `count`, the newest first."""
        return [_version(row) for row in self._execute(_NEWEST_FIRST.limit(count), {"table_id": table_id})]

    def newest_data(self, table_id: str, count: int) -> list[TableVersion]:
        """The newest versions that changed rows, at most `count`, the newest first."""
        empty = and_(_C.operation == "CREATE TABLE", _C.row_count == 0)
        query = _NEWEST_FIRST.where(_C.operation.not_in(NO_ROWS), not_(empty)).limit(count)
        return [_version(row) for row in self._execute(query, {"table_id": table_id})]

    def foreign_since(self, table_id: str, version: int) -> bool:
        """Whether another tool wrote the table after that version."""
        query = _FOREIGN.where(_C.version > version).limit(1)
        return self._execute(query, {"table_id": table_id}).first() is not None

    def flip(self, version: TableVersion) -> None:
        """Make a version the visible one: greater than the present one, and committed no earlier."""
        self._writing()
        current = self.visible(version.table_id)
        if current is not None:
            if version.version <= current.version or version.committed_at < current.committed_at:
                raise errors.internal(
                    f"version {version.version} ({version.committed_at}) of table {version.table_id} cannot "
                    f"follow version {current.version} ({current.committed_at})."
                )
            _SUPERSEDE.write(self._scope, {"table": version.table_id, "next": version.version})
        _INSERT.write(
            self._scope,
            {
                "table_id": version.table_id,
                "version": version.version,
                "committed_at": version.committed_at,
                "transaction_id": version.transaction_id,
                "query_id": version.query_id,
                "operation": version.operation,
                "row_count": version.rows,
                "byte_count": version.bytes,
                "is_foreign": version.foreign,
                "superseded_by": None,
            },
        )

    def mark_undone(self, table_id: str, first: int, last: int) -> None:
        """Note that the Delta versions from `first` to `last`, the restoring commit included, cancel out."""
        self._writing()
        if first > last:
            raise errors.internal(f"an undone range of table {table_id} ends before it starts: {first}..{last}.")
        self._upsert(UNDONE_RANGES, [{"table_id": table_id, "first_version": first, "last_version": last}])

    def change_ranges(self, table_id: str, after: int, upto: int) -> list[tuple[int, int]]:
        """The inclusive ranges of Delta versions in (after, upto] that count: those not undone, ascending."""
        rows = self._rows(_UNDONE, {"table_id": table_id, "after": after, "upto": upto})
        return subtract_ranges(after + 1, upto, [(first, last) for first, last in rows])

    def only_moved(self, table_id: str, after: int, upto: int) -> bool:
        """Whether rows were only moved between files after that version, up to another one: no row changed.

        False when some of those versions were forgotten: what they changed is not known.
        """
        if after > upto or self._rows(_NOT_MOVED, {"table_id": table_id, "after": after, "upto": upto}):
            return False
        return not self.forgotten(table_id, after)

    def oldest(self, table_id: str) -> int | None:
        """The oldest version that is known."""
        found: int | None = self._value(_OLDEST, {"table_id": table_id})
        return found

    def oldest_of(self, table_ids: Collection[str]) -> dict[str, int]:
        """The oldest version of each table; a table without versions is left out."""
        found: dict[str, int] = {}
        for part in chunks(list(table_ids)):
            found.update((id, version) for id, version in self._rows(_OLDEST_OF, {"table_ids": part}))
        return found

    def forgotten(self, table_id: str, version: int) -> bool:
        """Whether that version, and what came right after it, is beyond what is kept."""
        oldest = self.oldest(table_id)
        return oldest is not None and oldest > version

    def undone_since(self, table_id: str, version: int) -> bool:
        """Whether commits after that version were taken back."""
        query = select(UNDONE_RANGES.c.first_version).where(
            UNDONE_RANGES.c.table_id == table_id, UNDONE_RANGES.c.last_version > version
        )
        return self._execute(query.limit(1)).first() is not None

    def forget_before(self, table_id: str, version: int, most: int) -> int:
        """Forget what came before that version, the oldest first, at most so many; returns how many."""
        self._writing()
        gone = select(_C.version).where(_C.table_id == table_id, _C.version < version, _C.superseded_by <= version)
        oldest = gone.order_by(_C.version).limit(most).subquery()
        count = self._execute(
            delete(TABLE_VERSIONS).where(_C.table_id == table_id, _C.version.in_(select(oldest.c.version)))
        ).rowcount
        ranges = UNDONE_RANGES.c
        self._execute(delete(UNDONE_RANGES).where(ranges.table_id == table_id, ranges.last_version <= version))
        return count

    def delete_for(self, table_id: str) -> None:
        """Forget all versions of a table, and its undone ranges."""
        self._writing()
        self._execute(delete(TABLE_VERSIONS).where(_C.table_id == table_id))
        self._execute(delete(UNDONE_RANGES).where(UNDONE_RANGES.c.table_id == table_id))

    def _first(self, query: Prepared, values: dict[str, object]) -> TableVersion | None:
        row = self._row(query, values)
        return None if row is None else _version(row)


def subtract_ranges(first: int, last: int, removed: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of [first, last] without the removed ranges, which may overlap; maximal and inclusive."""
    left: list[tuple[int, int]] = []
    for start, end in sorted(removed):
        if start > last:
            break
        if first < start:
            left.append((first, start - 1))
        first = max(first, end + 1)
    if first <= last:
        left.append((first, last))
    return left


def _version(row: Record | AnyRow) -> TableVersion:
    table_id, version, committed_at, transaction_id, query_id, operation, rows, byte_count, foreign = row
    return TableVersion.model_construct(
        table_id=table_id,
        version=version,
        committed_at=committed_at,
        transaction_id=transaction_id,
        query_id=query_id,
        operation=operation,
        rows=rows,
        bytes=byte_count,
        foreign=foreign,
    )
