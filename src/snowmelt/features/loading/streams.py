"""Opening a file as a stream of records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.compression import Hashing, UnreadableError, decompressed, transcoded
from snowmelt.features.loading.csv_records import CsvLayout, CsvStream
from snowmelt.features.loading.file_formats import CsvFormat, FileFormat, JsonFormat
from snowmelt.features.loading.json_records import JsonStream
from snowmelt.features.loading.records import RecordStream
from snowmelt.features.loading.stage_folders import Digests, StagedFile, StageFolder
from snowmelt.features.loading.typed_records import AvroStream, ParquetStream
from snowmelt.features.loading.window import ByteWindow

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class OpenedFile:
    records: RecordStream
    digest: Callable[[], str]
    """The MD5 of the file, once it has been read."""


@contextmanager
def opened(
    stage: StageFolder, file: StagedFile, format: FileFormat, csv: CsvLayout | None, digests: Digests
) -> Iterator[OpenedFile]:
    """The records of a file. Raises `UnreadableError` when it is not what the format says."""
    try:
        if format.type == "PARQUET":
            with stage.files.open_input_file(file.path) as source:
                yield OpenedFile(ParquetStream(source, format), lambda: digests.of(stage, file))
            return
        hashing = Hashing(stage.reading(file.path))
    except FileNotFoundError:
        raise UnreadableError(not_found(stage, file.path)) from None
    except (OSError, pa.ArrowException) as error:
        raise UnreadableError(
            SnowmeltError("091003", "22000", f"Failure using stage area. File '{file.path}' can't be read: {error}")
        ) from None
    try:
        yield OpenedFile(_stream(hashing, file, format, csv), hashing.digest)
    finally:
        hashing.close()


def _stream(source: Hashing, file: StagedFile, format: FileFormat, csv: CsvLayout | None) -> RecordStream:
    if format.type == "AVRO":
        # An Avro file compresses its blocks by itself.
        return AvroStream(source.read, format)
    read: Any = decompressed(source, format.compression, file.name)
    if isinstance(format, JsonFormat):
        return JsonStream(read, format)
    assert isinstance(format, CsvFormat) and csv is not None
    text = transcoded(read, format.encoding, replace=format.replace_invalid, skip_mark=format.skip_mark)
    return CsvStream(ByteWindow(text), csv)


def not_found(stage: StageFolder, name: str, *, reported: bool = False) -> SnowmeltError:
    """A file that FILES names and the stage does not have. A result's row explains it at more length."""
    causes = (
        " There are several potential causes. The file might not exist. The required credentials may be missing or "
        "invalid."
        if reported
        else ""
    )
    return SnowmeltError(
        "091016", "22000",
        f"Remote file '{stage.written.rstrip('/')}/{name}' was not found.{causes} If you are running a copy command, "
        "please make sure files are not deleted when they are being loaded or files are not being loaded into two "
        "different tables concurrently with auto purge option.",
    )  # fmt: skip
