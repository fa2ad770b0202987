"""Rows of TPC-DS's tables for one query: the values are those that it asks for, so that small tables have rows for it.

What a column is compared with is read from the query itself. Dates are real ones, since the queries count months and
weeks, and each day is there once, since they ask for the month of a day.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from snowmelt.core import types
from snowmelt.core.types import DataType
from snowmelt.sql.dialect import parse_snowflake
from tests.ivm.duck import Columns, Row
from tests.tpcds.tables import TABLES

_KEYS, _ORDERS, _FACTS, _OTHERS, _DAYS = 6, 12, 70, 9, 20
"""How many keys a dimension has, how many orders there are, and how many rows."""
_SOLD = ("STORE_SALES", "CATALOG_SALES", "WEB_SALES", "STORE_RETURNS", "CATALOG_RETURNS", "WEB_RETURNS", "INVENTORY")
_NULLS = 0.04
_ASKED_FOR = 0.85
_FIRST_DAY, _SUNDAY = date(1900, 1, 1), date(1899, 12, 31)
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like)
_MONEY = tuple(Decimal(text) for text in ("1.00", "2.50", "10.00", "49.99", "150.00", "300.00", "12000.00", "-3.00"))
_TEXTS = ("AA", "Bb", "cc", "10000", "")
_YEARS, _FIRST_MONTH = range(1990, 2010), 1000
_RARE = 0.1


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query compares with its columns, by their names, and the days it is about."""

    values: dict[str, list[Any]]
    days: list[date]


def tables_of(query: str) -> dict[str, Columns]:
    """The tables that the query reads, with their keys and the columns that it names."""
    words = {word.upper() for word in re.findall(r"\w+", query)}
    kept = words | {"D_DATE"}
    return {
        name: tuple(column for place, column in enumerate(columns) if place == 0 or column[0] in kept)
        for name, columns in TABLES.items()
        if name in words
    }


def asked(query: str) -> Asked:
    tree = parse_snowflake(query)
    values: dict[str, list[Any]] = {}
    for compared in tree.find_all(*_COMPARED):
        names = {column.name.upper() for column in compared.this.find_all(exp.Column)}
        others = [part for key, part in compared.args.items() if key != "this"]
        literals = [_value(literal) for part in others for literal in _literals(part)]
        for name in names:
            values.setdefault(name, []).extend(literals)
    return Asked(values, _days(values, [date.fromisoformat(text) for text in re.findall(r"\d{4}-\d\d?-\d\d", query)]))


def _literals(part: Any) -> Iterator[exp.Expr]:
    for item in part if isinstance(part, list) else [part]:
        if not isinstance(item, exp.Expr) or item.find(exp.Select) is not None:
            continue
        yield from item.find_all(exp.Literal)
        for added in item.find_all(exp.Add):
            numbers = list(added.find_all(exp.Literal))
            if not any(number.args["is_string"] for number in numbers):
                yield exp.Literal.number(sum(int(number.name) for number in numbers))


def _value(literal: exp.Expr) -> Any:
    return literal.name if literal.args["is_string"] else Decimal(literal.name)


def _days(values: dict[str, list[Any]], literals: Sequence[date]) -> list[date]:
    years = [int(year) for year in values.get("D_YEAR", []) if int(year) in _YEARS]
    years += [1900 + int(month) // 12 for month in values.get("D_MONTH_SEQ", []) if month > _FIRST_MONTH]
    years = years or ([] if literals else [2000])
    months = [int(month) for month in values.get("D_MOY", []) if 1 <= month <= 12]
    months += [int(quarter) * 3 - 1 for quarter in values.get("D_QOY", []) if 1 <= quarter <= 4]
    months = months or [1, 2, 11, 12]
    days = [int(day) for day in values.get("D_DOM", []) if 1 <= day <= 28] or [1, 2, 9, 16]
    found = [date(year, month, day) for year in years for month in months for day in days]
    found += [date(year + 1, month, day) for year in years for month in months for day in days]
    found += [day + timedelta(days=more) for day in literals for more in (0, 3, 7, 14, 40, -20)]
    return sorted(set(found))


class Rows:
    """Makes rows of the tables, and changes of them."""

    def __init__(self, rnd: random.Random, query: str, tables: Mapping[str, Columns]) -> None:
        self.rnd = rnd
        self.tables = tables
        self.asked = asked(query)
        self.asked.days[:] = self.rnd.sample(self.asked.days, min(_DAYS, len(self.asked.days)))

    def table(self, name: str) -> Counter[Row]:
        if name == "DATE_DIM":
            return Counter(self._day(key, day) for key, day in enumerate(self.asked.days, 1))
        count = _FACTS if name in _SOLD else _OTHERS
        return Counter(self._row(name, key) for key in range(1, count + 1))

    def change(self, name: str, rows: Counter[Row]) -> Counter[Row]:
        """Some rows come, some go, some become others, and now and then all of them go."""
        there = sorted(rows.elements(), key=repr)
        leaving = there if self.rnd.random() < _RARE else self.rnd.sample(there, min(len(there), 4))
        change: Counter[Row] = Counter()
        change.subtract(leaving)
        if name == "DATE_DIM":
            return self._changed_days(change, {row[-1] for row in rows if row not in leaving}, leaving)
        for row in leaving[: len(leaving) // 2]:
            other = self._row(name, row[0])
            change[tuple(t if self.rnd.random() < 0.3 else o for o, t in zip(row, other, strict=True))] += 1
        for _ in range(3):
            change[self._row(name, self.rnd.randint(1, _KEYS + 2))] += 1
        return Counter({row: count for row, count in change.items() if count})

    def _changed_days(self, change: Counter[Row], there: set[date], left: list[Row]) -> Counter[Row]:
        missing = [day for day in self.asked.days if day not in there]
        for row, day in zip(left[1:], missing, strict=False):
            change[self._day(row[0], day)] += 1
        return Counter({row: count for row, count in change.items() if count})

    def _row(self, table: str, key: int) -> Row:
        (first, _), *others = self.tables[table]
        own = self._any(first, types.INTEGER) if table in _SOLD else key
        return (own, *(self._any(name, type_) for name, type_ in others))

    def _any(self, name: str, type_: DataType) -> Any:
        if self.rnd.random() < _NULLS:
            return None
        if type_ == types.INTEGER:
            return self._number(name)
        known = self.asked.values.get(name)
        if type_ == types.VARCHAR:
            return str(self._one_of(known, _TEXTS)).replace("%", "")
        fitting = [value for value in known or [] if isinstance(value, Decimal)]
        near = [value + more for value in fitting for more in (0, 1, -1)]
        return self._one_of(near, _MONEY).quantize(Decimal("0.01"))

    def _number(self, name: str) -> int:
        if name.endswith(("DATE_SK", "SALES_DATE_SK")):
            return self.rnd.randint(1, len(self.asked.days))
        if name.endswith("_NUMBER"):
            return self.rnd.randint(1, _ORDERS)
        if name.endswith("_SK"):
            return min(int(self.rnd.expovariate(0.4)) + 1, _KEYS)
        near = [int(value) + more for value in self.asked.values.get(name, ()) if isinstance(value, Decimal)
                for more in (0, 0, 1)]  # fmt: skip
        return int(self._one_of(near, (1, 2, 3, 10, 60, 100)))

    def _one_of(self, known: Sequence[Any] | None, default: Sequence[Any]) -> Any:
        return self.rnd.choice(known if known and self.rnd.random() < _ASKED_FOR else default)

    def _day(self, key: int, day: date) -> Row:
        quarter = (day.month + 2) // 3
        facts = {
            "D_DATE_SK": key,
            "D_MONTH_SEQ": (day.year - _FIRST_DAY.year) * 12 + day.month - 1,
            "D_WEEK_SEQ": (day - _SUNDAY).days // 7 + 1,
            "D_YEAR": day.year,
            "D_DOW": day.isoweekday() % 7,
            "D_MOY": day.month,
            "D_DOM": day.day,
            "D_QOY": quarter,
            "D_DAY_NAME": day.strftime("%A"),
            "D_QUARTER_NAME": f"{day.year}Q{quarter}",
            "D_DATE": day,
        }
        return tuple(facts[name] for name, _ in self.tables["DATE_DIM"])
