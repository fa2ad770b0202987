"""Records of topics as events: each schema is told once, however many records carry it."""

from __future__ import annotations

import json
from typing import Any

from snowmelt.ingest.cdc.envelope import PoisonError, schema_of
from snowmelt.ingest.cdc.feed import FeedEvent, TopicSchema

_HEAD, _BETWEEN = '{"schema":', ',"payload":'
_DECODER = json.JSONDecoder()


class Records:
    """Takes records apart: Kafka Connect writes the whole schema into every one, several times as large as the row."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, bool], dict[str, int]] = {}
        """By topic: what stands in front of the payload, and the number of the schema that it holds.

        A TRUNCATE has no key, while the rows that its schema is for have one: they are told apart.
        """
        self._count = 0
        self._new: list[TopicSchema] = []

    def event(self, topic: str, key: str | None, value: str) -> FeedEvent:
        """The record without its schema. What is no envelope stays as it is, for others to judge."""
        known = self._numbers.setdefault((topic, key is None), {})
        for front, number in known.items():
            if value.startswith(front):
                return FeedEvent(topic, number, key or "", value[len(front) : -1])
        parts = _taken_apart(value)
        if parts is None:
            return FeedEvent(topic, 0, key or "", value)
        front, schema = parts
        self._count += 1
        known[front] = self._count
        self._new.append(TopicSchema(self._count, topic, _key_schema(key), schema))
        return FeedEvent(topic, self._count, key or "", value[len(front) : -1])

    def new_schemas(self) -> tuple[TopicSchema, ...]:
        """The schemas that were met since the last call."""
        new, self._new = tuple(self._new), []
        return new


def _taken_apart(text: str) -> tuple[str, dict[str, Any]] | None:
    """What stands in front of the payload, and the schema in it; None when there is none."""
    if not text.startswith(_HEAD):
        return None
    try:
        schema, end = _DECODER.raw_decode(text, len(_HEAD))
    except ValueError:
        return None
    if not isinstance(schema, dict) or not text.startswith(_BETWEEN, end) or not text.endswith("}"):
        return None
    return text[: end + len(_BETWEEN)], schema


def _key_schema(key: str | None) -> dict[str, Any] | None:
    try:
        return schema_of(key) if key else None
    except PoisonError:
        return None
