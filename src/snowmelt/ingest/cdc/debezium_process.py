"""Debezium's embedded engine, alone in a process of its own: batches of changes out, acknowledgements in.

Run as a script. The first line of standard input is a JSON object with `jars`, `java_options`, `properties` (those of
Debezium, the password included, which therefore stands on no command line) and `offset` (where to go on, or null).
After that, standard output carries lines:

    {"schema": 3, "topic": "shop.public.orders", "key": {…}, …}       once per shape of a table's rows
    {"batch": 7, "events": 2, "offset": {…}}                          then so many events follow
    topic <TAB> schema <TAB> key <TAB> envelope                       JSON texts, which hold no tabs or line ends
    {"failed": "…"} or {"stopped": true}                              at the end

and nothing is confirmed to the database before `ack 7` has arrived: it is safe then. While there is much to tell,
which full batches show, the engine makes the next one ready meanwhile, and only one: whoever reads slowly slows the
database's reader down instead of filling memory. `stop` ends it in order.

It imports nothing of Snowmelt: a process that only carries a JVM should start quickly and be killed without regret.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

import jpype
from jpype import JImplements, JOverride

_STOP = "stop"
_CLOSING_SECONDS = 10.0


class ParentLink:
    """The two pipes to the process that started this one."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._acknowledged: queue.Queue[int | None] = queue.Queue()
        self.stopping = threading.Event()

    def listen(self) -> None:
        """Reads acknowledgements until told to stop, or until the other side is gone."""
        for line in sys.stdin:
            word, _, rest = line.strip().partition(" ")
            if word == _STOP:
                break
            if word == "ack":
                self._acknowledged.put(int(rest))
        self.stopping.set()
        self._acknowledged.put(None)

    def tell(self, message: dict[str, Any]) -> None:
        self.write([json.dumps(message).encode()])

    def write(self, lines: list[bytes]) -> None:
        with self._lock:
            self._out.write(b"\n".join(lines) + b"\n")
            self._out.flush()

    def next_safe(self) -> int | None:
        """The next batch that is safe, in their order; None when the process is to end first."""
        acknowledged = self._acknowledged.get()
        if acknowledged is None:
            self._acknowledged.put(None)
        return acknowledged


class TopicShapes:
    """Tells each shape of a topic's rows once, and then refers to it by a number."""

    def __init__(self, converter: Any) -> None:
        self._converter = converter
        self._numbers: dict[tuple[str, int, bool], int] = {}
        self._kept: list[Any] = []
        """Schemas are known by identity: none of those told may be collected and its place taken by another."""

    def number_of(self, topic: str, key_schema: Any, value_schema: Any, lines: list[bytes]) -> int:
        if value_schema is None:
            return 0
        # A TRUNCATE has no key, while the rows that its schema is for have one.
        keyless = key_schema is None
        identity = (topic, int(jpype.java.lang.System.identityHashCode(value_schema)), keyless)
        known = self._numbers.get(identity)
        if known is not None:
            return known
        self._kept += [key_schema, value_schema]
        number = self._numbers[identity] = len(self._numbers) + 1
        message = {
            "schema": number,
            "topic": topic,
            "key": self._json(key_schema),
            "value": self._json(value_schema),
        }
        lines.append(json.dumps(message).encode())
        return number

    def _json(self, schema: Any) -> Any:
        return json.loads(str(self._converter.asJsonSchema(schema).toString())) if schema is not None else None


class Unconfirmed:
    """Batches that were told, oldest first: their last records are confirmed to the source once they are safe."""

    def __init__(self, link: ParentLink) -> None:
        self._link = link
        self._last: dict[int, Any] = {}

    def add(self, batch: int, last: Any) -> None:
        self._last[batch] = last

    def confirm(self, committer: Any, *, leave: int) -> None:
        """Waits until no more than so many are left."""
        while len(self._last) > leave:
            safe = self._link.next_safe()
            if safe is None:
                # Debezium takes an interruption for the end of the engine: what is left stays unconfirmed.
                raise jpype.java.lang.InterruptedException("stopped before the batch was safe")
            # Records have one order, and the offset of the last is that of all before it.
            committer.markProcessed(self._last.pop(safe))
            committer.markBatchFinished()


def _consumer(link: ParentLink, full: int) -> Any:
    """Full batches are of so many records: behind one there are more."""
    # Java classes exist only once the JVM runs, so this one is made here.
    converter = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
    settings = jpype.java.util.HashMap()
    settings.put("schemas.enable", "false")
    settings.put("decimal.format", "NUMERIC")
    # Otherwise a NULL in a column that has a default would arrive as the default.
    settings.put("replace.null.with.default", "false")
    converter.configure(settings, False)
    shapes = TopicShapes(converter)

    def text(topic: str, schema: Any, value: Any) -> bytes:
        return bytes(converter.fromConnectData(topic, schema, value)) if value is not None else b""

    @JImplements("io.debezium.engine.DebeziumEngine$ChangeConsumer")
    class Consumer:
        def __init__(self) -> None:
            self._batch = 0
            self._unconfirmed = Unconfirmed(link)

        @JOverride
        def handleBatch(self, records: Any, committer: Any) -> None:  # noqa: N802 - the name is Debezium's
            self._batch += 1
            lines: list[bytes] = []
            events: list[bytes] = []
            event = record = None
            # Each call into Java costs about as much as a column: none is made twice.
            for event in records:
                record = event.record()
                topic, key_schema, value_schema = str(record.topic()), record.keySchema(), record.valueSchema()
                number = shapes.number_of(topic, key_schema, value_schema, lines)
                key, value = text(topic, key_schema, record.key()), text(topic, value_schema, record.value())
                events.append(b"\t".join((topic.encode(), b"%d" % number, key, value)))
            offset = _plain(record.sourceOffset()) if record is not None else {}
            message = {"batch": self._batch, "events": len(events), "offset": offset}
            link.write([*lines, json.dumps(message).encode(), *events])
            self._unconfirmed.add(self._batch, event)
            self._unconfirmed.confirm(committer, leave=1 if len(events) >= full else 0)

        @JOverride
        def supportsTombstoneEvents(self) -> bool:  # noqa: N802
            return False

    return Consumer()


def _completion(link: ParentLink, done: threading.Event) -> Any:
    @JImplements("io.debezium.engine.DebeziumEngine$CompletionCallback")
    class Completion:
        @JOverride
        def handle(self, success: bool, message: Any, error: Any) -> None:
            # The engine's run() returns as if all were well when it failed: only this callback knows.
            if success or link.stopping.is_set():
                link.tell({"stopped": True})
            else:
                link.tell({"failed": _reasons(message, error)})
            done.set()

    return Completion()


def _reasons(message: Any, error: Any) -> str:
    """The message with what it was caused by, innermost last."""
    found = [str(message)]
    while error is not None:
        text = str(error.getMessage() or error.getClass().getName())
        if not any(text in known for known in found):
            found.append(text)
        error = error.getCause()
    return " <- ".join(found)


def _plain(offset: Any) -> dict[str, Any]:
    """A Java map of an offset's values."""
    plain: dict[str, Any] = {}
    for entry in offset.entrySet() if offset else ():
        value = entry.getValue()
        if value is None or isinstance(value, jpype.JBoolean | jpype.java.lang.Boolean):
            plain[str(entry.getKey())] = None if value is None else bool(value)
        elif isinstance(value, jpype.java.lang.Number):
            plain[str(entry.getKey())] = int(value.longValue())
        else:
            plain[str(entry.getKey())] = str(value)
    return plain


def _write_offset(path: Path, engine: str, server: str, offset: dict[str, Any] | None) -> None:
    """The offset in the file format of Kafka's FileOffsetBackingStore: a serialised map of JSON texts."""
    if offset is None:
        path.unlink(missing_ok=True)
        return
    entries = jpype.java.util.HashMap()
    key = json.dumps([engine, {"server": server}], separators=(",", ":")).encode()
    value = json.dumps(offset, separators=(",", ":")).encode()
    entries.put(jpype.JArray(jpype.JByte)(key), jpype.JArray(jpype.JByte)(value))
    file = jpype.java.io.FileOutputStream(str(path))
    stream = jpype.java.io.ObjectOutputStream(file)
    stream.writeObject(entries)
    stream.close()


def main() -> int:
    """Runs the engine until it fails, is told to stop, or loses the process that started it."""
    # What Java prints must not get between the lines of the protocol.
    out = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
    os.dup2(2, 1)
    # Ctrl-C in a terminal reaches every process there; the one that started this one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order = json.loads(sys.stdin.readline())
    link = ParentLink(out)
    threading.Thread(target=link.listen, daemon=True).start()
    jpype.startJVM(*order["java_options"], classpath=order["jars"], convertStrings=False)
    properties = jpype.java.util.Properties()
    for name, value in order["properties"].items():
        properties.setProperty(name, value)
    offsets = Path(order["properties"]["offset.storage.file.filename"])
    _write_offset(offsets, order["properties"]["name"], order["properties"]["topic.prefix"], order["offset"])
    done = threading.Event()
    engine_class = jpype.JClass("io.debezium.engine.DebeziumEngine")
    format_class = jpype.JClass("io.debezium.engine.format.ChangeEventFormat")
    connect = jpype.JClass("io.debezium.embedded.Connect")
    builder = engine_class.create(format_class.of(connect.class_))
    consumer = _consumer(link, int(order["properties"]["max.batch.size"]))
    engine = builder.using(properties).using(_completion(link, done)).notifying(consumer).build()
    runner = threading.Thread(target=_run, args=(engine, done, link), daemon=True)
    runner.start()
    while not done.wait(0.2):
        if link.stopping.is_set():
            break
    if not done.is_set():
        # Whoever started this one may be gone, and the source has one slot: it must not be held for ever.
        threading.Timer(_CLOSING_SECONDS, os._exit, [1]).start()
        engine.close()
    # The JVM has threads that would keep the process: it owes nobody anything any more.
    out.flush()
    os._exit(0)


def _run(engine: Any, done: threading.Event, link: ParentLink) -> None:
    try:
        engine.run()
    except Exception as error:
        link.tell({"failed": str(error)})
    finally:
        done.set()


if __name__ == "__main__":
    sys.exit(main())
