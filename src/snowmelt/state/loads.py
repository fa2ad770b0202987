"""Which files COPY INTO loaded into which table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, select

from snowmelt.state.model import FileLoad
from snowmelt.state.repository import Repository, chunks
from snowmelt.state.tables import FILE_LOADS

_LOADED = (
    select(FILE_LOADS.c.record)
    .where(
        FILE_LOADS.c.table_id == bindparam("of_table"),
        FILE_LOADS.c.file.in_(bindparam("files", expanding=True)),
    )
    .order_by(FILE_LOADS.c.loaded_at)
)


class Loads(Repository):
    def loaded(self, table_id: str, files: Collection[str]) -> dict[str, FileLoad]:
        """The latest load of each of these files into the table; files never considered are left out."""
        found: dict[str, FileLoad] = {}
        for part in chunks(list(files)):
            for record in self._execute(_LOADED, {"of_table": table_id, "files": part}).scalars():
                load = FileLoad.model_validate_json(record)
                found[load.file] = load
        return found

    def record(self, loads: Sequence[FileLoad]) -> None:
        """Add to the history. A file loaded again, at another instant, has several entries."""
        self._writing()
        self._upsert(
            FILE_LOADS,
            [
                {
                    "table_id": load.table_id,
                    "file": load.file,
                    "loaded_at": load.loaded_at,
                    "record": load.model_dump_json(),
                }
                for load in loads
            ],
        )

    def history(self, table_id: str, since: datetime | None = None) -> list[FileLoad]:
        """All loads into the table from that instant on, the oldest first."""
        query = (
            select(FILE_LOADS.c.record)
            .where(FILE_LOADS.c.table_id == table_id)
            .order_by(FILE_LOADS.c.loaded_at, FILE_LOADS.c.file)
        )
        if since is not None:
            query = query.where(FILE_LOADS.c.loaded_at >= since)
        return [FileLoad.model_validate_json(record) for record in self._execute(query).scalars()]

    def delete_for(self, table_id: str) -> None:
        """Forget all loads into a table, so that its files load again: TRUNCATE and a purged DROP do this."""
        self._writing()
        self._execute(delete(FILE_LOADS).where(FILE_LOADS.c.table_id == table_id))
