"""What a connector reads from, whichever way the changes come: batches of records, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One record as Debezium gave it, without its schema."""

    topic: str
    schema: int
    """The number of a `TopicSchema`; 0 when it came without one."""
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class TopicSchema:
    """The shape of a topic's records from here on, as Kafka Connect describes it."""

    number: int
    topic: str
    key: dict[str, Any] | None
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FeedBatch:
    """Records that are confirmed together, and where the source stands behind them."""

    number: int
    schemas: tuple[TopicSchema, ...]
    events: tuple[FeedEvent, ...]
    offset: dict[str, Any]


class EngineFailedError(Exception):
    """The engine ended, and not because it was told to. The text says why."""


class Feed(Protocol):
    """A running engine. One thread reads `batches`; any may stop it."""

    @property
    def pid(self) -> int | None:
        """The process that can be killed to see what happens, if there is one."""
        ...

    @property
    def alive(self) -> bool: ...

    @property
    def asked_to_stop(self) -> bool: ...

    def batches(self) -> Iterator[FeedBatch]:
        """Batches as they come, until the feed is stopped. Raises `EngineFailedError` when it fails or dies.

        The next one comes after this one was acknowledged.
        """
        ...

    def acknowledge(self, batch: int) -> None:
        """The batch is safe: the source may forget it."""
        ...

    def order_snapshot(self, identifier: str, tables: Sequence[str]) -> None:
        """Has tables read anew beside their changes, where that needs nothing of the source."""
        ...

    def stop(self) -> None: ...

    def close(self) -> None:
        """Ends it and lets go what it holds. For the thread that reads the batches."""
        ...
