"""Messages of a Kafka topic, up to the end that it has when the run begins. The place is the next offset of each
partition: Kafka's own committed offsets are of no account."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.options import COUNT
from snowmelt.extract_load.problems import SourceRefusedError, SourceUnavailableError, not_installed
from snowmelt.extract_load.records import Batch, Record, Rejected
from snowmelt.extract_load.sources.base import (
    BATCH_ROWS,
    Extractor,
    SourceDescription,
    TableToRead,
    read_json_place,
)
from snowmelt.extract_load.sources.formats import json_item

try:
    import confluent_kafka
except ModuleNotFoundError:  # An extra: snowmelt[kafka].
    confluent_kafka = None  # type: ignore[assignment]

_POLL_MESSAGES = 1_000
_HOUR = 3600.0
Offsets = dict[int, int]


class KafkaExtractor(Extractor):
    """JSON messages of one topic. A message without a value is a deletion: a record of `_key` and `_deleted`.

    `settings` are properties of librdkafka: security.protocol, sasl.username, sasl.password and so on; `seconds` is
    how long a broker may take to answer.
    """

    def __init__(
        self, address: str, topic: str, *, settings: Mapping[str, str] | None = None, batch_rows: int = BATCH_ROWS,
        seconds: float = 30.0,
    ) -> None:  # fmt: skip
        if confluent_kafka is None:
            raise not_installed("confluent_kafka", "kafka")
        self.address, self.topic, self.batch_rows = address, topic, batch_rows
        self.settings, self.seconds = dict(settings or {}), seconds

    def extract(self, after: str | None) -> Iterator[Batch]:
        place = read_json_place(after, "offsets") if after is not None else {"offsets": {}}
        given = {int(partition): int(offset) for partition, offset in place["offsets"].items()}
        consumer = confluent_kafka.Consumer(self._configuration())
        try:
            starts, ends = self._bounds(consumer, given)
            if any(starts[partition] < ends[partition] for partition in ends):
                yield from self._batches(consumer, starts, ends, given)
        except confluent_kafka.KafkaException as error:
            raise self._as_error(error.args[0]) from None
        finally:
            consumer.close()

    def measure(self) -> tuple[int, float]:
        """How many messages the topic has, and how many came in a second of the last hour."""
        consumer = confluent_kafka.Consumer(self._configuration())
        try:
            starts, ends = self._bounds(consumer, {})
            moment = int((time.time() - _HOUR) * 1000)
            asked = [confluent_kafka.TopicPartition(self.topic, partition, moment) for partition in ends]
            since = {item.partition: item.offset for item in consumer.offsets_for_times(asked, timeout=self.seconds)}
        except confluent_kafka.KafkaException as error:
            raise self._as_error(error.args[0]) from None
        finally:
            consumer.close()
        # Where nothing is that young the answer is the end, which is below 0.
        recent = sum(ends[partition] - offset for partition, offset in since.items() if offset >= 0)
        return sum(end - starts[partition] for partition, end in ends.items()), recent / _HOUR

    def _configuration(self) -> dict[str, Any]:
        return {
            # Messages of aborted transactions do not count.
            "isolation.level": "read_committed", "socket.timeout.ms": int(self.seconds * 1000),
            **self.settings, "bootstrap.servers": self.address, "group.id": self.settings.get("group.id", "snowmelt"),
            "enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error",
            "log_level": 2,
        }  # fmt: skip

    def _bounds(self, consumer: Any, given: Offsets) -> tuple[Offsets, Offsets]:
        """Where each partition begins for this run, and where it ends by now."""
        found = consumer.list_topics(self.topic, timeout=self.seconds).topics[self.topic]
        if found.error is not None:
            raise self._as_error(found.error)
        starts, ends = dict(given), {}
        for partition in sorted(found.partitions):
            there = confluent_kafka.TopicPartition(self.topic, partition)
            low, high = consumer.get_watermark_offsets(there, timeout=self.seconds)
            if partition in given and given[partition] < low:
                raise self._gone(partition, given[partition], low)
            if partition in given and given[partition] > high:
                raise self._made_anew(partition, given[partition], high)
            starts.setdefault(partition, low)
            ends[partition] = high
        return starts, ends

    def _batches(self, consumer: Any, starts: Offsets, ends: Offsets, given: Offsets) -> Iterator[Batch]:
        """An empty partition is part of the place too: what it gets later must not be taken for lost."""
        at, reported = {**starts, **given}, given
        waiting = {partition for partition, end in ends.items() if at[partition] < end}
        consumer.assign([confluent_kafka.TopicPartition(self.topic, number, at[number]) for number in sorted(waiting)])
        records: list[Record] = []
        positions: list[str] = []
        rejected: list[Rejected] = []
        for message in self._messages(consumer, waiting, at, ends):
            made = _item(message)
            if isinstance(made, Rejected):
                rejected.append(made)
            else:
                positions.append(made[0])
                records.append(made[1])
            if len(records) + len(rejected) >= self.batch_rows:
                yield Batch(records, _place(at), self.topic, positions, rejected)
                records, positions, rejected, reported = [], [], [], dict(at)
        if at != reported:
            yield Batch(records, _place(at), self.topic, positions, rejected)

    def _messages(self, consumer: Any, waiting: set[int], at: Offsets, ends: Offsets) -> Iterator[Any]:
        """Until every partition is at its end. `at` moves with each message."""
        until = time.monotonic() + self.seconds
        while waiting:
            found = consumer.consume(_POLL_MESSAGES, timeout=1.0)
            if found:
                until = time.monotonic() + self.seconds
            elif time.monotonic() > until:
                raise SourceUnavailableError(self._who(), f"it gave nothing for {self.seconds:.0f} s")
            for message in found:
                partition = message.partition()
                if message.error() is not None:
                    if message.error().code() != confluent_kafka.KafkaError._PARTITION_EOF:
                        raise self._as_error(message.error())
                    # Marks of transactions have offsets too, and are no messages.
                    at[partition] = max(at[partition], message.offset())
                    waiting.discard(partition)
                elif partition in waiting and message.offset() < ends[partition]:
                    at[partition] = message.offset() + 1
                    yield message
                    if at[partition] >= ends[partition]:
                        waiting.discard(partition)

    def _who(self) -> str:
        return f"Topic {self.topic} of {self.address}"

    def _as_error(self, error: Any) -> SnowmeltError:
        passing = (
            confluent_kafka.KafkaError._ALL_BROKERS_DOWN, confluent_kafka.KafkaError._TRANSPORT,
            confluent_kafka.KafkaError._TIMED_OUT, confluent_kafka.KafkaError._RESOLVE,
        )  # fmt: skip
        detail = str(error.str()).rstrip(".")
        if error.retriable() or error.code() in passing:
            return SourceUnavailableError(self._who(), detail)
        return SourceRefusedError(self._who(), detail, "Look at the topic's name, and at what the user may read.")

    def _gone(self, partition: int, next_offset: int, low: int) -> SnowmeltError:
        return SourceRefusedError(
            self._who(), f"messages {next_offset} to {low - 1} of partition {partition} are deleted already",
            "Runs are further apart than the topic's retention. Restore them from elsewhere, or drop the channel to "
            "begin anew with what is there.",
        )  # fmt: skip

    def _made_anew(self, partition: int, next_offset: int, high: int) -> SnowmeltError:
        return SourceRefusedError(
            self._who(), f"partition {partition} ends at {high}, and {next_offset} messages of it were loaded",
            "The topic was made anew. Drop the channel to begin with what is there now.",
        )  # fmt: skip


def _item(message: Any) -> tuple[str, Record] | Rejected:
    position = f"partition {message.partition()}, offset {message.offset()}"
    value, key = message.value(), message.key()
    if value is None:
        return position, {"_key": key.decode(errors="replace") if key is not None else None, "_deleted": True}
    return json_item(value.decode(errors="surrogateescape"), position)


def _place(at: Offsets) -> str:
    return json.dumps({"offsets": {str(partition): offset for partition, offset in sorted(at.items())}})


def _read(table: TableToRead) -> Extractor:
    return KafkaExtractor(
        table.endpoint.where(), table.name, settings=table.endpoint.settings(), batch_rows=table.batch_rows
    )


# The options of the connection are those of librdkafka.
KAFKA = SourceDescription("kafka", {"batch_rows": COUNT}, None, _read, "host:9092", "kafka")
