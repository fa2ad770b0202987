"""Random lives of tables with upkeep at any moment: what somebody may still ask for is there, and is the same."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snowmelt.accounts import open_account
from snowmelt.core.clock import ManualClock
from snowmelt.core.config import Settings, UpkeepSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.streams.definitions import STREAM
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.runtime.account import Account
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.run import Run
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.storage.feed import CHANGE_TYPE
from tests.runtime.transactions.seeing import their_table

Rows = Counter[tuple[int, int]]
UPKEEP = UpkeepSettings(small_files=3, vacuum_seconds=0, grace_seconds=60, history_seconds=0)
NAMES = ("A", "B", "C")
DAYS = {"A": 1, "B": 0, "C": 2}
names = st.sampled_from(NAMES)


@dataclass
class Past:
    """What was visible when, of one table of the model."""

    states: list[tuple[datetime, Rows]] = field(default_factory=list)

    @property
    def now(self) -> Rows:
        return self.states[-1][1]

    def at(self, instant: datetime) -> Rows | None:
        found = [rows for since, rows in self.states if since <= instant]
        return found[-1] if found else None


@dataclass
class Reader:
    """A statement that has looked its table up and reads it slowly."""

    run: Run
    files: tuple[str, ...]


class Upkeeping(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="snowmelt-upkeep-"))
        self.clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.account = self.opened()
        self.past: dict[str, Past] = {}
        self.dropped: dict[str, datetime] = {}
        self.readers: list[Reader] = []
        self.offsets: dict[str, tuple[str, datetime, Rows]] = {}
        """By stream: its table, when it was made or consumed, and the rows then."""
        self.numbers = iter(range(1, 10_000))

    def opened(self) -> Account:
        account = open_account(self.folder, settings=Settings(upkeep=UPKEEP), clock=self.clock)
        self.session = account.session()
        return account

    def teardown(self) -> None:
        self.account.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- what happens ---------------------------------------------------------------------------------------------

    @initialize()
    def tables(self) -> None:
        for name in NAMES:
            self.session.execute(
                f"CREATE TABLE {name} (ID INT, N INT) DATA_RETENTION_TIME_IN_DAYS = {DAYS[name]} CHANGE_TRACKING = TRUE"
            )
            self.past[name] = Past()
            self.note(name, Counter())

    def note(self, name: str, rows: Rows) -> None:
        with self.account.state.read() as state:
            visible = state.versions.visible(self.table(name).id)
        assert visible is not None
        self.past[name].states.append((visible.committed_at, rows))
        self.clock.advance(timedelta(seconds=1))

    def table(self, name: str) -> CatalogObject:
        with self.account.state.read() as state:
            found = state.catalog.objects([ObjectKind.TABLE])
        return next(item for item in found if item.name.name == name)

    def live(self, name: str) -> bool:
        return name in self.past and name not in self.dropped

    @rule(name=names, count=st.integers(1, 4))
    def insert(self, name: str, count: int) -> None:
        if not self.live(name):
            return
        for _ in range(count):
            number = next(self.numbers)
            self.session.execute(f"INSERT INTO {name} VALUES ({number}, 0)")
            self.note(name, self.past[name].now + Counter({(number, 0): 1}))

    @rule(name=names, place=st.integers(0, 5))
    def update(self, name: str, place: int) -> None:
        if self.live(name) and self.past[name].now:
            old = sorted(self.past[name].now)[place % len(self.past[name].now)]
            self.session.execute(f"UPDATE {name} SET N = N + 1 WHERE ID = {old[0]}")
            self.note(name, self.past[name].now - Counter([old]) + Counter([(old[0], old[1] + 1)]))

    @rule(name=names, place=st.integers(0, 5))
    def delete(self, name: str, place: int) -> None:
        if self.live(name) and self.past[name].now:
            old = sorted(self.past[name].now)[place % len(self.past[name].now)]
            self.session.execute(f"DELETE FROM {name} WHERE ID = {old[0]}")
            self.note(name, self.past[name].now - Counter([old]))

    @rule(name=names)
    def roll_back(self, name: str) -> None:
        if self.live(name):
            self.session.execute_script(f"BEGIN; INSERT INTO {name} VALUES (0, 0); DELETE FROM {name}; ROLLBACK")

    @rule(name=names)
    def others_write(self, name: str) -> None:
        if self.live(name):
            number = next(self.numbers)
            self.append_from_outside(name, number)
            table = self.table(name)
            with self.account.state.read() as state:
                visible = state.versions.visible(table.id)
            assert visible is not None
            self.account.transactions.adopt(table, visible)
            self.note(name, self.past[name].now + Counter({(number, 0): 1}))

    def append_from_outside(self, name: str, number: int) -> None:
        table = their_table(self.account, name)
        schema = pa.schema(table.schema().to_arrow())
        columns = [pa.array([value], schema.field(index).type) for index, value in enumerate((number, 0))]
        write_deltalake(table, pa.table(columns, schema=schema), mode="append")

    @rule(name=names)
    def clone(self, name: str) -> None:
        if self.live(name) and f"{name}_CLONE" not in self.past:
            self.session.execute(f"CREATE TABLE {name}_CLONE CLONE {name}")
            self.past[f"{name}_CLONE"] = Past()
            self.note(f"{name}_CLONE", self.past[name].now)

    @rule(name=names)
    def drop(self, name: str) -> None:
        if self.live(name):
            self.session.execute(f"DROP TABLE {name}")
            self.dropped[name] = self.clock.now()

    @rule(name=names)
    def undrop(self, name: str) -> None:
        if name not in self.dropped:
            return
        late = self.clock.now() >= self.dropped[name] + timedelta(days=DAYS[name])
        try:
            self.session.execute(f"UNDROP TABLE {name}")
        except SnowmeltError:
            assert late, "a table within its retention is gone"
            del self.past[name], self.dropped[name]
            self.offsets = {key: value for key, value in self.offsets.items() if value[0] != name}
        else:
            del self.dropped[name]

    @rule(name=names)
    def create_stream(self, name: str) -> None:
        if self.live(name):
            self.session.execute(f"CREATE OR REPLACE STREAM S_{name} ON TABLE {name}")
            self.offsets[f"S_{name}"] = (name, self.clock.now(), self.past[name].now)

    @rule(name=names)
    def consume(self, name: str) -> None:
        """What a statement that reads the stream does when it commits."""
        if f"S_{name}" not in self.offsets or not self.live(name):
            return
        with self.account.state.begin() as state:
            stream = next(item for item in state.catalog.objects([STREAM]) if item.name.name == f"S_{name}")
            standing = state.streams.require(stream.id)
            visible = state.versions.visible(self.table(name).id)
            assert visible is not None
            state.streams.put(
                standing.model_copy(update={"offsets": {visible.table_id: visible.version}, "renewed_at": state.now})
            )
        self.offsets[f"S_{name}"] = (name, self.clock.now(), self.past[name].now)

    @rule(name=names)
    def read_slowly(self, name: str) -> None:
        if self.live(name):
            run = Run(self.session, SqlText("SELECT"))
            with self.account.state.read() as state:
                catalog = StatementCatalog(run, state, self.session.database, self.session.schema)
                catalog.relation((name,), None)
            (pinned,) = run.tables.values()
            self.readers.append(Reader(run, pinned.files))

    @precondition(lambda self: self.readers)
    @rule()
    def end_reading(self) -> None:
        self.readers.pop(0).run.ended.set()

    @rule(hours=st.sampled_from([1, 10, 30, 24 * 4]))
    def time_passes(self, hours: int) -> None:
        self.clock.advance(timedelta(hours=hours))

    @rule()
    def upkeep(self) -> None:
        done = self.account.services[Upkeep].run()
        assert not [item for item in done if item.outcome == "FAILED"]

    @rule()
    def start_again(self) -> None:
        for reader in self.readers:
            reader.run.ended.set()
        self.readers.clear()
        self.account.close()
        self.account = self.opened()

    # -- what holds -----------------------------------------------------------------------------------------------

    def rows_of(self, location: str, version: int) -> Rows:
        found = self.account.store.read(location, version)
        return Counter((int(row["ID"]), int(row["N"])) for row in found.to_pylist())

    @invariant()
    def tables_are_the_same(self) -> None:
        for name, past in self.past.items():
            if self.live(name):
                self.check_past(name, past)

    def check_past(self, name: str, past: Past) -> None:
        table = self.table(name)
        assert isinstance(table.definition, TableDefinition)
        days = timedelta(days=DAYS[name.removesuffix("_CLONE")])
        first = self.clock.now() - days
        instants = [at for at, _ in past.states if at >= first] + [max(first, past.states[0][0]), self.clock.now()]
        with self.account.state.read() as state:
            found = {at: state.versions.as_of(table.id, at) for at in instants}
        for at, version in found.items():
            assert version is not None, f"{name} can't be read at {at}"
            assert self.rows_of(table.definition.location, version.version) == past.at(at), f"{name} at {at}"

    @invariant()
    def streams_have_their_changes(self) -> None:
        for stream, (name, since, before) in self.offsets.items():
            if not self.live(name) or self.clock.now() >= since + timedelta(days=14):
                continue
            table = self.table(name)
            assert isinstance(table.definition, TableDefinition)
            with self.account.state.read() as state:
                found = next(item for item in state.catalog.objects([STREAM]) if item.name.name == stream)
                offset = state.streams.require(found.id).offsets[table.id]
                visible = state.versions.visible(table.id)
                assert visible is not None
                ranges = state.versions.change_ranges(table.id, offset, visible.version)
            assert self.rows_of(table.definition.location, offset) == before
            change: Counter[tuple[int, int]] = Counter()
            feed = self.account.store.changes(table.definition.location, ranges).read_all() if ranges else None
            for row in feed.to_pylist() if feed is not None else ():
                sign = -1 if row[CHANGE_TYPE] in ("delete", "update_preimage") else 1
                change[int(row["ID"]), int(row["N"])] += sign
            after = Counter(before)
            after.update(change)
            assert +after == self.past[name].now

    @invariant()
    def readers_have_their_files(self) -> None:
        for reader in self.readers:
            assert all(Path(file.removeprefix("file://")).exists() for file in reader.files)


Upkeeping.TestCase.settings = settings(max_examples=8, stateful_step_count=25, deadline=None)
test_nothing_that_is_needed_goes = Upkeeping.TestCase
