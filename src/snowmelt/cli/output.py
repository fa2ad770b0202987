"""Results for people and for programs: table, one value a line, JSON, CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from snowmelt.core.types import DataType, Kind
from snowmelt.runtime.render import indented_json, render
from snowmelt.runtime.results import Result

SHOWN_ROWS = 1_000
"""Rows that people are shown if they do not say otherwise. Programs get all."""
_LEGIBLE = 12
"""Characters that a column can be squeezed to."""
_PADDING = 3


class Format(StrEnum):
    TABLE = "table"
    VERTICAL = "vertical"
    JSON = "json"
    CSV = "csv"

    @property
    def is_for_programs(self) -> bool:
        return self in (Format.JSON, Format.CSV)


def progress(what: str) -> AbstractContextManager[object]:
    """A spinner on standard error while something runs, for people only: a pipe sees nothing of it."""
    console = Console(stderr=True)
    return console.status(f"{what} …") if console.is_terminal else nullcontext()


def write_result(result: Result, form: Format, console: Console, most: int | None = SHOWN_ROWS) -> None:
    """Prints a result. `most`: how many rows of it people are shown; None for all."""
    if form is Format.JSON:
        console.file.write(json.dumps(_objects(result), ensure_ascii=False, indent=2) + "\n")
    elif form is Format.CSV:
        console.file.write(_csv(result))
    else:
        _table(result, console, result.row_count if most is None else most, vertical=form is Format.VERTICAL)


def _objects(result: Result) -> list[dict[str, Any]]:
    return [
        {column.name: _json_value(value, column.type.kind, render(value, column.type))
         for value, column in zip(row, result.columns, strict=True)}
        for row in result.rows()
    ]  # fmt: skip


def _json_value(value: Any, kind: Kind, text: str | None) -> Any:
    """JSON's own types where they are exact; everything else as text."""
    if value is None or isinstance(value, bool | int):
        return value
    if kind is Kind.FLOAT and math.isfinite(value):
        return value
    if kind in (Kind.VARIANT, Kind.OBJECT, Kind.ARRAY):
        return json.loads(value)
    return format(value, "f") if isinstance(value, Decimal) else text


def _csv(result: Result) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([column.name for column in result.columns])
    for row in result.rows():
        writer.writerow([render(value, column.type) for value, column in zip(row, result.columns, strict=True)])
    return buffer.getvalue()


def _table(result: Result, console: Console, most: int, *, vertical: bool) -> None:
    rows = result.limited(most).rows()
    shown = [
        [None if value is None else _shown(value, column.type, result.json_indent) for value, column in
         zip(row, result.columns, strict=True)]
        for row in rows
    ]  # fmt: skip
    # A table whose columns are squeezed into a few characters each is unreadable: then one line for each value.
    squeezed = len(result.columns) > 1 and sum(_least_widths(result, shown)) > console.width
    if rows and (vertical or squeezed):
        _one_below_the_other(result, shown, console)
    else:
        console.print(_side_by_side(result, shown))
    if result.row_count > most:
        left = f"{result.row_count - most:,} more rows: --rows all shows them, as does !set rows=all at the prompt"
        console.print(f"… {left}", style="dim")


def _shown(value: Any, type_: DataType, indent: int) -> str:
    """A value as people read it: semi-structured ones over several lines, as Snowflake's clients show them."""
    text = render(value, type_) or ""
    return indented_json(text, indent) if type_.is_semi_structured else text


def _side_by_side(result: Result, rows: list[list[str | None]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold cyan")
    numeric = {Kind.NUMBER, Kind.FLOAT}
    for column, width in zip(result.columns, _least_widths(result, rows), strict=True):
        justify: Literal["left", "right"] = "right" if column.type.kind in numeric else "left"
        table.add_column(Text(column.name), justify=justify, overflow="fold", min_width=width - _PADDING)
    for row in rows:
        table.add_row(*map(_cell, row))
    return table


def _least_widths(result: Result, rows: list[list[str | None]]) -> list[int]:
    """The least width at which each column can still be read."""
    widths = []
    for index, column in enumerate(result.columns):
        lines = (line for row in rows for line in (row[index] or "NULL").split("\n"))
        widths.append(min(max([len(column.name), *map(len, lines)]), _LEGIBLE) + _PADDING)
    return widths


def _one_below_the_other(result: Result, rows: list[list[str | None]], console: Console) -> None:
    # A name takes half of the line at most: its value needs the rest.
    width = min(max(len(column.name) for column in result.columns), max(console.width // 2, _LEGIBLE))
    for number, row in enumerate(rows, start=1):
        console.print(f"row {number}", style="dim")
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold cyan", overflow="fold", width=width)
        table.add_column(overflow="fold")
        for column, value in zip(result.columns, row, strict=True):
            table.add_row(Text(column.name), _cell(value))
        console.print(table)


def _cell(value: str | None) -> Text:
    return Text("NULL", style="dim") if value is None else Text(value)


def is_interactive() -> bool:
    """Whether somebody can be asked. Programs may have been started without a standard input, or with a closed one."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
