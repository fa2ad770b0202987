"""Debezium's configuration for a source, and the process in which its engine runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from snowmelt.core import errors
from snowmelt.engine.jars import ensure_jars, locked_jars, require_java
from snowmelt.ingest.cdc.feed import EngineFailedError, FeedBatch, FeedEvent, TopicSchema
from snowmelt.ingest.cdc.history import SchemaHistory, history_file
from snowmelt.ingest.cdc.kinds import kind_of
from snowmelt.ingest.cdc.sources import CapturedSource

TOPIC_PREFIX = "snowmelt"
HEARTBEATS = "__debezium-heartbeat"
_PROGRAM = Path(__file__).with_name("debezium_process.py")
_JAVA_OPTIONS = ("-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Duser.timezone=UTC")
_STOP_SECONDS = 15.0
_LOG_TAIL = 4000

Offset = Mapping[str, str | int | bool | None]


def connector_properties(source: CapturedSource) -> dict[str, str]:
    """What both routes tell Debezium about a source, but for the password and for where records go."""
    tables = [*source.tables, *([source.signal_table] if source.signal_table is not None else [])]
    properties = {
        "topic.prefix": TOPIC_PREFIX,
        "database.hostname": source.host,
        "database.port": str(source.port),
        "database.user": source.user,
        "table.include.list": ",".join(_pattern(table) for table in tables),
        "snapshot.mode": source.snapshot_mode.lower(),
        # Exact values: numbers as text, JSON and arrays as they are.
        "decimal.handling.mode": "string",
        "binary.handling.mode": "base64",
        # The types as the source declares them, in the schemas.
        "column.propagate.source.type": ".*",
        # By default Debezium leaves TRUNCATE out.
        "skipped.operations": "none",
        "tombstones.on.delete": "false",
        # Without a heartbeat a quiet table would keep the log of a busy database from being recycled.
        "heartbeat.interval.ms": "10000",
        "incremental.snapshot.chunk.size": "2048",
        **kind_of(source).properties(source),
    }
    if source.signal_table is not None:
        properties |= {"signal.enabled.channels": "source", "signal.data.collection": source.signal_table}
    return properties | source.extra


def _pattern(table: str) -> str:
    """Debezium's lists are of regular expressions, in which a point means any character."""
    return table.replace(".", "\\.").replace("$", "\\$")


def snapshot_order(tables: Sequence[str]) -> dict[str, Any]:
    """What a signal says that orders an incremental snapshot."""
    return {"data-collections": list(tables), "type": "INCREMENTAL"}


def engine_properties(source: CapturedSource, name: str, folder: Path) -> dict[str, str]:
    """For the embedded engine. What it keeps in `folder` is not needed again; see `history_file` for what is."""
    properties = connector_properties(source) | {
        "name": name,
        "database.password": source.password(),
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "0",
        "max.batch.size": "4096",
        "max.queue.size": "16384",
        "max.queue.size.in.bytes": str(64 * 1024 * 1024),
        "poll.interval.ms": "50",
        # The supervisor starts a new engine; one that retries inside would be seen as alive.
        "errors.max.retries": "0",
    }
    if kind_of(source).KEEPS_HISTORY:
        properties |= {
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(history_file(folder)),
            "schema.history.internal.store.only.captured.tables.ddl": "true",
        }
    if source.signal_table is None:
        properties |= {
            "read.only": "true",
            "signal.enabled.channels": "file",
            "signal.file": str(folder / "signals"),
        }
    return properties


class DebeziumProcess:
    """An embedded engine, as a feed."""

    def __init__(self, source: CapturedSource, name: str, offset: Offset | None, folder: Path) -> None:
        require_java()
        kind = kind_of(source)
        jars = ensure_jars(jars=locked_jars(kind.JARS))
        properties = engine_properties(source, name, folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._history = SchemaHistory(history_file(folder)) if kind.KEEPS_HISTORY else None
        if self._history is not None:
            self._history.prepare(anew=offset is None)
        self._log = folder / "engine.log"
        self._lock = threading.Lock()
        self._stopping = False
        with self._log.open("wb") as log:
            # A group of its own: a Ctrl-C in the terminal is for Snowmelt, which stops the engine in order.
            self._process = subprocess.Popen(
                [sys.executable, str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                cwd=folder, start_new_session=True,
            )  # fmt: skip
        order = {
            "jars": [str(path) for path in jars],
            "java_options": list(_JAVA_OPTIONS),
            "properties": properties,
            "offset": dict(offset) if offset is not None else None,
        }
        self._say(json.dumps(order))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def batches(self) -> Iterator[FeedBatch]:
        assert self._process.stdout is not None
        schemas: list[TopicSchema] = []
        for line in self._process.stdout:
            message = json.loads(line)
            if "schema" in message:
                schemas.append(TopicSchema(message["schema"], message["topic"], message["key"], message["value"]))
            elif "batch" in message:
                if self._history is not None:
                    self._history.keep()
                yield FeedBatch(message["batch"], tuple(schemas), self._events(message["events"]), message["offset"])
                schemas = []
            elif "failed" in message:
                raise EngineFailedError(message["failed"])
            elif "stopped" in message:
                return
        if not self._stopping:
            raise EngineFailedError(f"the engine's process ended with {self._process.wait()}: {self._last_words()}")

    def acknowledge(self, batch: int) -> None:
        self._say(f"ack {batch}")

    def order_snapshot(self, identifier: str, tables: Sequence[str]) -> None:
        """Through the file in which the engine looks for signals."""
        signal = {"id": identifier, "type": "execute-snapshot", "data": snapshot_order(tables)}
        try:
            with (self._folder / "signals").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(signal) + "\n")
        except OSError as error:
            raise errors.configuration(f"The signal could not be written: {error.strerror}.") from None

    def stop(self, timeout: float = _STOP_SECONDS) -> None:
        """Ends it in order, or at once when that takes too long."""
        self._stopping = True
        if self.alive:
            self._say("stop")
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.stop()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    @property
    def asked_to_stop(self) -> bool:
        return self._stopping

    def _events(self, count: int) -> tuple[FeedEvent, ...]:
        assert self._process.stdout is not None
        events: list[FeedEvent] = []
        for _ in range(count):
            line = self._process.stdout.readline()
            if not line.endswith(b"\n"):
                raise EngineFailedError(f"the engine's process died in the middle of a batch: {self._last_words()}")
            topic, schema, key, value = line[:-1].decode().split("\t")
            events.append(FeedEvent(topic, int(schema), key, value))
        return tuple(events)

    def _say(self, text: str) -> None:
        assert self._process.stdin is not None
        with self._lock, suppress(OSError, ValueError):
            # A pipe whose other end is gone is no error here: reading from it says why.
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()

    def _last_words(self) -> str:
        with self._log.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _LOG_TAIL))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"
