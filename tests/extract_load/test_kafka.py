"""Topics: deletions, transactions, and messages that are gone before they were read."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from snowmelt.extract_load import Batch, KafkaExtractor, SourceRefusedError, SourceUnavailableError
from tests.extract_load.rigs import KafkaRig
from tests.features.connectors.kafka_stack import free_port
from tests.support.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.slow


def last(batches: list[Batch]) -> str:
    return batches[-1].place


def test_deletions_and_positions(kafka_servers: str) -> None:
    rig = KafkaRig(kafka_servers)
    rig.send(b'{"id": 1}', "a")
    rig.send(None, "a")
    (batch,) = rig.extractor().extract(None)
    assert batch.records == [{"id": 1}, {"_key": "a", "_deleted": True}]
    assert all("partition" in position and "offset" in position for position in batch.positions)


def test_what_a_transaction_took_back_was_never_said(kafka_servers: str) -> None:
    rig = KafkaRig(kafka_servers)
    producer = Producer({"bootstrap.servers": kafka_servers, "transactional.id": rig.topic})
    producer.init_transactions(60)
    for number, ends in (
        (1, producer.commit_transaction),
        (2, producer.abort_transaction),
        (3, producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(rig.topic, json.dumps({"id": number}).encode(), "k")
        assert producer.flush(60) == 0
        ends(60)
    found: list[Batch] = []

    def has_all() -> bool:
        """A transaction is visible soon behind its commit, not with it."""
        found.extend(rig.extractor().extract(last(found) if found else None))
        return 3 in [record["id"] for batch in found for record in batch.records]

    wait_until(has_all, "the last transaction is visible")
    assert [record["id"] for batch in found for record in batch.records] == [1, 3]


def test_messages_that_are_gone_are_told(kafka_servers: str) -> None:
    rig = KafkaRig(kafka_servers)
    for number in range(3):
        rig.send(json.dumps({"id": number}).encode(), "k")
    batches = list(rig.extractor().extract(None))
    for number in range(3):
        rig.send(json.dumps({"id": number}).encode(), "k")
    admin = AdminClient({"bootstrap.servers": kafka_servers})
    parts = [TopicPartition(rig.topic, number) for number in range(3)]
    ends = {part: admin.list_offsets({part: OffsetSpec.latest()})[part].result(DEADLINE).offset for part in parts}
    gone = [TopicPartition(rig.topic, part.partition, end) for part, end in ends.items() if end > 3]
    for result in admin.delete_records(gone).values():
        result.result(DEADLINE)
    with pytest.raises(SourceRefusedError, match=r"messages 3 to 5 of partition . are deleted already"):
        list(rig.extractor().extract(last(batches)))
    fewer = json.dumps({"offsets": {"0": 99, "1": 99, "2": 99}})
    with pytest.raises(SourceRefusedError, match="made anew"):
        list(rig.extractor().extract(fewer))


def test_a_topic_or_broker_that_is_not_there(kafka_servers: str) -> None:
    with pytest.raises(SourceRefusedError, match="nowhere"):
        list(KafkaExtractor(kafka_servers, "nowhere").extract(None))
    away = KafkaExtractor(f"127.0.0.1:{free_port()}", "t", settings={"sasl.password": "s3cr3t"}, seconds=2)
    with pytest.raises(SourceUnavailableError) as told:
        list(away.extract(None))
    assert told.value.transient and "s3cr3t" not in str(told.value)
