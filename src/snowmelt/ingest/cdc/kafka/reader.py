"""Topics, read by Spark Structured Streaming, as a feed.

Spark hands a micro-batch to the thread that lands it and waits until it is safe. How far the topics have been read is
kept with what landed; Spark's own checkpoint is made anew from that at each start, and thrown away.
"""

from __future__ import annotations

import heapq
import json
import shutil
import threading
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.engine.session import class_loader_of
from snowmelt.ingest.cdc.debezium import snapshot_order
from snowmelt.ingest.cdc.feed import EngineFailedError, FeedBatch
from snowmelt.ingest.cdc.kafka.records import Records
from snowmelt.ingest.cdc.kafka.topics import Topics

_RECORDS = 10_000
"""In a micro-batch at most."""
_TRIGGER = "500 milliseconds"
_LOOK_SECONDS = 0.5
_REACHED = -1
_PATIENCE = {
    # A broker that is gone is to be seen as gone, and not waited for without a word.
    "kafka.default.api.timeout.ms": "30000",
    "kafka.request.timeout.ms": "20000",
    "kafkaConsumer.pollTimeoutMs": "30000",
    "fetchOffset.numRetries": "1",
}
_LOST = ("KAFKA_DATA_LOSS", "may have been lost", "may have been missed")
"""What Spark says of records that are gone from a topic unread."""
_REASON_LENGTH = 500


class KafkaFeed:
    """The topics of a connector from an offset on, which is the next one of each topic that was read before."""

    def __init__(self, session: SparkSession, topics: Topics, offset: Mapping[str, Any] | None, folder: Path) -> None:
        """The session has the jars that `jars.lock` beside this module lists."""
        self._session = session
        self._topics = topics
        self._offset = dict(offset or {})
        self._records = Records()
        self._handed: SimpleQueue[FeedBatch | SnowmeltError] = SimpleQueue()
        self._acknowledged = threading.Semaphore(0)
        self._stopping = threading.Event()
        checkpoint = folder / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        if self._offset:
            _write_checkpoint(checkpoint, self._offset)
        # An empty batch comes first, when Spark has reached the topics: they may have nothing for long.
        self._reached = FeedBatch(_REACHED, (), (), dict(self._offset))
        with class_loader_of(self._session):
            self._query = self._started(checkpoint)

    def _started(self, checkpoint: Path) -> Any:
        options = {
            **_PATIENCE,
            **self._topics.client_options(),
            "subscribePattern": self._topics.pattern,
            "startingOffsets": "earliest",
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(_RECORDS),
        }
        frame = self._session.readStream.format("kafka").options(**options).load()
        writer = frame.writeStream.foreachBatch(self._hand_over).trigger(processingTime=_TRIGGER)
        return writer.option("checkpointLocation", str(checkpoint)).start()

    # -- the feed -------------------------------------------------------------------------------------------------

    @property
    def pid(self) -> None:
        """None: the reader lives in Spark, and has no process of its own."""
        return None

    @property
    def alive(self) -> bool:
        return not self._stopping.is_set() and self._is_active()

    def _is_active(self) -> bool:
        try:
            return bool(self._query.isActive)
        except Exception as error:
            # Spark's process is gone, and the query with it.
            raise EngineFailedError(f"Spark does not answer: {type(error).__name__}") from error

    @property
    def asked_to_stop(self) -> bool:
        return self._stopping.is_set()

    def batches(self) -> Iterator[FeedBatch]:
        greeted = False
        while not self._stopping.is_set():
            try:
                handed = self._handed.get(timeout=_LOOK_SECONDS)
            except Empty:
                if not self._is_active() and not self._stopping.is_set():
                    raise self._failure() from None
                if not greeted and self._query.lastProgress is not None:
                    greeted = True
                    yield self._reached
                continue
            if isinstance(handed, SnowmeltError):
                raise handed
            greeted = True
            yield handed

    def acknowledge(self, batch: int) -> None:
        """Spark may go on: nothing else depends on it, because offsets are kept with what landed."""
        if batch != _REACHED:
            self._acknowledged.release()

    def order_snapshot(self, identifier: str, tables: Sequence[str]) -> None:
        """Through the topic in which Debezium looks for signals."""
        signal = json.dumps({"id": identifier, "type": "execute-snapshot", "data": snapshot_order(tables)})
        options = self._topics.client_options()
        try:
            with class_loader_of(self._session):
                frame = self._session.createDataFrame([(self._topics.prefix, signal)], "key string, value string")
                frame.write.format("kafka").options(**options, topic=self._topics.signals).save()
        except PySparkException as error:
            text = str(error)[:_REASON_LENGTH]
            raise errors.configuration(f"The signal could not be written: {text}") from None

    def stop(self) -> None:
        self._stopping.set()
        # Whoever waits for an acknowledgement is let go, without one.
        self._acknowledged.release()
        # Where Spark's process is gone, so is the query.
        with suppress(Exception):
            self._query.stop()

    def close(self) -> None:
        self.stop()

    # -- in Spark's thread ----------------------------------------------------------------------------------------

    def _hand_over(self, frame: DataFrame, number: int) -> None:
        columns = ("topic", "partition", "offset", "timestamp", "CAST(key AS STRING)", "CAST(value AS STRING)")
        try:
            self._handed.put(self._batch(number, frame.selectExpr(*columns).collect()))
        except SnowmeltError as error:
            self._handed.put(error)
            raise
        self._acknowledged.acquire()
        if self._stopping.is_set():
            raise InterruptedError("stopped before the batch was safe")

    def _batch(self, number: int, rows: Iterable[Sequence[Any]]) -> FeedBatch:
        """The records in the order in which they were written: exactly in a topic, to the millisecond among them."""
        by_topic: defaultdict[str, list[Sequence[Any]]] = defaultdict(list)
        for row in rows:
            if row[1] != 0:
                raise _many_partitions(row[0])
            by_topic[row[0]].append(row)
        for own in by_topic.values():
            own.sort(key=lambda row: row[2])
        ordered = heapq.merge(*by_topic.values(), key=lambda row: row[3])
        # A record without a value only tells Kafka that it may forget a key.
        events = tuple(self._records.event(row[0], row[4], row[5]) for row in ordered if row[5] is not None)
        self._offset |= {topic: own[-1][2] + 1 for topic, own in by_topic.items()}
        return FeedBatch(number, self._records.new_schemas(), events, dict(self._offset))

    def _failure(self) -> Exception:
        error = self._query.exception()
        text = str(error) if error is not None else "Spark ended the query without a word"
        if any(sign in text for sign in _LOST):
            return errors.connector_stopped(
                f"Topics lost records that had not landed yet: {text[:_REASON_LENGTH]}",
                hint="Changes are missing. Create the connector anew, and have Debezium take a new snapshot.",
            )
        return EngineFailedError(text[:_REASON_LENGTH])


def _many_partitions(topic: str) -> Exception:
    return errors.connector_stopped(
        f"The topic {topic} has more than one partition, which keeps no order among the changes of a table.",
        hint="Let Debezium write to topics of one partition (topic.creation.default.partitions = 1).",
    )


def _write_checkpoint(folder: Path, offset: Mapping[str, int]) -> None:
    """As Spark would have left it after a batch that ended there. Other topics are read from the beginning.

    The option startingOffsets would not do: it wants to hear of every topic that is there.
    """
    partitions = json.dumps({topic: {"0": next_one} for topic, next_one in offset.items()})
    files = {
        "metadata": json.dumps({"id": str(uuid.uuid4())}),
        "offsets/0": f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{{}}}}\n{partitions}',
        "commits/0": 'v1\n{"nextBatchWatermarkMs":0}',
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
