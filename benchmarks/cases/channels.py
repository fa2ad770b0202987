"""Streaming ingest through channels, beside Spark's streaming file source and beside COPY INTO of files."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.comparing import difference_of_rows
from benchmarks.measuring import Aim, Measure, Outcome, Samples, quantile, side_by_side, timed
from benchmarks.workbench import Workbench
from snowmelt.ingest import Channel, StreamingIngestClient

_BATCH = 20_000
_ARROW_AIM, _ROWS_AIM = 100_000, 30_000
_LATENCY_AIM = 2.0
_RATE = 2_000
"""Rows a second while latency is measured: far below what a channel takes, so that waiting in line is not what is
measured."""
_COLLECTED = (1, 10)
"""Seconds of rows that go into one file, for loading in micro-batches."""
_CREDITS_PER_HOUR = 1
"""Of an X-Small warehouse, which is what the whole machine is taken for while rows come in."""
_COLUMNS = (
    "id INT, customer NUMBER(12,0), status VARCHAR(10), amount NUMBER(12,2), score FLOAT, paid BOOLEAN, ordered DATE, "
    "at TIMESTAMP_NTZ, seen TIMESTAMP_LTZ, note VARCHAR"
)
_SPARK_COLUMNS = (
    "id bigint, customer bigint, status string, amount decimal(12,2), score double, paid boolean, ordered date, "
    "at timestamp_ntz, seen timestamp, note string"
)
_SUMS = (
    "COUNT(*), COUNT(DISTINCT id), SUM(id), SUM(customer), MAX(status), SUM(amount), MIN(score), MIN(ordered), "
    "MAX(at), MAX(note)"
)
_STATUSES = ("new", "paid", "sent", "returned")
_START = dt.datetime(2024, 1, 1)


def run(bench: Workbench) -> Outcome:
    rows = bench.rows(1_000_000)
    with StreamingIngestClient("benchmark", connection=bench.connection) as client:
        arrow = _through_arrow(bench, client, rows)
        copied = _by_copy(bench, rows)
        single, single_rate = _row_by_row(bench, client, bench.rows(300_000))
        seconds = max(10, int(30 * min(bench.scale, 1.0)))
        waits = _latencies(bench, client, seconds)
        facts = _quantiles("row visible after", waits)
        for collected in _COLLECTED:
            facts |= _quantiles(f"by files of {collected} s, row visible after", _by_files(bench, collected, seconds))
        queried = _queried_meanwhile(bench, client, rows)
        events, told = _events(bench, client, rows)
        copied_events, told_of_files = _copied_events(bench, rows)
    rate = rows / (arrow.snowmelt.median / 1000)
    p99 = quantile(waits, 0.99)
    aims = (
        Aim(f"{_ARROW_AIM:,} rows/s through Arrow", f"{rate:,.0f} rows/s", rate >= _ARROW_AIM),
        Aim(f"{_ROWS_AIM:,} rows/s row by row", f"{single_rate:,.0f} rows/s", single_rate >= _ROWS_AIM),
        Aim(f"visible within {_LATENCY_AIM:g} s (p99)", f"{p99:.2f} s", p99 < _LATENCY_AIM),
    )
    return Outcome(
        (arrow, copied, single, queried, events, copied_events),
        aims,
        {"rows": rows, **facts, **told, **told_of_files},
    )


# -- rows -------------------------------------------------------------------------------------------------------------


def _typed(first: int, count: int) -> pa.Table:
    """Rows of ten types, the same on every run."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "customer": pa.array([n * 7 % 50_000 for n in numbers], pa.int64()),
            "status": pa.array([_STATUSES[n % 4] for n in numbers]),
            "amount": pa.array([Decimal(n % 100_000) / 100 for n in numbers], pa.decimal128(12, 2)),
            "score": pa.array([n / 8 for n in numbers]),
            "paid": pa.array([n % 3 == 0 for n in numbers]),
            "ordered": pa.array([_START.date() + dt.timedelta(days=n % 700) for n in numbers]),
            "at": pa.array([_START + dt.timedelta(seconds=n) for n in numbers], pa.timestamp("us")),
            "seen": pa.array([_START + dt.timedelta(seconds=n) for n in numbers], pa.timestamp("us", "UTC")),
            "note": pa.array([f"note {n % 1000}" for n in numbers]),
        }
    )


def _batches(rows: int) -> Iterator[pa.Table]:
    for first in range(0, rows, _BATCH):
        yield _typed(first, min(_BATCH, rows - first))


# -- beside others ----------------------------------------------------------------------------------------------------


def _through_arrow(bench: Workbench, client: StreamingIngestClient, rows: int) -> Measure:
    """All rows until they are visible: batches through one channel, or files through a Spark streaming query."""
    bench.step("channels: making rows")
    batches = list(_batches(rows))
    folder = _files(bench, batches)
    rounds, warmup = bench.rounds(3), 1
    for number in range(rounds + warmup):
        bench.connection.execute(f"CREATE TABLE streamed_{number} ({_COLUMNS})")

    def ours(number: int) -> list[tuple[Any, ...]]:
        channel = client.open_channel("arrow", f"streamed_{number}")
        for index, batch in enumerate(batches):
            channel.append_rows(batch, offset_token=str(index))
        assert channel.wait_for_flush(600)
        channel.close()
        return []

    def theirs(number: int) -> list[tuple[Any, ...]]:
        place = bench.folder(f"streamed_{number}")
        query = (
            bench.plain.readStream.schema(_SPARK_COLUMNS).parquet(str(folder)).writeStream.format("delta")
            .option("checkpointLocation", str(place / "checkpoint")).trigger(availableNow=True)
            .start(str(place / "table"))
        )  # fmt: skip
        query.awaitTermination()
        return []

    measure = side_by_side(
        f"{rows:,} rows, 10 columns, streaming file source", ours, theirs, rounds=rounds, warmup=warmup, step=bench.step
    )
    last = rounds + warmup - 1
    sums = bench.snowmelt_rows(f"SELECT {_SUMS} FROM streamed_{last}")
    plain = bench.plain_rows(f"SELECT {_SUMS} FROM delta.`{bench.folder(f'streamed_{last}') / 'table'}`")
    return Measure(measure.name, measure.snowmelt, measure.plain, difference_of_rows(sums, plain))


def _files(bench: Workbench, batches: list[pa.Table]) -> Path:
    folder = bench.folder("streaming_files")
    for index, batch in enumerate(batches):
        pq.write_table(batch, folder / f"{index:05}.parquet", compression="zstd")
    return folder


def _by_copy(bench: Workbench, rows: int) -> Measure:
    """The same rows as files: PUT beforehand, COPY INTO timed."""
    folder = bench.folder("streaming_files")
    bench.connection.execute("CREATE STAGE landing FILE_FORMAT = (TYPE = PARQUET)")
    bench.connection.execute(f"PUT file://{folder}/*.parquet @landing AUTO_COMPRESS = FALSE")
    taken: list[float] = []
    for number in range(bench.rounds(3)):
        bench.step(f"channels: COPY INTO, round {number + 1}")
        bench.connection.execute(f"CREATE OR REPLACE TABLE copied ({_COLUMNS})")
        started = time.perf_counter()
        bench.connection.execute("COPY INTO copied FROM @landing MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE")
        taken.append((time.perf_counter() - started) * 1000)
    sums = bench.snowmelt_rows(f"SELECT {_SUMS} FROM copied")
    difference = difference_of_rows(sums, bench.snowmelt_rows(f"SELECT {_SUMS} FROM streamed_0"))
    return Measure(f"{rows:,} rows, COPY INTO of files", Samples(tuple(taken)), difference=difference)


def _row_by_row(bench: Workbench, client: StreamingIngestClient, rows: int) -> tuple[Measure, float]:
    bench.step("channels: rows one by one")
    bench.connection.execute(f"CREATE TABLE singles ({_COLUMNS})")
    given = [row for batch in _batches(rows) for row in batch.to_pylist()]
    channel = client.open_channel("singles", "singles")
    started = time.perf_counter()
    for number, row in enumerate(given):
        channel.insert_row(row, str(number))
    assert channel.wait_for_flush(600)
    elapsed = time.perf_counter() - started
    found = bench.snowmelt_rows("SELECT COUNT(*), COUNT(DISTINCT id), SUM(id), SUM(amount) FROM singles")
    wanted = [(rows, rows, rows * (rows - 1) // 2, sum(row["amount"] for row in given))]
    measure = Measure(
        f"{rows:,} rows one by one", Samples((elapsed * 1000,)), difference=difference_of_rows(found, wanted)
    )
    return measure, rows / elapsed


# -- latency ----------------------------------------------------------------------------------------------------------


@dataclass
class _Watch:
    """When each offset token became visible."""

    channel: Channel
    seen: list[tuple[float, int]] = field(default_factory=list)
    """Instants, with the committed token as of then."""
    _ended: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self._ended.wait(0.005):
            self._note()

    def _note(self) -> None:
        token = self.channel.get_latest_committed_offset_token()
        if token is not None and (not self.seen or self.seen[-1][1] != int(token)):
            self.seen.append((time.perf_counter(), int(token)))

    def waits(self, sent: list[float], work: Callable[[], None]) -> list[float]:
        """Does the work, which notes in `sent` when it sent each token; returns the seconds that each took."""
        looking = threading.Thread(target=self.look, daemon=True)
        looking.start()
        work()
        self._ended.set()
        looking.join()
        self._note()
        found: list[float] = []
        upto = 0
        for at, token in self.seen:
            found += [at - sent[number] for number in range(upto, token + 1)]
            upto = token + 1
        return found


def _latencies(bench: Workbench, client: StreamingIngestClient, seconds: int) -> list[float]:
    """From `insert_row` to being visible, at a steady rate."""
    bench.step("channels: latency")
    bench.connection.execute(f"CREATE TABLE steady ({_COLUMNS})")
    channel = client.open_channel("steady", "steady")
    sent: list[float] = []

    def work() -> None:
        for _ in zip(range(_RATE * seconds), _steadily(channel, sent), strict=False):
            pass
        assert channel.wait_for_commit(timeout_seconds=60)

    return _Watch(channel).waits(sent, work)


def _steadily(channel: Channel, sent: list[float]) -> Iterator[None]:
    """Sends a row at each step, when it is due, and notes the instant."""
    given = _typed(0, _RATE).to_pylist()
    started = time.perf_counter()
    for number in itertools.count():
        due = started + number / _RATE
        while (left := due - time.perf_counter()) > 0:
            time.sleep(min(left, 0.002))
        sent.append(time.perf_counter())
        channel.insert_row(given[number % _RATE], str(number))
        yield


def _by_files(bench: Workbench, collected: int, seconds: int) -> list[float]:
    """The same rate in micro-batches: rows are written to a file for a while, which is then put and loaded.

    The next file is filled meanwhile, as by a producer of its own: a row waits for its file, and for the load.
    """
    bench.step(f"channels: micro-batches of {collected} s")
    table = f"by_files_{collected}"
    bench.connection.execute(f"CREATE TABLE {table} ({_COLUMNS})")
    bench.connection.execute(f"CREATE STAGE {table} FILE_FORMAT = (TYPE = PARQUET)")
    folder = bench.folder(table)
    count = collected * _RATE
    files = [_typed(number * count, count) for number in range(max(2, seconds // collected))]
    started, waits = time.perf_counter(), list[float]()
    for number, rows in enumerate(files):
        complete = started + (number + 1) * collected
        time.sleep(max(0.0, complete - time.perf_counter()))
        path = folder / f"{number:05}.parquet"
        pq.write_table(rows, path, compression="zstd")
        bench.connection.execute(f"PUT file://{path} @{table} AUTO_COMPRESS = FALSE")
        bench.connection.execute(f"COPY INTO {table} FROM @{table} MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE")
        visible = time.perf_counter()
        waits += [visible - complete + collected - row / _RATE for row in range(count)]
    found = bench.snowmelt_rows(f"SELECT COUNT(*), COUNT(DISTINCT id) FROM {table}")
    assert found == [(len(files) * count,) * 2], found
    return waits


def _queried_meanwhile(bench: Workbench, client: StreamingIngestClient, rows: int) -> Measure:
    """A query over the table into which rows come, beside the same query when none come."""
    query = "SELECT status, COUNT(*), SUM(amount) FROM streamed_0 GROUP BY status"
    channel, ended = client.open_channel("meanwhile", "streamed_0"), threading.Event()

    def send() -> None:
        for _ in _steadily(channel, []):
            if ended.is_set():
                return

    def asked() -> Samples:
        taken = [timed(lambda _: bench.snowmelt_rows(query), 0)[1] for _ in range(2 + bench.rounds(10))]
        return Samples(tuple(taken[2:]), tuple(taken[:2]))

    bench.step("channels: a query at rest")
    # Twice: the first time makes everything warm, for both sides.
    at_rest = [asked() for _ in range(2)][-1]
    bench.step("channels: a query while rows come in")
    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    meanwhile = asked()
    ended.set()
    sending.join()
    assert channel.wait_for_commit(timeout_seconds=60)
    return Measure(f"a query over {rows:,} rows while {_RATE:,} a second come, beside none coming", meanwhile, at_rest)


# -- documents --------------------------------------------------------------------------------------------------------


def _events(bench: Workbench, client: StreamingIngestClient, rows: int) -> tuple[Measure, dict[str, str | int | float]]:
    """Events with a document each, as change data capture sends them, as fast as they go in."""
    bench.step("channels: events with documents")
    bench.connection.execute("CREATE TABLE documents (id INT, kind VARCHAR, payload VARIANT)")
    channel = client.open_channel("events", "documents")
    chunk = 2_000
    sent: list[float] = []

    def work() -> None:
        for first in range(0, rows, chunk):
            numbers = range(first, min(first + chunk, rows))
            payloads = [json.dumps(_payload(number)) for number in numbers]
            kinds = ["order"] * len(numbers)
            batch = pa.table({"id": pa.array(numbers, pa.int64()), "kind": kinds, "payload": payloads})
            sent.extend([time.perf_counter()] * len(numbers))
            channel.append_rows(batch, offset_token=str(numbers[-1]))
        assert channel.wait_for_flush(600)

    started = time.perf_counter()
    waits = _Watch(channel).waits(sent, work)
    elapsed = time.perf_counter() - started
    sums = "COUNT(*), SUM(payload:id::INT), MAX(payload:customer.name::VARCHAR)"
    found = bench.snowmelt_rows(f"SELECT {sums} FROM documents")
    wanted = [(rows, rows * (rows - 1) // 2, "name 999")]
    difference = difference_of_rows(found, wanted)
    measure = Measure(f"{rows:,} events with VARIANT", Samples((elapsed * 1000,)), difference=difference)
    facts: dict[str, str | int | float] = {"events/s": round(rows / elapsed)}
    facts |= _quantiles("event visible after", waits)
    facts["credits per million events (X-Small)"] = _credits(elapsed, rows)
    return measure, facts


def _copied_events(bench: Workbench, rows: int) -> tuple[Measure, dict[str, str | int | float]]:
    """The same events as JSON files of a hundredth each: written, put and loaded, file by file."""
    bench.step("channels: events by COPY INTO")
    bench.connection.execute("CREATE TABLE copied_documents (id INT, kind VARCHAR, payload VARIANT)")
    bench.connection.execute("CREATE STAGE documents FILE_FORMAT = (TYPE = JSON)")
    folder, chunk = bench.folder("documents"), max(1, rows // 100)
    started = time.perf_counter()
    for first in range(0, rows, chunk):
        path = folder / f"{first:09}.json"
        lines = (
            json.dumps({"id": number, "kind": "order", "payload": _payload(number)})
            for number in range(first, min(first + chunk, rows))
        )
        path.write_text("\n".join(lines), encoding="utf-8")
        bench.connection.execute(f"PUT file://{path} @documents AUTO_COMPRESS = FALSE")
        bench.connection.execute("COPY INTO copied_documents FROM @documents MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE")
    elapsed = time.perf_counter() - started
    sums = "COUNT(*), SUM(payload:id::INT), MAX(payload:customer.name::VARCHAR)"
    both = [bench.snowmelt_rows(f"SELECT {sums} FROM {table}") for table in ("copied_documents", "documents")]
    measure = Measure(
        f"{rows:,} events with VARIANT, COPY INTO of 100 files", Samples((elapsed * 1000,)),
        difference=difference_of_rows(*both),
    )  # fmt: skip
    return measure, {
        "by files, events/s": round(rows / elapsed),
        "by files, credits per million events (X-Small)": _credits(elapsed, rows),
    }


def _credits(elapsed: float, rows: int) -> str:
    return f"{elapsed / 3600 * _CREDITS_PER_HOUR * 1_000_000 / rows:.4f}"


def _quantiles(what: str, waits: list[float]) -> dict[str, str | int | float]:
    return {f"{what}, p{round(share * 100)}": f"{quantile(waits, share):.2f} s" for share in (0.5, 0.95, 0.99)}


def _payload(number: int) -> dict[str, Any]:
    return {
        "id": number, "customer": {"id": number % 5_000, "name": f"name {number % 1000}"},
        "items": [{"sku": f"s{number % 97}", "quantity": number % 5 + 1, "price": number % 1000 / 100}],
        "paid": number % 2 == 0, "note": None,
    }  # fmt: skip
