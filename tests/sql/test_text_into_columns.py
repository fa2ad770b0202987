"""A text becomes the same value of a column, or the same error, by whichever way it gets there.

The measure is the cast. All types stand in one wide table, so that a way costs one statement and not one for each.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from snowmelt.sql.tokens import SqlText

_TEXTS = {
    "DATE": (
        "2024-01-31", "2024-1-5", " 2024-01-31", "01/31/2024", "31-JAN-2024", "1706659200", "2024-02-30", "x", "",
        "2024-01-31 10:00:00", "2024-01-05T10:00:00Z", "January 5, 2024", "0", "-1", "20240131", "1706659200000",
    ),
    "TIMESTAMP_NTZ": (
        "2024-01-31", "2024-01-31 10:00", "2024-01-31T10:00:00.1234567", "2024-01-31 24:00:00", "x", "2024-1-5",
        "2024-01-31 10:00:00 +0200", "1706659200000", "1700000000", "1700000000.5", "2024-01-05T10:00:00Z",
        "Thu, 21 Dec 2000 16:01:07 +0200", "10:00", " 2024-01-31 10:00:00 ",
    ),
    "TIMESTAMP_NTZ(3)": ("2024-01-31 10:00:00.123456", "2024-01-31", "1700000000123"),
    "TIMESTAMP_LTZ": ("2024-01-31 10:00:00", "2024-01-31 10:00:00 +0200", "nothing", "1700000000", "2024-01-05T10:00Z"),
    "TIMESTAMP_TZ": ("2024-01-31 10:00:00", "2024-01-31 10:00:00 +0200", "nothing", "1700000000", "2024-01-05T10:00Z"),
    "TIME": ("10:00", "10:00:00.123456", "24:00:00", "1:2:3", "36000", "noon", " 10:00", "10:00 PM", ""),
    "NUMBER(10, 2)": ("1.005", "1e2", " 12 ", "-.5", "1,000", "12345678901", "", "1_0", "+5", "5.", "1e-3", "$1"),
    "INT": ("1.5", "-0.5", "9223372036854775807", "9223372036854775808", "0x1F", " 1", "1e3", "+5", "٣", "nan"),
    "FLOAT": ("1.5", "NaN", "nan", "-inf", "Infinity", "1e400", "1f", "1d", "", " 1 ", "+5", "0x1F", ".5"),
    "BOOLEAN": ("true", "Yes", "off", "1", "2", " t ", "", "TRUE ", "on", "oN", "n", "0", "1.0", "T", "ja"),
    "BINARY": ("00fF", "0", "XY", "", " 00", "0x00"),
    "VARCHAR(3)": ("abc", "äöü", "abcd", "", "   ", "ab "),
    "VARIANT": ('{"a":1}', "1", "null", "", " x"),
}  # fmt: skip
"""For each type, forms that parsers are known to differ in."""
_ENCLOSED = "FIELD_OPTIONALLY_ENCLOSED_BY = '\"' NULL_IF = ('\\\\N') EMPTY_FIELD_AS_NULL = FALSE COMPRESSION = NONE"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    valid: tuple[tuple[str, Any], ...]
    """The texts that are values, with what the cast makes of them."""
    invalid: tuple[str, ...]

    def text(self, row: int) -> str | None:
        return self.valid[row][0] if row < len(self.valid) else None

    def value(self, row: int) -> Any:
        return self.valid[row][1] if row < len(self.valid) else None


def _changed(texts: tuple[str, ...], chance: random.Random) -> tuple[str, ...]:
    """The texts, and some of them with a character more or less."""
    more: list[str] = []
    for text in chance.sample(texts, 2):
        place = chance.randrange(len(text) + 1)
        more.append(text[:place] + chance.choice([" ", "-", ".", ":", "T", *"0123456789"]) + text[place:])
        more.append(text[:place] + text[place + 1 :])
    return tuple(dict.fromkeys((*texts, *more)))


def _quoted(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


def _same(one: Any, other: Any) -> bool:
    both = isinstance(one, float) and isinstance(other, float)
    return one == other or (both and math.isnan(one) and math.isnan(other))


def _error(session: Session, statement: str) -> str | None:
    try:
        session.execute(statement)
    except SnowmeltError as error:
        return error.code
    return None


def _columns(session: Session) -> tuple[Column, ...]:
    columns: list[Column] = []
    for place, type_ in enumerate(_TEXTS):
        texts = _changed(_TEXTS[type_], random.Random(type_))
        casts = ", ".join(f"TRY_CAST({_quoted(text)} AS {type_})" for text in texts)
        found = dict(zip(texts, session.execute(f"SELECT {casts}").rows()[0], strict=True))
        valid = tuple((text, value) for text, value in found.items() if value is not None)
        columns.append(Column(f"c{place}", type_, valid, tuple(text for text in texts if found[text] is None)))
    return tuple(columns)


@pytest.fixture
def columns(session: Session) -> tuple[Column, ...]:
    """The texts in a table of texts, and a table of the types to fill from it."""
    found = _columns(session)
    names = ", ".join(f"{column.name} VARCHAR" for column in found)
    session.execute(f"CREATE TABLE texts (id INT, {names}) AS SELECT * FROM VALUES {_rows(found, _height(found))}")
    session.execute(f"CREATE TABLE got (way VARCHAR, id INT, {', '.join(f'{c.name} {c.type}' for c in found)})")
    return found


def _height(columns: tuple[Column, ...]) -> int:
    return max(len(column.valid) for column in columns)


def _rows(columns: tuple[Column, ...], height: int, lead: str = "") -> str:
    cells = [[_quoted(column.text(row)) for column in columns] for row in range(height)]
    return ", ".join(f"({lead}{row}, {', '.join(cells[row])})" for row in range(height))


def test_every_way_reads_text_as_the_cast_does(session: Session, columns: tuple[Column, ...]) -> None:
    names = [column.name for column in columns]
    listed = ", ".join(names)
    session.execute(f"INSERT INTO got SELECT 'select', id, {listed} FROM texts")
    casts = ", ".join(f"{column.name}::{column.type}" for column in columns)
    session.execute(f"INSERT INTO got SELECT 'cast', id, {casts} FROM texts")
    rows = _rows(columns, _height(columns), lead="'values', ")
    session.execute(f"INSERT INTO got VALUES {rows}")
    for row in range(2):
        texts = [column.text(row) for column in columns]
        session.execute(f"INSERT INTO got VALUES ('literal', {row}, {', '.join(map(_quoted, texts))})")
        marks = ", ".join("?" * len(texts))
        session.execute(SqlText(f"INSERT INTO got VALUES ('bind', ?, {marks})"), [row, *texts])
    session.execute("INSERT INTO got (way, id) SELECT 'update', id FROM texts")
    sets = ", ".join(f"{name} = texts.{name}" for name in names)
    session.execute(f"UPDATE got SET {sets} FROM texts WHERE way = 'update' AND got.id = texts.id")
    session.execute("INSERT INTO got (way, id) VALUES ('set', 0)")
    constants = ", ".join(f"{column.name} = {_quoted(column.text(0))}" for column in columns)
    session.execute(f"UPDATE got SET {constants} WHERE way = 'set'")
    session.execute(
        f"MERGE INTO got USING texts s ON FALSE WHEN NOT MATCHED THEN INSERT (way, id, {listed}) "
        f"VALUES ('merge', s.id, {', '.join(f's.{name}' for name in names)})"
    )
    _compare(session, columns)
    assert {way for (way,) in session.execute("SELECT DISTINCT way FROM got").rows()} == {
        "select", "cast", "values", "literal", "bind", "update", "set", "merge",
    }  # fmt: skip


def _compare(session: Session, columns: tuple[Column, ...], where: str = "TRUE") -> None:
    names = ", ".join(column.name for column in columns)
    wrong = [
        f"{column.type} of {column.text(row)!r} by {way}: {value!r}, not {column.value(row)!r}"
        for way, row, *values in session.execute(f"SELECT way, id, {names} FROM got WHERE {where}").rows()
        for column, value in zip(columns, values, strict=True)
        if not _same(value, column.value(row))
    ]
    assert not wrong, "\n".join(wrong)


def test_defaults_and_loaded_files_read_text_as_the_cast_does(session: Session, columns: tuple[Column, ...]) -> None:
    # BINARY and VARIANT columns can't have a default.
    filled = tuple(column for column in columns if column.type not in ("BINARY", "VARIANT"))
    names = ", ".join(column.name for column in filled)
    for row in range(2):
        cells = ", ".join(f"{column.name} {column.type} DEFAULT {_quoted(column.text(row))}" for column in filled)
        session.execute(f"CREATE TABLE filled{row} (id INT, {cells})")
        session.execute(f"INSERT INTO filled{row} (id) VALUES ({row})")
        session.execute(f"INSERT INTO got (way, id, {names}) SELECT 'default', * FROM filled{row}")
    _compare(session, filled, "way = 'default'")
    # Each text that is no value is a row of its own, which ON_ERROR = CONTINUE must leave out.
    loaded = tuple(column for column in columns if column.type != "VARIANT")
    names = ", ".join(column.name for column in loaded)
    for column in loaded:
        if column.invalid:
            rows = ", ".join(f"(-1, {_quoted(text)})" for text in column.invalid)
            session.execute(f"INSERT INTO texts (id, {column.name}) VALUES {rows}")
    session.execute("CREATE STAGE st")
    session.execute(
        f"COPY INTO @st/texts.csv FROM (SELECT 'copy', id, {names} FROM texts) "
        f"FILE_FORMAT = (TYPE = CSV {_ENCLOSED}) SINGLE = TRUE"
    )
    session.execute(
        f"COPY INTO got (way, id, {names}) FROM @st FILE_FORMAT = (TYPE = CSV {_ENCLOSED}) ON_ERROR = CONTINUE"
    )
    taken = session.execute(f"SELECT {names} FROM got WHERE way = 'copy' AND id < 0").rows()
    assert not taken, f"COPY made values of what the cast refuses: {taken}"
    _compare(session, loaded, "way = 'copy'")
    (counted,) = session.execute("SELECT COUNT(*) FROM got WHERE way = 'copy'").rows()[0]
    assert counted == _height(columns)


@pytest.mark.slow
def test_a_text_that_is_no_value_is_the_same_error(session: Session, columns: tuple[Column, ...]) -> None:
    wrong: list[str] = []
    for column in columns:
        for text in column.invalid[:2]:
            cast = _error(session, f"SELECT {_quoted(text)}::{column.type}")
            written = _error(session, f"INSERT INTO got (way, {column.name}) VALUES ('bad', {_quoted(text)})")
            if cast is None or cast != written:
                wrong.append(f"{column.type} of {text!r}: {written} by INSERT, {cast} by ::")
    assert not wrong, "\n".join(wrong)
