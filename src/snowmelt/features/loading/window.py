"""The part of a stream of bytes that is being read, with the current position."""

from __future__ import annotations

from snowmelt.features.loading.compression import Read

CHUNK = 1 << 20


class ByteWindow:
    """Bytes from the current position on. Holds as few as `fill` asks for."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._data = b""
        self._start = 0
        self._ahead: bytes | None = None
        """Read already, to know whether anything follows; None before the first reading."""
        self.offset = 0
        """Bytes before the current position."""
        self.line = 1
        """The line of the current position."""
        self.ended = False
        """Nothing follows what is held."""

    def __len__(self) -> int:
        return len(self._data) - self._start

    @property
    def data(self) -> bytes:
        """Everything held, from the current position on."""
        if self._start:
            self._data = self._data[self._start :]
            self._start = 0
        return self._data

    def fill(self, wanted: int) -> None:
        """Holds at least so many bytes, unless the stream ends before."""
        if self.ended or (len(self) >= wanted and self._ahead is not None):
            return
        parts = [self.data]
        missing = wanted - len(self._data)
        if self._ahead is None:
            self._ahead = self._read(CHUNK)
        while missing > 0 and self._ahead:
            parts.append(self._ahead)
            missing -= len(self._ahead)
            self._ahead = self._read(CHUNK)
        self.ended = not self._ahead
        self._data = b"".join(parts)

    def drop(self, count: int) -> None:
        """Moves the current position forward."""
        end = self._start + count
        self.line += self._data.count(b"\n", self._start, end)
        self.offset += count
        self._start = end
