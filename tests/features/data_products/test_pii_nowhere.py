"""Whatever the strategy, the type and the way in: a value that a strategy covers lies nowhere in clear.

All ways in are walked with marked values. Then the account is closed, and everything below its data directory is read:
tables and logs, the state store, histories, results of checks. What statements answered and errors said counts, too.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.pii.strategies import Strategy
from snowmelt.ingest import StreamingIngestClient
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.conftest import SPARK
from tests.features.connectors.test_landing import Lander, put

LAST = "wxyz"
"""What MASK may show of a value."""
_STRATEGIES = [strategy for strategy in Strategy if strategy is not Strategy.KEEP]


@dataclass(frozen=True, slots=True)
class Value:
    """A personal value, and the text that must not come out again."""

    given: Any
    marker: str
    column: str = "VARCHAR"
    """The type of the column that it is for. Only DROP is for others than VARCHAR."""


def _texts(number: int) -> str:
    return f"Zq{number:06d}Kp"


def _digits(number: int) -> str:
    return f"7351{number:06d}8"


KINDS: dict[str, Callable[[int], Value]] = {
    "text": lambda n: Value(f"ann.{_texts(n)}@example.{LAST}", _texts(n)),
    "quotes": lambda n: Value(f'O\'Neill "{_texts(n)}" \\ {LAST}', _texts(n)),
    "unicode": lambda n: Value(f"Zoë {_texts(n)} 李 {LAST}", _texts(n)),
    "number": lambda n: Value(int(_digits(n) + "4242"), _digits(n)),
    "decimal": lambda n: Value(Decimal(_digits(n) + ".4242"), _digits(n)),
    "time": lambda n: Value(dt.datetime(2031, 5, 17, 13, 24, 35, 100_000 + n), f"13:24:35.{100_000 + n}"[:-4]),
    "NUMBER": lambda n: Value(int(_digits(n) + "4242"), _digits(n), "NUMBER(38,0)"),
    "VARIANT": lambda n: Value({"mail": _texts(n)}, _texts(n), "VARIANT"),
    "OBJECT": lambda n: Value({"mail": _texts(n)}, _texts(n), "OBJECT"),
    "ARRAY": lambda n: Value([_texts(n)], _texts(n), "ARRAY"),
    "wrong": lambda n: Value(f"no number {_texts(n)} {LAST}", _texts(n), "NUMBER(38,0)"),
}


class Place:
    """An account, and all that it said."""

    def __init__(self, account: Account, folder: Path) -> None:
        self.account, self.folder = account, folder
        self.session: Session = account.session()
        self.said: list[str] = []
        self.numbers = itertools.count(1)

    def run(self, sql: str) -> None:
        """Errors are answers like others."""
        try:
            self.said.append(str(self.session.execute(sql).rows()))
        except SnowmeltError as error:
            self.said.append(f"{error} {error.hint}")

    def table(self, value: Value, strategy: Strategy, *checks: str) -> str:
        name = f"t_{next(self.numbers)}"
        self.session.execute(f"CREATE TABLE {name} (id INT NOT NULL, v {value.column}, n INT)")
        self.session.execute(f"CALL SYSTEM$SET_PII_STRATEGY('{name}', 'v', '{strategy}')")
        for check in checks:
            self.session.execute(f"ALTER TABLE {name} ADD QUALITY CHECK {check}")
        return name

    def append(self, table: str, row: dict[str, Any], **options: Any) -> None:
        client = StreamingIngestClient("test", connection=self.session)
        try:
            channel = client.open_channel("c", table, **options)
            channel.append_row(row, "1")
            assert channel.wait_for_flush(120)
            self.said.append(str(channel.get_channel_status()))
        except SnowmeltError as error:
            self.said.append(f"{error} {error.hint}")
        try:
            client.close()
        except SnowmeltError as error:
            self.said.append(f"{error} {error.hint}")

    def copy(self, table: str, row: Sequence[Any], format_: str = "CSV", options: str = "") -> None:
        file = self.folder / f"{next(self.numbers)}"
        file.mkdir()
        names = ("id", "v", "n")
        if format_ == "CSV":
            with (file / "in").open("w", encoding="utf-8", newline="") as out:
                csv.writer(out).writerow([json.dumps(cell) if isinstance(cell, dict | list) else cell for cell in row])
            given = "TYPE = CSV FIELD_OPTIONALLY_ENCLOSED_BY = '\"' ESCAPE_UNENCLOSED_FIELD = NONE"
        elif format_ == "JSON":
            text = json.dumps(dict(zip(names, row, strict=True)), default=str)
            (file / "in").write_text(text, encoding="utf-8")
            given = "TYPE = JSON"
        else:
            pq.write_table(pa.table({name: [cell] for name, cell in zip(names, row, strict=True)}), file / "in")
            given = "TYPE = PARQUET"
        by_name = "" if format_ == "CSV" else "MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
        self.run(f"COPY INTO {table} FROM 'file://{file}/' FILE_FORMAT = ({given}) {by_name} {options}")


POSITIVE = "positive AS RANGE (n) MIN = 0"


def _quarantined(place: Place, value: Value, strategy: Strategy) -> None:
    table = place.table(value, strategy, f"{POSITIVE} ON_FAILURE = QUARANTINE")
    place.append(table, {"id": 1, "v": value.given, "n": -1})
    place.copy(table, (2, value.given, -1))
    place.copy(table, (3, value.given, -1), "JSON")


def _broken(place: Place, value: Value, strategy: Strategy) -> None:
    """Files that end in the middle of the value, or have a quote too many."""
    text = json.dumps(value.given, default=str, ensure_ascii=False)
    for name, content, format_ in (
        ("json", f'{{"id": 1, "n": 1, "v": {text}', "TYPE = JSON"),
        ("array", f'[{{"id": 1, "v": {text} {text}}}]', "TYPE = JSON STRIP_OUTER_ARRAY = TRUE"),
        ("csv", f'1,"{text}" {text},1', "TYPE = CSV FIELD_OPTIONALLY_ENCLOSED_BY = '\"'"),
    ):
        folder = place.folder / f"{next(place.numbers)}"
        folder.mkdir()
        (folder / name).write_text(content, encoding="utf-8")
        by_name = "MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE" if "JSON" in format_ else ""
        table = place.table(value, strategy)
        copy = f"COPY INTO {table} FROM 'file://{folder}/' FILE_FORMAT = ({format_}) {by_name}"
        place.run(copy)
        place.run(f"{copy} ON_ERROR = CONTINUE")
        place.run(f"{copy} VALIDATION_MODE = RETURN_ERRORS")


def _checked(place: Place, value: Value, strategy: Strategy) -> None:
    """Checks of the column itself, which fail, with and without an error."""
    if value.column != "VARCHAR":
        return
    for action in ("WARN", "FAIL"):
        table = place.table(value, strategy, f"seen AS ACCEPTED_VALUES (v) VALUES = ('x') ON_FAILURE = {action}",
                            f"like_x AS PATTERN (v) PATTERN = '^x+$' ON_FAILURE = {action}")  # fmt: skip
        place.copy(table, (1, value.given, 1))
        place.append(table, {"id": 2, "v": value.given, "n": 1})


def _landed(place: Place, value: Value, strategy: Strategy) -> None:
    given = value.given if isinstance(value.given, str) else str(value.given)
    for target in ("RAW", "MIRROR"):
        name = f"s_{next(place.numbers)}"
        lander = Lander(place.account, name, f"TARGET = {target} PII = ('public.items.body' = '{strategy}')")
        lander.land(put(1, given, 1), put(2, "x", 2))
        lander.land(put(2, given, 3, op="u"))
        lander.land(({"id": 1}, json.dumps({"payload": given})))


WAYS: dict[str, Callable[[Place, Value, Strategy], None]] = {
    "channel": lambda p, v, s: p.append(p.table(v, s), {"id": 1, "v": v.given}),
    "rejected by a channel": lambda p, v, s: p.append(p.table(v, s), {"v": v.given}),
    "an unknown field": lambda p, v, s: p.append(p.table(v, s), {"id": 1, "w": v.given}),
    "rejected with an error": lambda p, v, s: p.append(p.table(v, s), {"v": v.given}, on_error="ABORT"),
    "CSV": lambda p, v, s: p.copy(p.table(v, s), (1, v.given, 1)),
    "JSON": lambda p, v, s: p.copy(p.table(v, s), (1, v.given, 1), "JSON"),
    "Parquet": lambda p, v, s: p.copy(p.table(v, s), (1, v.given, 1), "PARQUET"),
    "a bad row": lambda p, v, s: p.copy(p.table(v, s), ("bad", v.given, 1), options="ON_ERROR = CONTINUE"),
    "a bad document": lambda p, v, s: p.copy(p.table(v, s), ("bad", v.given, 1), "JSON", "ON_ERROR = CONTINUE"),
    "a failed load": lambda p, v, s: p.copy(p.table(v, s), ("bad", v.given, 1)),
    "validation": lambda p, v, s: p.copy(p.table(v, s), ("bad", v.given, 1), options="VALIDATION_MODE = RETURN_ERRORS"),
    "rows of a validation": lambda p, v, s: p.copy(
        p.table(v, s), (1, v.given, 1), options="VALIDATION_MODE = RETURN_5_ROWS"
    ),
    "a broken file": _broken,
    "quarantine": _quarantined,
    "checks": _checked,
    "connector": _landed,
}


def cases() -> list[tuple[str, str, Strategy]]:
    """A way, a kind of value and a strategy that fit to each other."""
    return [
        (way, kind, strategy)
        for way in WAYS
        for kind in KINDS
        for strategy in _STRATEGIES
        if strategy is Strategy.DROP or KINDS[kind](0).column == "VARCHAR"
    ]


def readable(folder: Path) -> Iterator[tuple[Path, str]]:
    """Everything below a folder as text, unpacked where it is packed."""
    for path in folder.rglob("*"):
        if not path.is_file() or path.name == "token.key":
            continue
        content = path.read_bytes()
        yield path, content.decode("utf-8", "replace")
        if content[:4] == b"PAR1":
            yield path, str(pq.read_table(path).to_pylist())
        elif content[:2] == b"\x1f\x8b":
            yield path, gzip.decompress(content).decode("utf-8", "replace")


def walk(folder: Path, chosen: Sequence[tuple[str, str, Strategy]]) -> None:
    data, outside = folder / "data", folder / "outside"
    outside.mkdir(parents=True)
    markers: dict[str, tuple[str, str, Strategy]] = {}
    with open_account(data, settings=Settings(spark=SPARK)) as account:
        place = Place(account, outside)
        for number, (way, kind, strategy) in enumerate(chosen):
            value = KINDS[kind](number)
            markers[value.marker] = way, kind, strategy
            WAYS[way](place, value, strategy)
    everything = [(Path("said"), "\n".join(place.said)), *readable(data)]
    found = [(case, path.name) for marker, case in markers.items() for path, text in everything if marker in text]
    assert not found, found


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(chosen=st.lists(st.sampled_from(cases()), min_size=4, max_size=6, unique=True))
def test_no_value_that_is_covered_is_found(tmp_path_factory: pytest.TempPathFactory, chosen: Any) -> None:
    walk(tmp_path_factory.mktemp("pii"), chosen)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("way", WAYS)
def test_every_case(tmp_path: Path, way: str) -> None:
    walk(tmp_path, [case for case in cases() if case[0] == way])
