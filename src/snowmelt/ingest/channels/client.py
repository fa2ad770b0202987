"""The client: opens channels, and closes them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from snowmelt.core.errors import SnowmeltError, configuration, invalid_value
from snowmelt.ingest.channels import errors
from snowmelt.ingest.channels.channel import Channel
from snowmelt.ingest.channels.http import HttpDoor, Server
from snowmelt.ingest.channels.ports import ChannelDoor, ChannelStatus, HasChannelDoor, OnError, OpenRequest


class StreamingIngestClient:
    """Writes rows into tables through channels.

    `connection`: a connection or session of this process; or `server`: where one is reached through HTTP. Closing the
    client closes its channels.
    """

    def __init__(
        self, name: str = "snowmelt", *, connection: HasChannelDoor | None = None, server: Server | None = None
    ) -> None:
        self.name = name
        self._remote = HttpDoor(server) if server is not None else None
        door = self._remote if connection is None else connection.channel_door()
        if door is None or (connection is not None and server is not None):
            raise configuration("A streaming ingest client has either a connection or a server.")
        self._door: ChannelDoor = door
        self._channels: list[Channel] = []
        self._lock = threading.Lock()
        self._closed = False

    def open_channel(
        self, name: str, table: str, *, offset_token: str | None = None,
        on_error: OnError | str = OnError.CONTINUE, schema_evolution: bool = False,
    ) -> Channel:  # fmt: skip
        """Takes the channel of that name on the table, making it on first use. Whoever had it open loses it.

        Where to go on says `get_latest_committed_offset_token`; `offset_token` replaces it, for a writer that begins
        somewhere else.
        """
        self._check_open()
        chosen = _on_error(on_error)
        opened = self._door.open(OpenRequest(name, table, offset_token, chosen, schema_evolution))
        channel = Channel(self._door, opened, self._forget)
        with self._lock:
            self._channels.append(channel)
        return channel

    def get_latest_committed_offset_tokens(self, table: str, channels: Sequence[str]) -> dict[str, str | None]:
        """Tokens by channel, open or not; None for a channel that has committed nothing or does not exist."""
        found = self.get_channel_statuses(table, channels)
        return {
            name: status.latest_committed_offset_token if (status := found.get(name)) is not None else None
            for name in channels
        }

    def get_channel_statuses(self, table: str, channels: Sequence[str]) -> dict[str, ChannelStatus]:
        return self._door.statuses(table, channels)

    def drop_channel(self, name: str, table: str) -> None:
        """Forgets a channel and its token; rows stay in the table."""
        self._door.drop(table, name)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Closes all channels: what was sent is committed. Again does nothing."""
        if self._closed:
            return
        self._closed = True
        with self._lock:
            channels = list(self._channels)
        failed: SnowmeltError | None = None
        for channel in channels:
            try:
                channel.close()
            except SnowmeltError as error:
                failed = failed or error
        if self._remote is not None:
            self._remote.leave()
        if failed is not None:
            raise failed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise errors.client_closed(self.name)

    def _forget(self, channel: Channel) -> None:
        with self._lock:
            self._channels = [known for known in self._channels if known is not channel]


def _on_error(value: OnError | str) -> OnError:
    try:
        return OnError(str(value).upper())
    except ValueError:
        raise invalid_value(str(value), "ON_ERROR") from None
