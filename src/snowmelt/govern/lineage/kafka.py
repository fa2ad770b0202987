"""OpenLineage events as records of a topic. Needs the extra `kafka`; only who chose it imports this."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, Producer

_GRACE = 1.0
"""Seconds beyond the timeout until Kafka's client must have said that it gave up."""
_SILENT = logging.getLogger("snowmelt.kafka")
"""Its own complaints would go to standard error, past our logs: whatever is lost is counted and logged here."""
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class KafkaSink:
    """Produces each event to a topic. The events of a run share their key, and so their order."""

    def __init__(self, servers: str, topic: str, timeout: float, properties: Mapping[str, str]) -> None:
        self._topic = topic
        self._timeout = timeout
        self._failure: KafkaError | None = None
        # What the user says goes before what is said here, except where the broker is.
        settings = {"message.timeout.ms": round(timeout * 1000), "enable.idempotence": True, **properties}
        self._producer = Producer({**settings, "bootstrap.servers": servers}, logger=_SILENT)

    def send(self, event: dict[str, Any]) -> None:
        self._failure = None
        self._producer.produce(self._topic, json.dumps(event), event["run"]["runId"], on_delivery=self._delivered)
        waiting = self._producer.flush(self._timeout + _GRACE)
        if self._failure is not None or waiting:
            raise ConnectionError(f"Kafka did not take it: {self._failure or 'no answer in time'}")

    def close(self) -> None:
        self._producer.flush(0)

    def _delivered(self, error: KafkaError | None, _: object) -> None:
        self._failure = error
