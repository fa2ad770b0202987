"""Reading and writing compressed files, as streams."""

from __future__ import annotations

import bz2
import codecs
import hashlib
import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol

import pyarrow as pa

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError

Read = Callable[[int], bytes]
"""At most so many bytes, and none at the end."""

EXTENSIONS = {
    "GZIP": ".gz", "BZ2": ".bz2", "BROTLI": ".br", "ZSTD": ".zst", "DEFLATE": ".deflate",
    "RAW_DEFLATE": ".raw_deflate", "NONE": "",
}  # fmt: skip
_ARROW = {"GZIP": "gzip", "BZ2": "bz2", "BROTLI": "brotli", "ZSTD": "zstd"}
_MAGIC = {b"\x1f\x8b": "GZIP", b"BZh": "BZ2", b"\x28\xb5\x2f\xfd": "ZSTD", b"PAR1": "PARQUET", b"ORC": "ORC"}
_CHUNK = 1 << 20


class UnreadableError(Exception):
    """A file as a whole can't be read: nothing of it may be loaded."""

    def __init__(self, error: SnowmeltError) -> None:
        super().__init__(error.message)
        self.error = error


def corrupted(detail: str) -> UnreadableError:
    return UnreadableError(SnowmeltError("100076", "22000", f"Data is corrupted, {detail}"))


def detected(name: str, head: bytes) -> str:
    """How a file is compressed, by its first bytes and then its name; NONE when it is not."""
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    for kind, extension in EXTENSIONS.items():
        if extension and name.lower().endswith(extension):
            # Gzip, bzip2 and zstandard files would have shown themselves.
            return kind if kind in ("BROTLI", "DEFLATE", "RAW_DEFLATE") else "NONE"
    return "NONE"


class Hashing:
    """A file that is hashed while it is read: what Arrow's streams ask of a Python file."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._digest = hashlib.md5(usedforsecurity=False)
        self.head = b""
        self._pushed = b""
        self.closed = False

    def peek(self, size: int) -> bytes:
        self.head = self._stream.read(size)
        self._pushed = self.head
        return self.head

    def read(self, size: int = -1) -> bytes:
        size = _CHUNK if size < 0 else size
        if self._pushed:
            data, self._pushed = self._pushed[:size], self._pushed[size:]
        else:
            data = bytes(self._stream.read(size))
        self._digest.update(data)
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
        self._stream.close()

    def digest(self) -> str:
        """The MD5 of everything in the file; reads what is left."""
        while self.read(_CHUNK):
            pass
        return self._digest.hexdigest()


def decompressed(source: Hashing, compression: str, name: str) -> Read:
    """The content of a file. Reading raises `UnreadableError` where the compressed data is damaged."""
    kind = compression
    if kind == "AUTO":
        kind = detected(name, source.peek(8))
        if kind in ("PARQUET", "ORC"):
            kind = "NONE"
    if kind in ("NONE", "SNAPPY"):
        return source.read
    if kind in ("DEFLATE", "RAW_DEFLATE"):
        return _inflating(source, -zlib.MAX_WBITS if kind == "RAW_DEFLATE" else zlib.MAX_WBITS, kind)
    if kind == "BZ2":
        return _bunzipping(source)
    stream = pa.CompressedInputStream(pa.PythonFile(source, mode="r"), _ARROW[kind])

    def read(size: int) -> bytes:
        try:
            return bytes(stream.read(size))
        except (OSError, pa.ArrowException) as error:
            raise corrupted(f"not a complete {kind} file: {error}") from None

    return read


def _inflating(source: Hashing, window: int, kind: str) -> Read:
    inflater = zlib.decompressobj(window)

    def read(size: int) -> bytes:
        while not inflater.eof:
            given = inflater.unconsumed_tail or source.read(_CHUNK)
            try:
                data = inflater.decompress(given, size)
            except zlib.error as error:
                raise corrupted(f"not a {kind} file: {error}") from None
            if data:
                return data
            if not given:
                raise corrupted(f"not a complete {kind} file")
        return b""

    return read


def _bunzipping(source: Hashing) -> Read:
    """Reads bzip2, also several streams one after the other, as parallel bzip2 writes them."""
    state = {"expander": bz2.BZ2Decompressor(), "empty": True}

    def read(size: int) -> bytes:
        while True:
            expander: Any = state["expander"]
            given = b""
            if expander.eof:
                given = expander.unused_data or source.read(_CHUNK)
                if not given:
                    return b""
                expander = state["expander"] = bz2.BZ2Decompressor()
            elif expander.needs_input:
                given = source.read(_CHUNK)
                if not given:
                    raise corrupted("not a complete BZ2 file")
            try:
                data: bytes = expander.decompress(given, size)
            except OSError as error:
                raise corrupted(f"not a BZ2 file: {error}") from None
            if data:
                return data

    return read


def transcoded(read: Read, encoding: str, *, replace: bool, skip_mark: bool) -> Read:
    """The text in UTF-8, whatever it was in. UTF-8 itself passes unchecked, without its byte order mark."""
    if encoding == "utf_8":
        return _without_mark(read) if skip_mark else read
    decoder = codecs.getincrementaldecoder(encoding)("replace" if replace else "strict")
    state = {"ended": False}

    def convert(size: int) -> bytes:
        while not state["ended"]:
            data = read(size)
            state["ended"] = not data
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeError as error:
                raise UnreadableError(
                    SnowmeltError("100144", "22000", f"Invalid {encoding} character detected: {error}")
                ) from None
            if text:
                return text.encode()
        return b""

    return _without_mark(convert) if skip_mark else convert


def _without_mark(read: Read) -> Read:
    state = {"start": True}

    def convert(size: int) -> bytes:
        if not state["start"]:
            return read(size)
        state["start"] = False
        head = read(max(size, 3))
        while 0 < len(head) < 3:
            more = read(3 - len(head))
            if not more:
                break
            head += more
        head = head.removeprefix(codecs.BOM_UTF8)
        return head if head else read(size)

    return convert


# -- writing ------------------------------------------------------------------------------------------------------


class Output(Protocol):
    def write(self, data: bytes, /) -> object: ...
    def close(self) -> None: ...


def compressing(sink: Any, compression: str) -> Output:
    """A stream whose content arrives in `sink` compressed; closing it closes both."""
    match compression:
        case "NONE":
            return Plain(sink)
        case "GZIP" | "DEFLATE" | "RAW_DEFLATE":
            return _Deflating(sink, {"GZIP": 31, "DEFLATE": 15, "RAW_DEFLATE": -15}[compression])
        case kind if kind in _ARROW:
            return _Chained(sink, _ARROW[kind])
        case _:
            raise errors.unsupported(f"COMPRESSION = {compression}")


class Plain:
    """Counts nothing, changes nothing."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write(self, data: bytes, /) -> object:
        return self._sink.write(data)

    def close(self) -> None:
        self._sink.close()


class _Chained(Plain):
    def __init__(self, sink: Any, codec: str) -> None:
        super().__init__(pa.CompressedOutputStream(sink, codec))
        self._under = sink

    def close(self) -> None:
        self._sink.close()
        self._under.close()


class _Deflating(Plain):
    """Without a name or a time in the header: the same content always gives the same bytes."""

    def __init__(self, sink: IO[bytes], window: int) -> None:
        super().__init__(sink)
        self._deflater = zlib.compressobj(6, zlib.DEFLATED, window)

    def write(self, data: bytes, /) -> object:
        return self._sink.write(self._deflater.compress(data))

    def close(self) -> None:
        self._sink.write(self._deflater.flush())
        self._sink.close()
