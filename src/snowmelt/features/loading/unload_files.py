"""The files of an unload: named, split by size, and given their names only when all of them are complete."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.compression import Output, compressing
from snowmelt.features.loading.stage_folders import StageFolder, check_path

ROWS = 8_192
"""Rows that are written before the size of a file is looked at."""


class Encoder(Protocol):
    """Writes rows to one file."""

    def write(self, rows: pa.Table) -> int:
        """Returns how many bytes the rows are before compression."""
        ...

    def close(self) -> None: ...


class TextEncoder:
    def __init__(self, sink: Any, compression: str, header: bytes, text: Callable[[pa.Table], bytes]) -> None:
        self._output: Output = compressing(sink, compression)
        self._text = text
        self._header = header

    def write(self, rows: pa.Table) -> int:
        data = self._header + self._text(rows)
        self._header = b""
        self._output.write(data)
        return len(data)

    def close(self) -> None:
        self._output.close()


class ParquetEncoder:
    def __init__(self, sink: Any, compression: str, schema: pa.Schema) -> None:
        self._sink = sink
        codec = {
            "AUTO": "snappy",
            "SNAPPY": "snappy",
            "NONE": "none",
            "GZIP": "gzip",
            "ZSTD": "zstd",
            "BROTLI": "brotli",
        }
        if compression not in codec:
            raise errors.unsupported(f"COMPRESSION = {compression} for Parquet")
        self._writer = pq.ParquetWriter(sink, schema, compression=codec[compression])

    def write(self, rows: pa.Table) -> int:
        self._writer.write_table(rows)
        return int(rows.nbytes)

    def close(self) -> None:
        self._writer.close()
        self._sink.close()


class _Counting(io.RawIOBase):
    """Passes bytes on and counts them."""

    def __init__(self, sink: Any) -> None:
        super().__init__()
        self._sink = sink
        self.count = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._sink.write(data)
        size = memoryview(data).nbytes
        self.count += size
        return size

    def close(self) -> None:
        if not self.closed:
            self._sink.close()
        super().close()


@dataclass(slots=True)
class _File:
    path: str
    temporary: str
    encoder: Encoder
    counting: _Counting
    rows: int = 0


@dataclass(slots=True)
class Unloaded:
    """What was written."""

    files: list[tuple[str, int, int]] = field(default_factory=list)
    """Path, bytes and rows of each file."""
    rows: int = 0
    input_bytes: int = 0

    @property
    def output_bytes(self) -> int:
        return sum(size for _, size, _ in self.files)


class Unloading:
    """Writes rows to files of a stage."""

    def __init__(
        self, stage: StageFolder, names: Callable[[str | None, int], str], open_encoder: Callable[[Any], Encoder],
        max_size: int, *, single: bool,
    ) -> None:  # fmt: skip
        """`names` gives the path of the n-th file of a partition."""
        self._stage = stage
        self._names = names
        self._open_encoder = open_encoder
        self._max_size = max_size
        self._single = single
        self._open: dict[str | None, _File] = {}
        self._counts: dict[str | None, int] = {}
        self._complete: list[_File] = []
        self.result = Unloaded()

    def add(self, rows: pa.Table, partition: str | None = None) -> None:
        for start in range(0, rows.num_rows, ROWS):
            part = rows.slice(start, ROWS)
            file = self._open.get(partition) or self._new(partition)
            self.result.input_bytes += file.encoder.write(part)
            file.rows += part.num_rows
            self.result.rows += part.num_rows
            if file.counting.count >= self._max_size:
                self._full(partition)

    def finish(self) -> Unloaded:
        """Gives all files their names."""
        for partition in list(self._open):
            self._close(partition)
        for file in self._complete:
            self._stage.publish(file.temporary, file.path)
            self.result.files.append((file.path, file.counting.count, file.rows))
        self._complete = []
        return self.result

    def abandon(self) -> None:
        """Leaves nothing behind."""
        for file in self._open.values():
            try:
                file.encoder.close()
            except (OSError, ValueError, pa.ArrowException):
                continue
            finally:
                self._stage.discard(file.temporary)
        for file in self._complete:
            self._stage.discard(file.temporary)
        self._open.clear()
        self._complete = []

    def _full(self, partition: str | None) -> None:
        if self._single:
            raise SnowmeltError(
                "100138", "22000",
                f"Max file size ({self._max_size}) exceeded for unload single file mode. "
                "Please increase MAX_FILE_SIZE copy option.",
            )  # fmt: skip
        self._close(partition)

    def _new(self, partition: str | None) -> _File:
        number = self._counts.get(partition, 0)
        self._counts[partition] = number + 1
        path = self._names(partition, number)
        check_path(path)
        temporary = self._stage.temporary(path)
        counting = _Counting(self._stage.writing(temporary))
        file = _File(path, temporary, self._open_encoder(counting), counting)
        self._open[partition] = file
        return file

    def _close(self, partition: str | None) -> None:
        file = self._open.pop(partition)
        file.encoder.close()
        self._complete.append(file)


def by_partition(rows: pa.Table, column: str) -> Iterator[tuple[str | None, pa.Table]]:
    """The rows of each value of a column, without the column."""
    values = rows.column(column).combine_chunks().dictionary_encode()
    rest = rows.drop_columns([column])
    for index, value in enumerate(values.dictionary.to_pylist()):
        yield value, rest.filter(pa.compute.equal(values.indices, index))
    if values.null_count:
        yield None, rest.filter(pa.compute.is_null(values.indices))
