"""Records of a file on this machine: CSV, JSON, Parquet and Avro. What is no record is rejected, the rest goes on."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import fastavro
import pyarrow as pa
import pyarrow.parquet

from snowmelt.core import errors
from snowmelt.pipeline.records import Record, Rejected, plain

_WHOLE_BYTES = 64 * 1024 * 1024
"""Up to here a .json file may be one document; a larger one must have one a line."""
_FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
    ".avro": "avro",
}  # fmt: skip
Item = tuple[str, Record] | Rejected
"""A record with its position, or what is none."""


@dataclass(slots=True)
class Chunk:
    items: int = 0
    """How many of the file's items these are, good and bad."""
    records: list[Record] = field(default_factory=list)
    positions: list[str] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


def format_of(name: str) -> str:
    """By the file's suffix; one of .gz behind it is of no account."""
    plain_name = name.lower().removesuffix(".gz")
    found = next((kind for suffix, kind in _FORMATS.items() if plain_name.endswith(suffix)), None)
    if found is None:
        raise errors.configuration(
            f"{name} is none of {', '.join(_FORMATS)}.", hint="Choose a narrower pattern, or say which format it has."
        )
    return found


def chunks(path: Path, file_format: str, size: int, *, skip: int = 0, delimiter: str = ",") -> Iterator[Chunk]:
    """All but the first items, in the file's order."""
    reader = _READERS.get(file_format)
    if reader is None:
        raise errors.configuration(f"{file_format} is no format of files.", hint=f"Known: {', '.join(_READERS)}.")
    items = _guarded(reader(path, delimiter))
    for _ in islice(items, skip):
        pass
    while part := list(islice(items, size)):
        chunk = Chunk(len(part))
        for item in part:
            if isinstance(item, Rejected):
                chunk.rejected.append(item)
            else:
                chunk.positions.append(item[0])
                chunk.records.append(item[1])
        yield chunk


def _guarded(items: Iterator[Item]) -> Iterator[Item]:
    """A file that breaks off, or was never of its format, is rejected from there on."""
    number = 0
    try:
        for item in items:
            number += 1
            yield item
    except (ValueError, OSError, EOFError, KeyError, IndexError, pa.ArrowException) as error:
        reason = f"the file can't be read behind record {number}: {_first_line(error)}"
        yield Rejected(reason, {"text": None}, f"record {number + 1}", readable=False)


def _text(path: Path) -> TextIO:
    """Bytes that are no UTF-8 must not stop the file: they stay recognisable, and their line is rejected."""
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return path.open("r", encoding="utf-8-sig", errors="surrogateescape", newline="")


def _csv(path: Path, delimiter: str) -> Iterator[Item]:
    """Values are text, and nothing is NULL: types are given where the column is known."""
    with _text(path) as opened:
        consumed: list[str] = []

        def lines() -> Iterator[str]:
            for line in opened:
                consumed.append(line)
                yield line

        rows = csv.reader(lines(), delimiter=delimiter, strict=True)
        header = next(rows, [])
        consumed.clear()
        while True:
            line = rows.line_num + 1
            try:
                values = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield Rejected(str(error), {"text": _readable("".join(consumed))}, f"line {line}", readable=False)
                consumed.clear()
                continue
            if values:
                yield _csv_item(header, values, "".join(consumed), f"line {line}")
            consumed.clear()


def _csv_item(header: list[str], values: list[str], text: str, position: str) -> Item:
    if len(values) != len(header):
        reason = f"{len(values)} values for {len(header)} columns"
    elif not _decoded(text):
        reason = "not UTF-8"
    else:
        return position, {name: value or None for name, value in zip(header, values, strict=True)}
    return Rejected(reason, {"text": _readable(text)}, position, readable=False)


def _json_lines(path: Path, _: str) -> Iterator[Item]:
    with _text(path) as opened:
        for number, line in enumerate(opened, start=1):
            if line.strip():
                yield json_item(line, f"line {number}")


def _json(path: Path, delimiter: str) -> Iterator[Item]:
    """One document, which is a record or an array of them, or one a line."""
    if path.stat().st_size <= _WHOLE_BYTES:
        try:
            with _text(path) as opened:
                found = json.load(opened)
        except ValueError:
            pass
        else:
            documents = found if isinstance(found, list) else [found]
            yield from (as_record(item, f"record {number}") for number, item in enumerate(documents, start=1))
            return
    yield from _json_lines(path, delimiter)


def json_item(text: str, position: str) -> Item:
    if not _decoded(text):
        return Rejected("not UTF-8", {"text": _readable(text)}, position, readable=False)
    try:
        return as_record(json.loads(text), position)
    except ValueError as error:
        return Rejected(f"no JSON: {error}", {"text": text.rstrip("\r\n")}, position, readable=False)


def as_record(value: Any, position: str) -> Item:
    """A document of JSON, which is a record only if it has names."""
    if isinstance(value, dict):
        return position, value
    reason = f"a record is an object, and this is {type(value).__name__}"
    return Rejected(reason, {"text": json.dumps(value)}, position, readable=False)


def _parquet(path: Path, _: str) -> Iterator[Item]:
    with pa.parquet.ParquetFile(path) as opened:
        number = 0
        for batch in opened.iter_batches():
            for record in batch.to_pylist():
                number += 1
                yield f"record {number}", plain(record)


def _avro(path: Path, _: str) -> Iterator[Item]:
    with path.open("rb") as opened:
        for number, record in enumerate(fastavro.reader(opened), start=1):
            yield as_record(plain(record), f"record {number}")


def _decoded(text: str) -> bool:
    return text.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in text)


def _readable(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace").rstrip("\r\n")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


_READERS: dict[str, Callable[[Path, str], Iterator[Item]]] = {
    "csv": _csv, "tsv": lambda path, _: _csv(path, "\t"), "json": _json, "jsonl": _json_lines, "parquet": _parquet,
    "avro": _avro,
}  # fmt: skip
