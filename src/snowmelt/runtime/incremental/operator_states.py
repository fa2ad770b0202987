"""Where the states of a dynamic table's aggregates live: files in the table's folder, beside its data.

`DynamicState` names the files that belong to the table's data timestamp; it changes in the same step as everything else
that a refresh makes true. A file that it does not name is nobody's: left by a refresh that did not finish, or replaced.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from snowmelt.core.faults import reached
from snowmelt.engine.model import TableFiles
from snowmelt.engine.quick.types import of_arrow
from snowmelt.ivm.plan import InitialPlan
from snowmelt.ivm.states import AGE, GroupState
from snowmelt.runtime.incremental.lookups import Searched
from snowmelt.runtime.incremental.stages import resolved
from snowmelt.sql.dialect import identifier, to_spark_sql
from snowmelt.state.dynamic_model import OperatorState
from snowmelt.state.model import TableDefinition
from snowmelt.storage.columns import FOOTERS
from snowmelt.storage.durable import Unflushed
from snowmelt.storage.parquet import write_parquet
from snowmelt.storage.snapshot import DataFile

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

FOLDER = "_state"
_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_INDEX = "__index"
_MOST_FILES = 16
"""Added files that are read as they are; more are put together."""
_MOST_TINY_FILES = 4
"""The same while they are tiny: each costs every later refresh more than it takes to write their rows once again."""
_TINY_BYTES = 64 * 1024

Recorded = Mapping[str, OperatorState]


class OperatorStates:
    """The states of one table, within one refresh."""

    def __init__(self, run: Run, definition: TableDefinition) -> None:
        self._run = run
        self._root = run.account.store.root
        self._location = definition.location
        self._size: dict[str, int] = {}
        """Of files, once they were looked at."""

    @cached_property
    def _folder(self) -> Path:
        return self._root.beside(self._location) / FOLDER

    @cached_property
    def _folder_uri(self) -> str:
        return self._folder.as_uri()

    def _sizes(self, recorded: OperatorState) -> list[int]:
        """In bytes, of the state's files, which are there and never change."""
        unknown = [file for file in recorded.files if file not in self._size]
        self._size.update((file, (self._folder / file).stat().st_size) for file in unknown)
        return [self._size[file] for file in recorded.files]

    # -- from nothing ---------------------------------------------------------------------------------------------

    def fill(self, plan: InitialPlan, relations: Mapping[str, exp.Expr]) -> dict[str, OperatorState]:
        """Computes all states, and adds to `run.tables` what plans call them."""
        made: dict[str, OperatorState] = {}
        known = dict(relations)
        for state, query in plan.states:
            name = f"{state.name}-{uuid.uuid4().hex}"
            target = self._folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            schema = self._compute(resolved(query, known), target)
            files = sorted(target.glob("*.parquet"))
            made[state.name] = OperatorState(
                files=tuple(f"{name}/{file.name}" for file in files),
                schema=schema or _schema_of(files),
                rows=sum(pq.read_metadata(file).num_rows for file in files),
                definition=fingerprint(state),
            )
            Unflushed([*files, target]).flush()
            reached("state-filled")
            known[state.stored] = self.relation(state, made[state.name])
        return made

    def _compute(self, query: exp.Select, target: Path) -> dict[str, str] | None:
        """Writes the rows of a query into a folder. Their columns' types in Spark's words, unless Spark wrote them."""
        run, tables = self._run, list(self._run.tables.values())
        rows = run.account.engine.quickly(query, tables, lane=run.lane, tag=run.tag, inputs=run.inputs)
        if rows is not None and not any(pa.types.is_nested(field.type) for field in rows.schema):
            target.mkdir()
            write_parquet(rows, target / "part-0.parquet")
            return {field.name: of_arrow(field.type).ddl for field in rows.schema}
        run.account.engine.spill(
            to_spark_sql(query), tables, target.as_uri(), tag=run.tag, pool=run.pool, inputs=run.inputs
        )
        return None

    def relation(self, state: GroupState, recorded: OperatorState) -> exp.Expr:
        """What Spark calls the rows of a state."""
        files = [f"{self._folder_uri}/{quote(file)}" for file in recorded.files]
        mark = hashlib.sha256("".join(files).encode()).hexdigest()[:16]
        reference = f"o_{state.name}_{mark}"
        ddl = ", ".join(f"`{name}` {type_}" for name, type_ in recorded.schema_.items())
        size = sum(self._sizes(recorded))
        self._run.tables[reference] = TableFiles(reference, columns=(), files=tuple(files), ddl=ddl, bytes=size)
        return exp.Table(this=identifier(reference))

    def searched(self, recorded: OperatorState) -> Searched:
        """The rows of a state, to be found by key."""
        files = [
            DataFile(f"{self._folder}/{file}", file.rpartition("/")[2], size, None)
            for file, size in zip(recorded.files, self._sizes(recorded), strict=True)
        ]
        return Searched(tuple(files), _schema_in(files[0].uri), self._location)

    # -- changes --------------------------------------------------------------------------------------------------

    def usable(self, wanted: Mapping[str, str], recorded: Recorded) -> bool:
        """Whether what is recorded are the states with these fingerprints, by name, and their files are there."""
        return wanted.keys() == recorded.keys() and all(
            recorded[name].definition == definition and self._are_there(recorded[name])
            for name, definition in wanted.items()
        )

    def _are_there(self, recorded: OperatorState) -> bool:
        try:
            self._sizes(recorded)
        except FileNotFoundError:
            return False
        return True

    def add(self, state: GroupState, recorded: OperatorState, rows: pa.Table) -> OperatorState:
        """The state with further rows, in a file of their own, which is on disk once the transaction is committed."""
        if not rows.num_rows:
            return recorded
        small = [file for file in recorded.files if "/" not in file]
        if len(small) >= self._most_files(recorded, small):
            earlier = [_read(self._folder / file) for file in small]
            together = pa.concat_tables([*earlier, rows], promote_options="permissive")
            rows = _put_together(together, state)
            recorded = recorded.model_copy(update={"files": tuple(f for f in recorded.files if f not in small)})
        file = self._folder / f"{state.name}-{uuid.uuid4().hex}.parquet"
        self._folder.mkdir(parents=True, exist_ok=True)
        FOOTERS.keep(str(file), write_parquet(rows, file))
        self._run.transaction.unflushed.append(file)
        reached("state-written")
        return recorded.model_copy(update={"files": (*recorded.files, file.name)})

    def _most_files(self, recorded: OperatorState, added: Sequence[str]) -> int:
        if len(added) < _MOST_TINY_FILES:
            return _MOST_FILES
        sizes = dict(zip(recorded.files, self._sizes(recorded), strict=True))
        return _MOST_TINY_FILES if sum(sizes[file] for file in added) <= _TINY_BYTES else _MOST_FILES

    def unnamed(self, recorded: Recorded) -> list[Path]:
        """What is there now and none of these states names."""
        kept = {file.split("/", 1)[0] for state in recorded.values() for file in state.files}
        if not self._folder.exists():
            return []
        return [entry for entry in self._folder.iterdir() if entry.name not in kept]


def remove(entries: Iterable[Path]) -> None:
    for entry in entries:
        reached("before-state-removed")
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def fingerprint(state: GroupState) -> str:
    """Changes whenever the rows of a state mean something else."""
    parts = [state.name, *(key.id for key in state.node.keys)]
    parts += [f"{partial.name} {to_spark_sql(partial.initial)}" for partial in state.partials]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def types_of(recorded: Recorded) -> dict[str, dict[str, str]]:
    """Spark's types of the columns of each state."""
    return {name: dict(state.schema_) for name, state in recorded.items()}


def _schema_of(files: Sequence[Path]) -> dict[str, str]:
    """The columns that Spark wrote, with its own names for their types."""
    described = json.loads(pq.read_metadata(files[0]).metadata[_SPARK_SCHEMA])
    return {field["name"]: field["type"] for field in described["fields"]}


def _read(file: Path) -> pa.Table:
    """All of a small file. Waking threads up for it, or asking for its partitions, takes longer than decoding it."""
    with pq.ParquetFile(file) as opened:
        return opened.read(use_threads=False)


@lru_cache(maxsize=4096)
def _schema_in(path: str) -> pa.Schema:
    """The columns in a state's file, which never changes."""
    # Spark calls a count never NULL; what was added to it may be: the sum of no changes.
    return pa.schema([field.with_nullable(True) for field in pq.read_schema(path)])


def _put_together(rows: pa.Table, state: GroupState) -> pa.Table:
    """One row for each group: sums are added up, of extremes the newest counts."""
    keys = [column.id for column in state.node.keys]
    extremes = {partial.name for partial in state.extremes}
    if extremes:
        rows = rows.sort_by(AGE)
    newest = {name for name in rows.column_names if name in extremes or name == AGE}
    sums = [name for name in rows.column_names if name not in newest and name not in keys]
    placed = rows.append_column(_INDEX, pa.array(range(rows.num_rows), pa.int64()))
    # By their indexes: Arrow has no last value of a group for every type.
    wanted = [(_INDEX, "max"), *((name, "sum") for name in sums)]
    grouped = placed.group_by(keys, use_threads=False).aggregate(wanted)
    last = rows.take(grouped.column(f"{_INDEX}_max"))
    made = {name: grouped.column(f"{name}_sum").cast(rows.schema.field(name).type) for name in sums}
    return pa.table({name: made[name] if name in made else last.column(name) for name in rows.column_names})
