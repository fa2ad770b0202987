"""Random tables and random changes of them: NULLs, duplicates, skew, wiped tables, rows that come and go at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from snowmelt.core import types
from snowmelt.core.types import DataType
from tests.ivm.duck import Columns, Row

CODES: dict[str, DataType] = {
    "I": types.INTEGER,
    "S": types.VARCHAR,
    "D": types.DATE,
    "B": types.BOOLEAN,
    "N": types.number(10, 2),
    "F": types.FLOAT,
}
_START = date(2025, 12, 30)
_VALUES: dict[str, tuple[Any, ...]] = {
    # The first ones are the frequent ones.
    "I": (1, 2, 0, 3, -1, 5),
    "S": ("a", "b", "", "A", "ab"),
    "D": tuple(_START + timedelta(days=days) for days in (2, 3, 0, 1, 4, 9)),
    "B": (True, False),
    "N": (Decimal("1.50"), Decimal("1.00"), Decimal("0.00"), Decimal("-2.25")),
    # No sum of these is the same in every order.
    "F": (0.1, 0.7, 1.0, 0.2, 1e6),
}


def code_of(type_: DataType) -> str:
    return next(code for code, known in CODES.items() if known == type_)


def random_tables(rnd: random.Random, *, dates: bool = False) -> dict[str, Columns]:
    """Three or four tables, each with two integers, so that they can be joined, and some others."""
    tables = {}
    for name in ("T", "U", "W", "X")[: rnd.randint(3, 4)]:
        codes = [
            "I",
            "I",
            *("D" if dates else ""),
            *rnd.choices("ISDBNF", weights=(3, 3, 2, 1, 2, 2), k=rnd.randint(0, 3)),
        ]
        tables[name] = tuple((f"C{place}", CODES[code]) for place, code in enumerate(codes, 1))
    return tables


def random_row(rnd: random.Random, columns: Columns, *, nulls: float = 0.15) -> Row:
    return tuple(_value(rnd, code_of(type_), nulls) for _, type_ in columns)


def _value(rnd: random.Random, code: str, nulls: float) -> Any:
    if rnd.random() < nulls:
        return None
    values = _VALUES[code]
    return values[min(int(rnd.expovariate(0.6)), len(values) - 1)]


def random_rows(rnd: random.Random, columns: Columns, most: int = 9) -> list[Row]:
    if rnd.random() < 0.08:
        return []
    rows = [random_row(rnd, columns) for _ in range(rnd.randint(1, most))]
    return rows + [rnd.choice(rows) for _ in range(rnd.choice((0, 0, 1, 3)))]


def random_changes(
    rnd: random.Random, tables: Mapping[str, Columns], rows: Mapping[str, Counter[Row]]
) -> dict[str, Counter[Row]]:
    """The change of some of the tables: signed rows, of which some cancel out."""
    names = [name for name in tables if rnd.random() < 0.5] or [rnd.choice(list(tables))]
    inserts_only = rnd.random() < 0.25
    return {name: _change(rnd, tables[name], rows[name], inserts_only) for name in names}


def _change(rnd: random.Random, columns: Columns, rows: Counter[Row], inserts_only: bool) -> Counter[Row]:
    change: Counter[Row] = Counter()
    there = list(rows.elements())
    if inserts_only:
        change.update(random_rows(rnd, columns, 3))
        return change
    kind = rnd.random()
    if kind < 0.1:
        change.subtract(there)
    elif kind < 0.2:
        change.subtract(there)
        change.update(random_rows(rnd, columns))
    elif kind < 0.4 and there:
        _update(rnd, columns, rnd.sample(there, rnd.randint(1, min(3, len(there)))), change)
    else:
        change.update(random_rows(rnd, columns, 3) if rnd.random() < 0.7 else [])
        change.subtract(rnd.sample(there, min(len(there), rnd.randint(0, 3))))
    if rnd.random() < 0.2:
        # Came and went within one step: no change at all, though the table is noted as changed.
        row = random_row(rnd, columns)
        change[row] += 0
    return change


def _update(rnd: random.Random, columns: Columns, chosen: list[Row], change: Counter[Row]) -> None:
    """One column of some rows gets another value, a key among them."""
    place = rnd.randrange(len(columns))
    for row in chosen:
        change[row] -= 1
        change[(*row[:place], random_row(rnd, columns)[place], *row[place + 1 :])] += 1
