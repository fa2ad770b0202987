"""The work of a simulated account: clients, a reader, streams, a task, dynamic tables, a channel and a connector."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.features.connectors.definitions import CONNECTOR
from snowmelt.features.connectors.landing import Landing
from snowmelt.features.connectors.standings import ConnectorStandings
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.features.tasks.records import TaskRecords
from snowmelt.features.tasks.service import Tasks
from snowmelt.features.upkeep.service import Upkeep
from snowmelt.ingest import StreamingIngestClient
from snowmelt.ingest.cdc.feed import FeedBatch, FeedEvent, TopicSchema
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition, TableVersion
from tests.features.connectors.envelopes import column, envelope, key_schema, value_schema
from tests.simulation.model import Event, Model, check_changes, check_sequence

LAG = 60.0
SLACK = 40.0
"""Seconds that a refresh may take beyond its lag here, behind a time in which much went wrong."""
QUIET = 150.0
_TOPIC = "snowmelt.public.items"
_RETRIED = frozenset({"000625"})
SCRIPT = f"""
CREATE TABLE A (ID INT, K INT, V INT) CHANGE_TRACKING = TRUE;
CREATE TABLE B (ID INT);
CREATE TABLE C (K INT, N INT);
INSERT INTO C VALUES (0, 0);
CREATE TABLE BY_TASK (ID INT, ACTION VARCHAR);
CREATE TABLE BY_CLIENT (ID INT, ACTION VARCHAR);
CREATE TABLE CH (ID INT);
CREATE STREAM S_TASK ON TABLE A;
CREATE STREAM S_CLIENT ON TABLE A;
CREATE TASK CONSUME SCHEDULE = '1 MINUTE' WHEN SYSTEM$STREAM_HAS_DATA('S_TASK')
  AS INSERT INTO BY_TASK SELECT ID, METADATA$ACTION FROM S_TASK;
ALTER TASK CONSUME RESUME;
CREATE DYNAMIC TABLE D1 TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH AS
  SELECT K, COUNT(*) AS N, SUM(V) AS V FROM A GROUP BY K;
CREATE DYNAMIC TABLE D2 TARGET_LAG = '{LAG:.0f} seconds' WAREHOUSE = COMPUTE_WH AS
  SELECT SUM(N) AS N, SUM(V) AS V FROM D1;
CREATE CONNECTOR CDC TYPE = POSTGRES HOST = 'h' DATABASE = 'd' USER = 'u' TABLES = ('public.items')
  INITIALLY_PAUSED = TRUE;
"""


class WrongError(Exception):
    """What must never be."""


class World:
    def __init__(self, account: Account, seed: str, life: int, model: Model, log: int) -> None:
        self.account = account
        self.seed = seed
        self.model = model
        self._log = log
        self._next_id = life * 1000
        self._units = 0
        self._life = life
        self.wrong: list[str] = []

    # -- what happened

    def tell(self, event: Event) -> None:
        """Written at once, as a client that was told would know."""
        self.model.apply(event)
        os.write(self._log, json.dumps(event).encode() + b"\n")

    def check(self, what: str, problem: str | None) -> None:
        if problem is not None:
            self.wrong.append(f"{what}: {problem}")
            raise WrongError(f"{what}: {problem}")

    def new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def chance(self, name: str) -> random.Random:
        return random.Random(f"{self.seed} {name}")

    # -- a life

    def live(self, seconds: float) -> None:
        self.account.services[DynamicTables].start()
        self.account.services[Tasks].start()
        self.account.services[Upkeep].start()
        until = time.monotonic() + seconds
        works = [(self._client, f"client-{n}") for n in range(2)]
        works += [(self._reader, "reader"), (self._consumer, "consumer"), (self._channel, "channel"),
                  (self._connector, "connector"), (self._watcher, "watcher")]  # fmt: skip
        threads = [threading.Thread(target=self._guarded, args=(work, name, until), name=name) for work, name in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._stop_on_wrong()

    def _guarded(self, work: Any, name: str, until: float) -> None:
        chance = self.chance(name)
        session = self.account.session()
        try:
            while time.monotonic() < until and not self.wrong:
                try:
                    work(session, chance, until)
                except SnowmeltError as error:
                    if error.code == "000603" or "internal" in str(error).lower():
                        self.wrong.append(f"{name}: {error}")
                    self._quietly(session, "ROLLBACK")
                time.sleep(chance.expovariate(1 / (2 if name == "reader" else 8)))
        except WrongError:
            pass
        except BaseException as error:
            self.wrong.append(f"{name}: {type(error).__name__}: {error}")
            raise
        finally:
            session.close()

    def _quietly(self, session: Session, statement: str) -> None:
        try:
            session.execute(statement)
        except SnowmeltError:
            return

    def _stop_on_wrong(self) -> None:
        if self.wrong:
            raise WrongError("; ".join(self.wrong))

    # -- writers

    def _client(self, session: Session, chance: random.Random, until: float) -> None:
        """One unit of several statements, whose outcome is known if it was told."""
        self._units += 1
        unit, counts = f"{self._life}.{self._units}", 0
        adds: list[int] = []
        drops: list[int] = []
        statements = ["BEGIN"]
        for _ in range(chance.randint(1, 3)):
            kind = chance.random()
            if kind < 0.55:
                ids = [self.new_id() for _ in range(chance.randint(1, 2))]
                adds += ids
                rows = ", ".join(f"({id_}, {id_ % 3}, {chance.randint(1, 9)})" for id_ in ids)
                pair = [f"INSERT INTO A VALUES {rows}", f"INSERT INTO B VALUES {', '.join(f'({id_})' for id_ in ids)}"]
                statements += pair if chance.random() < 0.5 else pair[::-1]
            elif kind < 0.75 and (own := self._droppable(drops)):
                drops.append(chance.choice(own))
                statements += [f"DELETE FROM A WHERE ID = {drops[-1]}", f"DELETE FROM B WHERE ID = {drops[-1]}"]
            else:
                counts += 1
                statements.append("UPDATE C SET N = N + 1 WHERE K = 0")
        ends = "ROLLBACK" if chance.random() < 0.15 else "COMMIT"
        self.tell({"what": "begin", "unit": unit, "adds": adds, "drops": drops, "counts": counts})
        for statement in [*statements, ends]:
            try:
                session.execute(statement)
            except SnowmeltError as error:
                self._failed(session, unit, statement == "COMMIT", error)
                return
            if chance.random() < 0.2:
                time.sleep(chance.random() * 3)
        self.tell({"what": "done" if ends == "COMMIT" else "void", "unit": unit})

    def _droppable(self, drops: list[int]) -> list[int]:
        busy = {id_ for unit in self.model.open.values() for id_ in unit["drops"]}
        return sorted(self.model.there - busy - set(drops))

    def _failed(self, session: Session, unit: str, committing: bool, error: SnowmeltError) -> None:
        """A COMMIT that failed may have succeeded, when its answer was lost. Nothing else may."""
        if committing and error.code not in _RETRIED:
            self._quietly(session, "ROLLBACK")
            return
        session.execute("ROLLBACK")
        self.tell({"what": "void", "unit": unit})

    def _consumer(self, session: Session, chance: random.Random, until: float) -> None:
        session.execute("BEGIN")
        session.execute("INSERT INTO BY_CLIENT SELECT ID, METADATA$ACTION FROM S_CLIENT")
        time.sleep(chance.random())
        session.execute("COMMIT" if chance.random() < 0.8 else "ROLLBACK")
        time.sleep(chance.random() * 30)

    def _channel(self, session: Session, chance: random.Random, until: float) -> None:
        with StreamingIngestClient("simulated", connection=session) as client:
            channel = client.open_channel("ONE", "CH")
            token = channel.get_latest_committed_offset_token()
            place = 0 if token is None else int(token) + 1
            self.check("token went back", None if place > self.model.tokens.get("ONE", -1) else f"{place}")
            while time.monotonic() < until and chance.random() > 0.1:
                numbers = range(place, place + chance.randint(1, 3))
                channel.insert_rows([{"ID": number} for number in numbers], str(numbers[-1]))
                place = numbers.stop
                time.sleep(chance.random() * 4)
                if chance.random() < 0.5:
                    channel.wait_for_flush()
                    committed = channel.get_latest_committed_offset_token()
                    assert committed is not None
                    self.tell({"what": "token", "channel": "ONE", "token": int(committed)})

    def _connector(self, session: Session, chance: random.Random, until: float) -> None:
        """A source that sends again what is behind the offset that was kept, and some of what is before it."""
        found = self._object("CDC", CONNECTOR)
        landing = Landing(self.account, found)
        schema = TopicSchema(1, _TOPIC, key_schema("id"), value_schema(column("id", "int32", "INT4")))
        with self.account.state.read() as state:
            place = (state[ConnectorStandings].require(found.id).position or 0) + 1
        again = max(place - chance.randint(0, 2), 1)
        while time.monotonic() < until and chance.random() > 0.2:
            last = again + chance.randint(0, 3)
            events = tuple(
                FeedEvent(_TOPIC, 1, json.dumps({"id": n}),
                          json.dumps(envelope("c", after={"id": n}, lsn=n, tx=n, table="items")))
                for n in range(again, last + 1)
            )  # fmt: skip
            landing.land(FeedBatch(last, (schema,), events, {"lsn": last}))
            again = last + 1
            time.sleep(chance.random() * 6)

    # -- readers

    def _reader(self, session: Session, chance: random.Random, until: float) -> None:
        before = self.model.copy()
        rows = session.execute("SELECT 'A', ID FROM A UNION ALL SELECT 'B', ID FROM B UNION ALL SELECT 'C', N FROM C")
        self._check_rows(Counter((name, int(value)) for name, value in rows.rows()), before)

    def _check_rows(self, rows: Counter[tuple[str, int]], before: Model | None) -> None:
        ids = {name: {value for found, value in rows if found == name} for name in "ABC"}
        twice = [row for row, count in rows.items() if count > 1]
        self.check("rows", f"twice: {twice}" if twice else None)
        self.check("one moment", None if ids["A"] == ids["B"] else f"A and B differ by {ids['A'] ^ ids['B']}")
        self.check("writes", self.model.check_ids(ids["A"], before=before))
        self.check("counter", self.model.check_count(next(iter(ids["C"])), before=before))

    def _watcher(self, session: Session, chance: random.Random, until: float) -> None:
        """Whatever is visible now belongs together: dynamic tables and the versions that they were computed from."""
        self.check_dynamic_tables()
        time.sleep(chance.random() * 20)

    def check_dynamic_tables(self) -> datetime | None:
        """The data timestamp of the last table of the graph."""
        names = {name: self._object(name, ObjectKind.TABLE) for name in ("A", "D1", "D2")}
        with self.account.state.read() as state:
            first, second = (state.dynamic.get(names[name].id) for name in ("D1", "D2"))
            visible = {name: state.versions.visible(item.id) for name, item in names.items()}
        if first is None or second is None or first.data_timestamp is None or second.data_timestamp is None:
            return None
        a, d1, d2 = names["A"], names["D1"], names["D2"]
        sums: dict[Any, list[int]] = {}
        for row in self._read(a.definition, first.frontier[a.id]):
            count = sums.setdefault(row["K"], [0, 0])
            count[0], count[1] = count[0] + 1, count[1] + int(row["V"])
        wanted = sorted((int(key), n, v) for key, (n, v) in sums.items())
        got = sorted((int(row["K"]), int(row["N"]), int(row["V"])) for row in self._read(d1.definition, visible["D1"]))
        self.check("D1", None if wanted == got else f"has {got}, not {wanted}")
        below = self._read(d1.definition, second.frontier[d1.id])
        totals = [tuple(sum(int(row[name]) for row in below) if below else None for name in ("N", "V"))]
        found = [(row["N"], row["V"]) for row in self._read(d2.definition, visible["D2"])]
        self.check("D2", None if totals == found else f"has {found}, not {totals}")
        return second.data_timestamp

    def _read(self, definition: Any, version: int | TableVersion | None) -> list[dict[str, Any]]:
        assert isinstance(definition, TableDefinition)
        number = version.version if isinstance(version, TableVersion) else version
        assert number is not None
        return list(self.account.store.read(definition.location, number).to_pylist())

    def _object(self, name: str, kind: Any) -> Any:
        with self.account.state.read() as state:
            found = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", name), [kind])
        assert found is not None
        return found

    # -- at rest

    def check_recovered(self) -> None:
        """Right after a start: what was told is there, and what is there is kept in mind."""
        session = self.account.session()
        rows = session.execute("SELECT 'A', ID FROM A UNION ALL SELECT 'B', ID FROM B UNION ALL SELECT 'C', N FROM C")
        found = Counter((name, int(value)) for name, value in rows.rows())
        self._check_rows(found, None)
        ids = sorted(value for name, value in found if name == "A")
        counted = next(value for name, value in found if name == "C")
        self.check_consumers(session)
        self.check_dynamic_tables()
        session.close()
        self.tell({"what": "found", "ids": ids, "counted": counted})

    def check_consumers(self, session: Session) -> None:
        ids = {int(row[0]) for row in session.execute("SELECT ID FROM A").rows()}
        for table, stream in (("BY_TASK", "S_TASK"), ("BY_CLIENT", "S_CLIENT")):
            taken, pending = (
                [(int(id_), str(action)) for id_, action in session.execute(query).rows()]
                for query in (f"SELECT ID, ACTION FROM {table}", f"SELECT ID, METADATA$ACTION FROM {stream}")
            )
            self.check(stream, check_changes(taken, ids, pending))
        with self.account.state.read() as state:
            channels = [item for item in state.channels.all() if item.name == "ONE"]
            standing = state[ConnectorStandings].get(self._object("CDC", CONNECTOR).id)
        numbers = [int(row[0]) for row in session.execute("SELECT ID FROM CH").rows()]
        token = max((int(item.offset_token) for item in channels if item.offset_token is not None), default=-1)
        self.check("channel", check_sequence(numbers, token))
        landed = [n - 1 for n in self._landed(session)]
        self.check("connector", check_sequence(landed, ((standing.position if standing else None) or 0) - 1))

    def _landed(self, session: Session) -> list[int]:
        try:
            return [int(row[0]) for row in session.execute("SELECT AFTER:id::INT FROM RAW_CHANGES").rows()]
        except SnowmeltError as error:
            if error.code != "002003":
                raise
            return []

    def check_at_rest(self) -> None:
        """Nobody has written for long: all that follows by itself has happened."""
        time.sleep(QUIET)
        session = self.account.session()
        self.check_consumers(session)
        pending = session.execute("SELECT COUNT(*) FROM S_TASK").rows()[0][0]
        self.check("task", None if int(pending) == 0 else f"{pending} changes were left for {QUIET} s")
        stamp = self.check_dynamic_tables()
        late = None if stamp is None else self.account.clock.now() - stamp
        limit = timedelta(seconds=LAG + SLACK)
        self.check_history()
        self.check("lag", None if late is not None and late < limit else f"D2 is {late} late")
        session.close()

    def check_history(self) -> None:
        """Nothing is said to run that does not, and the newest refresh that succeeded is where its table stands."""
        with self.account.state.read() as state:
            running = [str(item.name) for item in (*state.dynamic.executing(), *state[TaskRecords].executing())]
            for name in ("D1", "D2"):
                id_ = self._object(name, ObjectKind.TABLE).id
                stamp = state.dynamic.require(id_).data_timestamp
                told = {row.state.value for row in state.dynamic.newest(id_, 50) if row.data_timestamp == stamp}
                self.check("history", None if "SUCCEEDED" in told else f"{name} stands at {stamp}, which is {told}")
        self.check("history", f"these run: {running}" if running else None)


class SimulatedClock:
    def now(self) -> datetime:
        return datetime.fromtimestamp(time.time(), UTC)
