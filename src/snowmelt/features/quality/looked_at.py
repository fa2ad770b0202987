"""Which rows a write brought: those in files that its transaction added, without those in files that it replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from snowmelt.core import types
from snowmelt.engine.model import TableFiles
from snowmelt.features.quality.runs import GateRun
from snowmelt.sql.dialect import identifier, string
from snowmelt.state.model import CatalogObject, Column, TableDefinition
from snowmelt.storage.columns import readable_path
from snowmelt.storage.feed import CHANGE_TYPE
from snowmelt.storage.snapshot import DataFile, FileList

_KINDS = ("insert", "update_postimage")
CAME = exp.In(this=exp.column(identifier(CHANGE_TYPE)), expressions=[string(kind) for kind in _KINDS])


def came(kinds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each row came, by its kind of change."""
    return pc.is_in(kinds, value_set=pa.array(_KINDS))


def _count_came(path: str) -> int:
    kinds = pq.read_table(path, columns=[CHANGE_TYPE]).column(0).cast(pa.string())
    return int(pc.sum(came(kinds)).as_py() or 0)


@dataclass(frozen=True)
class WrittenTable:
    """A table as it was before a write, and as it is after it. For a table that is looked at as it is, before is None.

    A table whose files are not all there is to it (deletion vectors, column mapping) is looked at as a whole.
    """

    run: GateRun
    table: CatalogObject
    before: FileList | None
    after: FileList
    replaced: bool = False
    """All rows were written anew, whatever was there."""
    one_statement: bool = True
    """Nothing of what was written was undone since."""

    @property
    def definition(self) -> TableDefinition:
        assert isinstance(self.table.definition, TableDefinition)
        return self.table.definition

    @property
    def by_files(self) -> bool:
        return self.after.plain and not self.definition.spark_only

    @cached_property
    def added(self) -> tuple[DataFile, ...]:
        if self.before is None or not self.by_files:
            return self.after.files
        return tuple(file for path, file in self.after.by_path.items() if path not in self.before.by_path)

    @cached_property
    def removed(self) -> tuple[DataFile, ...]:
        """Files whose rows are in other files now, or gone."""
        if self.before is None or self.replaced or not self.by_files:
            return ()
        return tuple(file for path, file in self.before.by_path.items() if path not in self.after.by_path)

    @cached_property
    def stayed(self) -> FileList:
        paths = {file.path for file in self.added}
        kept = {path: file for path, file in self.after.by_path.items() if path not in paths}
        return replace(self.after, by_path=kept)

    @property
    def is_whole(self) -> bool:
        """Whether the rows that came are all that the table has."""
        return not self.stayed.by_path and not self.images

    @property
    def only_added(self) -> bool:
        """Whether writing the added rows again, to what was there or in its place, gives the same table."""
        if self.before is None or not self.by_files:
            return False
        return self.replaced or not any(path not in self.after.by_path for path in self.before.by_path)

    @cached_property
    def images(self) -> tuple[str, ...]:
        """Files of the change feed that have the rows that came, where others were moved to new files beside them.

        None where one file does not tell: several statements may have changed a row one after the other.
        """
        if self.before is None or not self.removed or not self.one_statement:
            return ()
        versions = (self.before.version + 1, self.after.version)
        commits = self.run.account.store.commit_files(self.definition.location, [versions])
        return commits[0].images if len(commits) == 1 else ()

    @property
    def exact(self) -> bool:
        """Whether the rows that came can be told from those that were moved without comparing them."""
        return not self.removed or bool(self.images)

    @property
    def most_came(self) -> int | None:
        """The most rows that came; None if that is not known."""
        if self.images and self.before is not None:
            versions = (self.before.version + 1, self.after.version)
            return self.run.account.store.rows_changed(self.definition.location, [versions])
        counts = [file.rows for file in self.added]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def local(self) -> bool:
        """Whether files can be read here, and say all there is to say."""
        return self.by_files and self.run.account.store.root.is_readable(self.definition.location)

    def count_came(self) -> int | None:
        """How many rows came, with those that were moved unless it is exact; None when only Spark can tell."""
        if not self.local:
            return None
        if not self.images:
            return self.most_came
        return sum(_count_came(readable_path(uri)) for uri in self.images)

    def came(self) -> exp.Select:
        """The rows that came; with those that were moved unless it is exact."""
        if not self.images:
            return exp.select("*").from_(exp.Table(this=identifier(self.view(self.added, "added"))))
        return self.imaged().where(CAME.copy())

    def imaged(self) -> exp.Select:
        """The rows that came and those that went, as the change feed has them."""
        reference = f"quality_images_{self.table.id}_{self.after.version}"
        kinds = Column(name=CHANGE_TYPE, type=types.VARCHAR)
        # Their size is not in the file list: as much as so many rows of the table have.
        share = (self.most_came or 0) / max(self.after.total_rows or 1, 1)
        size = int(self.after.total_bytes * min(share, 1.0))
        self.run.tables[reference] = TableFiles(
            reference=reference, columns=(*self.definition.columns, kinds), files=self.images, bytes=size
        )
        self.run.input_bytes += size
        return exp.select("*").from_(exp.Table(this=identifier(reference)))

    def view(self, files: Sequence[DataFile], label: str) -> str:
        """The rows of some of the files, with their positions, under the name that is returned."""
        run = self.run
        mark = hashlib.sha256("\n".join(file.uri for file in files).encode()).hexdigest()[:16]
        reference = f"quality_{label}_{self.table.id}_{self.after.version}_{mark}"
        size = sum(file.size for file in files)
        whole = None if self.by_files or not files else run.account.store.root.uri_of(self.definition.location)
        run.tables[reference] = TableFiles(
            reference=reference, columns=self.definition.columns, files=tuple(file.uri for file in files),
            delta_path=whole, version=self.after.version, positions=True, bytes=size,
        )  # fmt: skip
        run.input_bytes += size
        return reference
