"""How results are printed for people, at any width."""

from __future__ import annotations

import io

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from snowmelt.cli.output import Format, write_result
from snowmelt.core import types
from snowmelt.runtime.results import Result, ResultColumn

LEGIBLE = 12
"""What is no longer than this stands on one line, whole."""
_WORDS = st.text("abcdefghij0123456789", min_size=1, max_size=LEGIBLE)
_LONG = st.text("abcdefghij0123456789", min_size=1, max_size=120)


@given(
    names=st.lists(_LONG, min_size=1, max_size=9),
    rows=st.integers(1, 3),
    data=st.data(),
    width=st.integers(40, 200),
    form=st.sampled_from([Format.TABLE, Format.VERTICAL]),
)
def test_no_column_is_printed_letter_by_letter(
    names: list[str], rows: int, data: st.DataObject, width: int, form: Format
) -> None:
    values = [[data.draw(st.one_of(_WORDS, _LONG)) for _ in range(rows)] for _ in names]
    columns = tuple(ResultColumn(name, types.VARCHAR) for name in names)
    table = pa.table([pa.array(column) for column in values], names=[str(index) for index in range(len(names))])
    output = Console(width=width, file=io.StringIO())
    write_result(Result(columns, table), form, output)
    assert isinstance(output.file, io.StringIO)
    lines = output.file.getvalue().splitlines()
    for text in (*names, *(value for column in values for value in column)):
        if len(text) <= LEGIBLE:
            assert any(text in line for line in lines), (text, lines)
        # Of what is longer each line has as much as can be read.
        assert any(text[:LEGIBLE] in line for line in lines), (text, lines)
    assert all(len(line) <= width for line in lines)
