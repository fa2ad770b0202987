"""Parquet and CSV files in a folder, a bucket or on an SFTP server. A reader sees whole files, each row once.

Every batch is a file with the next number, and a manifest that nobody else reads has the number and the place. A run
that was cut off between the two writes the file of that number again. Two runs of one flow would both write it: a
claim lets one of them go on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.destinations.base import Loader, LoadStrategy, Staging, require_strategy
from snowmelt.extract_load.destinations.claims import Claim
from snowmelt.extract_load.destinations.typing import typed_table, with_inferred
from snowmelt.extract_load.drift import Field
from snowmelt.extract_load.records import Batch, Rows
from snowmelt.extract_load.stores.base import FileStore
from snowmelt.extract_load.stores.opening import open_store

_FORMATS = ("parquet", "csv")


class FilesLoader(Loader):
    """append: one file more for each batch. overwrite: one file, `<flow>.<format>`, which is replaced in one step."""

    def __init__(
        self, address: str | Path, table: str, flow: str, run_id: str, *, file_format: str = "parquet",
        strategy: LoadStrategy = LoadStrategy.APPEND, fields: Sequence[Field] = (),
        settings: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        require_strategy(strategy, (LoadStrategy.APPEND, LoadStrategy.OVERWRITE), "A folder of files")
        if file_format not in _FORMATS:
            raise errors.configuration(
                f"Files can't be written as {file_format}.", hint=f"Take {' or '.join(_FORMATS)}."
            )
        self.table, self.flow, self.run_id = table, flow, run_id
        self.file_format, self.strategy, self.fields = file_format, strategy, tuple(fields)
        self._store = open_store(address, settings)
        self._manifest = f"{table}/_snowmelt/{flow}.json"
        self._number, self._place = _read(self._store, self._manifest)
        self._staging = Staging(f"Folder {table}")
        self._claim = Claim(lambda: open_store(address, settings), f"{table}/_snowmelt/{flow}.lock", flow)

    def place(self) -> str | None:
        return self._place

    def load(self, batch: Batch, loaded_at: str) -> int:
        if batch.place == self._place:
            return 0
        self._take_turn()
        if self.strategy is LoadStrategy.OVERWRITE:
            return self._replace(batch, loaded_at)
        name = f"{self.table}/{self.flow}-{self._number + 1:08}.{self.file_format}"
        if len(batch.rows):
            self._write(batch.rows, name)
        else:
            # A run that was cut off may have left one, with what came then.
            self._store.remove(name)
        self._commit(batch.place, loaded_at, self._number + bool(len(batch.rows)))
        return len(batch.rows)

    def _take_turn(self) -> None:
        """Until the loader is closed. Raises when another run has it, or has gone on since this one began."""
        if not self._claim.hold(self._store):
            return
        read = _read(self._store, self._manifest)
        if read != (self._number, self._place):
            self._number, self._place = read
            raise SnowmeltError(
                "000625", "40001", f"Another run of {self.flow} loaded {self.table} at the same time.",
                hint="Run one at a time; this one goes on from where the other got.", transient=True,
            )  # fmt: skip

    def _replace(self, batch: Batch, loaded_at: str) -> int:
        rows = self._staging.taken(batch, whole=True)
        if rows is None:
            return 0
        self._write(rows, f"{self.table}/{self.flow}.{self.file_format}")
        self._commit(batch.place, loaded_at, self._number + 1)
        return len(rows)

    def _write(self, rows: Rows, name: str) -> None:
        table = typed_table(with_inferred(self.fields, rows), rows)
        with TemporaryDirectory(prefix="snowmelt-") as folder:
            draft = Path(folder) / "draft"
            if self.file_format == "parquet":
                pa.parquet.write_table(table, draft, compression="zstd")
            else:
                pa.csv.write_csv(table, draft)
            self._store.put(draft, name)

    def _commit(self, place: str, loaded_at: str, number: int) -> None:
        content = {"number": number, "place": place, "run_id": self.run_id, "loaded_at": loaded_at}
        self._store.put_text(json.dumps(content), self._manifest)
        self._number, self._place = number, place

    def close(self) -> None:
        self._claim.release(self._store)
        self._store.close()


def _read(store: FileStore, manifest: str) -> tuple[int, str | None]:
    try:
        with store.local(manifest) as path:
            content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0, None
    return int(content["number"]), str(content["place"])
