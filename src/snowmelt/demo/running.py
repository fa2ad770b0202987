"""The demo from its first line to its last: everything is started, watched, checked, and stopped again."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.live import Live

from snowmelt.accounts import open_account
from snowmelt.core import errors
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.demo import closing, view
from snowmelt.demo.checks import DemoCheck, verdict
from snowmelt.demo.object_store import BUCKET, LocalS3
from snowmelt.demo.progress import step
from snowmelt.demo.shop import Clerk, Shop, WriteLoad
from snowmelt.demo.snapshot import DemoSnapshot
from snowmelt.demo.watching import CONNECTOR, DATABASE, STAGES, RevenueReader, Watcher
from snowmelt.engine.jars import ensure_jars, locked_jars
from snowmelt.features.connectors.service import Connectors
from snowmelt.features.dynamic_tables.service import DynamicTables
from snowmelt.features.tasks.service import Tasks
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.serve.address import Address
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.run import serving_beside
from snowmelt.sql.tokens import split_statements

EXIT_SOUND, EXIT_UNSOUND = 0, 1
_PLAIN_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""
_LOOK_EVERY, _DRAW_EVERY = 0.1, 0.5
_PATIENCE = 600.0
"""Seconds that a machine may take for what has to come to an end: the first snapshot, and the last changes."""


class DemoStore(StrEnum):
    """Where the tables lie."""

    DISK = "disk"
    S3 = "s3"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the user asked for."""

    data: Path
    duration: timedelta
    rate: float
    """Transactions a second in the source."""
    program: str = "snowmelt"
    """How the user calls this command, for the lines to copy at the end."""
    store: DemoStore = DemoStore.DISK


def run_demo(console: Console, plan: DemoOptions, settings: Settings) -> int:
    """The exit code says whether all checks passed. Nothing is left running, whatever happens."""
    with _stopped_in_order(console) as started:
        shop, clerk, port = _open_source(console, started)
        if plan.store is DemoStore.S3:
            settings = _in_s3(console, started, plan.data, settings)
        account = _open_account(console, started, plan.data, settings)
        session = account.session(database=DATABASE)
        started.callback(_pause_connector, session)
        _build(console, session, port)
        load = WriteLoad(shop, clerk, plan.rate)
        started.callback(load.stop)
        watcher = Watcher(account, load, plan.duration)
        _catch_up(console, session, watcher)
        last = _watch(console, account, session, watcher, load)
        checks = _checked(console, session, shop, watcher, load)
        with step(console, "Stopping everything", "Everything is stopped"):
            started.close()
    console.print(closing.verdict(checks))
    console.print(closing.measured(last))
    if plan.store is DemoStore.S3:
        console.print(f"The tables are objects in {plan.data / 's3' / 'buckets' / BUCKET}.", soft_wrap=True)
    else:
        console.print(closing.ways_on(plan.data, plan.program), soft_wrap=True)
    return EXIT_SOUND if all(check.passed for check in checks) else EXIT_UNSOUND


def _open_source(console: Console, started: ExitStack) -> tuple[Shop, Clerk, int]:
    with step(console, "Starting PostgreSQL", "PostgreSQL runs, with a shop in it"):
        server = EmbeddedPostgres(LOGICAL_REPLICATION)
        started.enter_context(server)
        shop = Shop(server.url())
        return shop, shop.build(), server.port


def _in_s3(console: Console, started: ExitStack, data: Path, settings: Settings) -> Settings:
    """Starts an S3 server, and has this process use it alone. Its keys are good for as long as it runs."""
    with step(console, "Starting an S3 server", "An S3 server runs, with a bucket for the tables") as tell:
        server = started.enter_context(LocalS3(data / "s3", tell))
    os.environ.pop("AWS_SESSION_TOKEN", None)
    os.environ.update(server.environment)
    return settings.model_copy(update={"storage_root": f"s3://{BUCKET}/snowmelt", "storage_options": server.options})


def _open_account(console: Console, started: ExitStack, data: Path, settings: Settings) -> Account:
    with step(
        console, "Looking for the jars of Spark, Delta and Debezium", "Spark, Delta and Debezium are there"
    ) as tell:
        ensure_jars(report=tell)
        ensure_jars(jars=locked_jars("snowmelt.ingest.cdc"), report=tell)
    with step(console, "Starting Spark", f"Spark runs; the data is in {data}"):
        account = started.enter_context(open_account(data, settings=settings))
        account.engine.session()
        account.services[DynamicTables].start()
        account.services[Tasks].start()
        account.services[Connectors].start()
        # So that `snowmelt sql --data …` can look on from another terminal.
        credentials, _ = load_credentials(account.data_dir)
        server = HttpServer(account, credentials, hosts=())
        port = started.enter_context(serving_beside(server, Address(0)))
        account.ownership.announce(f"http://127.0.0.1:{port}")
    # Good once: what logs in stands behind the #, which no server and no log sees.
    address = f"http://127.0.0.1:{port}/#link={server.console.visitors.links.issue()}"
    console.print(f"Watch it in your browser: [bold]{address}[/bold]", soft_wrap=True)
    return account


def _build(console: Console, session: Session, port: int) -> None:
    text = files("snowmelt.demo").joinpath("pipeline.sql").read_text(encoding="utf-8").replace("{port}", str(port))
    with step(console, "Creating the pipeline", "The pipeline is there, and the shop is captured") as tell:
        for statement in split_statements(text):
            tell(_title(statement.text))
            session.execute(statement)
        tell("the connector reads what the shop has")
        _wait(lambda: _streams(session), "the first snapshot")


def _catch_up(console: Console, session: Session, watcher: Watcher) -> None:
    """Rows that were there go all the way first: Spark compiles each query once, which should not count as lag."""
    with step(
        console, "Bringing what the shop had into every table", f"{watcher.read:,} rows are in every table"
    ) as tell:
        tell("the task parses")
        _wait(lambda: _is_parsed(session, watcher), "the task")
        tell("the dynamic tables are refreshed")
        since = datetime.now(UTC)
        _wait(lambda: _fresh(watcher, since), "the first refreshes")


def _pause_connector(session: Session) -> None:
    """Pauses the connector: its source ends with the demo, and a server on the folder later would not find it."""
    with suppress(SnowmeltError):
        session.execute(f"ALTER CONNECTOR IF EXISTS {CONNECTOR} PAUSE")


def _title(statement: str) -> str:
    """The first line of a statement up to the name, without comments."""
    code = [line for line in statement.splitlines() if line.strip() and not line.startswith("--")]
    return code[0].rstrip(" (;")


def _streams(session: Session) -> bool:
    result = session.execute(f"DESCRIBE CONNECTOR {CONNECTOR}")
    standing = dict(zip((column.name for column in result.columns), result.rows()[0], strict=True))
    if standing["state"] == "FAILED":
        raise errors.connector_stopped(str(standing["error"]))
    return bool(standing["state"] == "STREAMING")


def _watch(console: Console, account: Account, session: Session, watcher: Watcher, load: WriteLoad) -> DemoSnapshot:
    """The shop is open for as long as was asked for; then everything comes to rest. What was to be seen then."""
    reader = RevenueReader(account)
    with _shown(console, watcher, reader) as show:
        watcher.open()
        load.start()
        reader.start()
        try:
            _wait_showing(show, watcher, lambda: load.failure is not None, watcher.duration.total_seconds())
            load.stop()
            watcher.phase = "the shop is closed, changes arrive"
            _wait_showing(show, watcher, lambda: watcher.look() >= load.changes, _PATIENCE)
            watcher.phase = "the task parses what is left"
            _wait_showing(show, watcher, lambda: _is_parsed(session, watcher), _PATIENCE)
            watcher.phase = "the last refreshes"
            since = datetime.now(UTC)
            _wait_showing(show, watcher, lambda: _fresh(watcher, since), _PATIENCE)
            watcher.phase = "all is quiet"
            show()
            return watcher.snapshot(reader.rows)
        finally:
            reader.stop()


def _is_parsed(session: Session, watcher: Watcher) -> bool:
    """Whether the stream is consumed; asked before the task, which may be on its way to consume it."""
    waiting = session.execute("SELECT SYSTEM$STREAM_HAS_DATA('new_changes')").rows()[0][0]
    return not waiting and not watcher.task_runs_now()


def _fresh(watcher: Watcher, since: datetime) -> bool:
    return all(stands is not None and stands >= since for stands in watcher.data_timestamps().values())


def _checked(console: Console, session: Session, shop: Shop, watcher: Watcher, load: WriteLoad) -> list[DemoCheck]:
    checks: list[DemoCheck] = []
    with step(console, "Checking every table against its query and against PostgreSQL", "Checked") as tell:
        for check in verdict(session, shop.rows, list(STAGES), watcher.read + load.changes, watcher.failures()):
            tell(check.what)
            checks.append(check)
    return checks


# -- waiting ----------------------------------------------------------------------------------------------------------


def _wait(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + _PATIENCE
    pause = threading.Event()
    while not holds():
        if time.monotonic() > until:
            raise errors.internal(f"the demo waited {_PATIENCE:.0f} s for {what}.")
        pause.wait(_LOOK_EVERY)


def _wait_showing(show: Callable[[], None], watcher: Watcher, holds: Callable[[], bool], seconds: float) -> None:
    """Until it holds or time is over; whether something is missing then, the checks will say."""
    until = time.monotonic() + seconds
    pause = threading.Event()
    drawn = 0.0
    while not holds() and time.monotonic() < until:
        watcher.look()
        if time.monotonic() - drawn >= _DRAW_EVERY:
            show()
            drawn = time.monotonic()
        pause.wait(_LOOK_EVERY)
    show()


@contextmanager
def _shown(console: Console, watcher: Watcher, reader: RevenueReader) -> Iterator[Callable[[], None]]:
    """What draws the present state: a picture that changes, or a line now and then."""
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda: live.update(view.picture(watcher.snapshot(reader.rows)), refresh=True)
        return
    printed = [0.0]

    def show() -> None:
        if time.monotonic() - printed[0] >= _PLAIN_EVERY:
            printed[0] = time.monotonic()
            console.print(view.line(watcher.snapshot(reader.rows)), soft_wrap=True)

    yield show


@contextmanager
def _stopped_in_order(console: Console) -> Iterator[ExitStack]:
    """What the block starts is stopped at its end, also by Ctrl-C, SIGTERM and a terminal that is closed.

    Once the stopping has begun, nothing interrupts it: a second Ctrl-C would leave processes behind.
    """
    if threading.current_thread() is not threading.main_thread():
        with ExitStack() as started:
            yield started
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in ends if signal.getsignal(number) != signal.SIG_IGN}
    try:
        with ExitStack() as started:
            try:
                yield started
            except KeyboardInterrupt:
                console.print("Interrupted: everything that was started is being stopped …")
                raise
            finally:
                for number in before:
                    signal.signal(number, signal.SIG_IGN)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
