"""Records of a file on this machine: CSV, JSON, Parquet and Avro. What is no record is rejected, the rest goes on."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, TypeVar

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from snowmelt.core import errors
from snowmelt.extract_load.columns import plain
from snowmelt.extract_load.records import Record, Rejected, Rows, cut, table_of_values

_WHOLE_BYTES = 64 * 1024 * 1024
"""Up to here a .json file may be one document; a larger one must have one a line."""
_FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
    ".avro": "avro",
}  # fmt: skip
_UNREADABLE = (ValueError, OSError, EOFError, KeyError, IndexError, csv.Error, pa.ArrowException)
T = TypeVar("T")
Item = tuple[str, T] | Rejected
"""A record, in whatever form a format gives it, with its position; or what is none."""


@dataclass(slots=True)
class Chunk:
    items: int = 0
    """How many of the file's items these are, good and bad."""
    rows: Rows = field(default_factory=lambda: Rows([]))
    positions: Sequence[str] | Callable[[int], str] = ()
    rejected: Sequence[Rejected] = ()


def format_of(name: str) -> str:
    """The format by the file's suffix, whether or not .gz follows it."""
    plain_name = name.lower().removesuffix(".gz")
    found = next((kind for suffix, kind in _FORMATS.items() if plain_name.endswith(suffix)), None)
    if found is None:
        raise errors.configuration(
            f"{name} is not one of {', '.join(_FORMATS)}.",
            hint="Choose a narrower pattern, or say which format it has.",
        )
    return found


def chunks(path: Path, file_format: str, size: int, *, skip: int = 0, delimiter: str = ",") -> Iterator[Chunk]:
    """All but the first items, in the file's order."""
    match file_format:
        case "csv" | "tsv":
            header: list[str] = []
            lines = _csv(path, delimiter if file_format == "csv" else "\t", header)
            return _gathered(lines, size, skip, lambda values: Rows(_text_columns(header, values)))
        case "json":
            return _gathered(_json(path), size, skip, Rows)
        case "jsonl":
            return _gathered(_json_lines(path), size, skip, Rows)
        case "avro":
            return _gathered(_avro(path), size, skip, lambda records: Rows(_typed_columns(records)))
        case "parquet":
            return _parquet(path, size, skip)
    known = ", ".join(dict.fromkeys(_FORMATS.values()))
    raise errors.configuration(f"{file_format} is not a file format.", hint=f"Known: {known}.")


def _gathered(items: Iterator[Item[T]], size: int, skip: int, rows: Callable[[Sequence[T]], Rows]) -> Iterator[Chunk]:
    found = _guarded(items)
    for _ in islice(found, skip):
        pass
    while part := list(islice(found, size)):
        good = [item for item in part if not isinstance(item, Rejected)]
        bad = [item for item in part if isinstance(item, Rejected)]
        made = rows([record for _, record in good]) if good else Rows([])
        yield Chunk(len(part), made, [position for position, _ in good], bad)


def _guarded(items: Iterator[Item[T]]) -> Iterator[Item[T]]:
    """A file that breaks off, or was never of its format, is rejected from there on."""
    number = 0
    try:
        for item in items:
            number += 1
            yield item
    except _UNREADABLE as error:
        yield _broken(number, error)


def _broken(number: int, error: Exception) -> Rejected:
    reason = f"the file can't be read behind record {number}: {_first_line(error)}"
    return Rejected(reason, {"text": None}, f"record {number + 1}", readable=False)


def _text(path: Path) -> TextIO:
    """Bytes that are no UTF-8 must not stop the file: they stay recognisable, and their line is rejected."""
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return path.open("r", encoding="utf-8-sig", errors="surrogateescape", newline="")


def _csv(path: Path, delimiter: str, header: list[str]) -> Iterator[Item[list[str]]]:
    """The values of each line. The names, which come first, are added to `header`."""
    with _text(path) as opened:
        consumed: list[str] = []

        def lines() -> Iterator[str]:
            for line in opened:
                consumed.append(line)
                yield line

        rows = csv.reader(lines(), delimiter=delimiter, strict=True)
        header += next(rows, [])
        if not _decoded("".join(consumed)):
            raise ValueError("the names of its columns are not UTF-8")
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
                yield _csv_item(len(header), values, "".join(consumed), f"line {line}")
            consumed.clear()


def _csv_item(width: int, values: list[str], text: str, position: str) -> Item[list[str]]:
    if len(values) != width:
        reason = f"{len(values)} values for {width} columns"
    elif not _decoded(text):
        reason = "not UTF-8"
    else:
        return position, values
    return Rejected(reason, {"text": _readable(text)}, position, readable=False)


def _text_columns(header: Sequence[str], lines: Sequence[Sequence[str]]) -> pa.Table:
    """Values are text, and one that is empty is NULL: types are given where the column is known."""
    columns = {
        name: pa.array(values, pa.string()) for name, values in zip(header, zip(*lines, strict=True), strict=True)
    }
    nothing = pa.scalar(None, pa.string())
    return pa.table({name: pc.if_else(pc.equal(column, ""), nothing, column) for name, column in columns.items()})


def _json_lines(path: Path) -> Iterator[Item[Record]]:
    with _text(path) as opened:
        for number, line in enumerate(opened, start=1):
            if line.strip():
                yield json_item(line, f"line {number}")


def _json(path: Path) -> Iterator[Item[Record]]:
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
    yield from _json_lines(path)


def json_item(text: str, position: str) -> Item[Record]:
    if not _decoded(text):
        return Rejected("not UTF-8", {"text": _readable(text)}, position, readable=False)
    try:
        return as_record(json.loads(text), position)
    except ValueError as error:
        return Rejected(f"no JSON: {error}", {"text": text.rstrip("\r\n")}, position, readable=False)


def as_record(value: Any, position: str) -> Item[Record]:
    """A document of JSON, which is a record only if it has names."""
    if isinstance(value, dict):
        return position, value
    reason = f"a record is an object, and this is {type(value).__name__}"
    return Rejected(reason, {"text": json.dumps(plain(value))}, position, readable=False)


def _parquet(path: Path, size: int, skip: int) -> Iterator[Chunk]:
    """Reads Parquet column by column: no record is made."""
    number = 0
    tables = _parquet_tables(path, size)
    try:
        for table in tables:
            start = max(0, skip - number)
            first = number + start + 1
            number += table.num_rows
            if start < table.num_rows:
                rows = Rows(table.slice(start))
                yield Chunk(len(rows), rows, partial(_numbered, first))
    except _UNREADABLE as error:
        if skip <= number:
            yield Chunk(1, rejected=[_broken(number, error)])


def _parquet_tables(path: Path, size: int) -> Iterator[pa.Table]:
    with pa.parquet.ParquetFile(path) as opened:
        yield from cut((pa.Table.from_batches([batch]) for batch in opened.iter_batches(size)), size)


def _numbered(first: int, index: int) -> str:
    return f"record {first + index}"


def _avro(path: Path) -> Iterator[Item[Record]]:
    with path.open("rb") as opened:
        for number, record in enumerate(fastavro.reader(opened), start=1):
            yield as_record(record, f"record {number}")


def _typed_columns(records: Sequence[Record]) -> pa.Table:
    """Of records that all have the same names, as their file's schema says."""
    return table_of_values({name: ([record[name] for record in records], None) for name in records[0]})


def _decoded(text: str) -> bool:
    return text.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in text)


def _readable(text: str) -> str:
    return text.encode(errors="surrogateescape").decode(errors="replace").rstrip("\r\n")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
