"""TPC-H's tables with a few dozen rows each, and changes of them.

The values are those that the 22 queries ask for, far more often than TPC-H has them, so that each query has rows and
small changes move its result.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]
Rows = dict[str, Counter[Row]]

_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (
    ("BRAZIL", 1), ("CANADA", 1), ("CHINA", 2), ("INDIA", 2), ("FRANCE", 3), ("GERMANY", 3), ("SAUDI ARABIA", 4),
    ("KENYA", 0),
)  # fmt: skip
_SUPPLIERS, _CUSTOMERS, _PARTS, _ORDERS = 16, 24, 24, 60
_CODES = ("13", "31", "23", "29", "10")
_PLACES = (
    ("Brand#12", "SM BOX", 3), ("Brand#23", "MED BOX", 9), ("Brand#23", "MED BOX", 15), ("Brand#34", "LG BOX", 14),
    ("Brand#45", "LG JAR", 15),
)  # fmt: skip
_TYPES = ("ECONOMY ANODIZED STEEL", "PROMO BURNISHED BRASS", "MEDIUM POLISHED TIN", "SMALL PLATED BRASS")
_ORDERED = tuple(
    date.fromisoformat(text)
    for text in ("1993-07-20", "1993-10-15", "1994-03-05", "1995-02-10", "1995-08-20", "1996-01-05")
)
_QUANTITIES = (1, 2, 5, 11, 22, 23, 45, 50)
_NULLS = 0.02
_OPTIONAL = {
    "supplier": (5, 6), "customer": (5, 7), "part": (5, 8), "partsupp": (2, 3), "orders": (3, 8),
    "lineitem": (4, 6, 12),
}  # fmt: skip
"""The places of columns that are sometimes NULL."""


def tiny_rows(rnd: random.Random) -> Rows:
    """The eight tables."""
    made: dict[str, list[Row]] = {
        "region": [(key, name, "a region") for key, name in enumerate(_REGIONS)],
        "nation": [(key, name, region, "a nation") for key, (name, region) in enumerate(_NATIONS)],
        "supplier": [_supplier(rnd, key) for key in range(1, _SUPPLIERS + 1)],
        "customer": [_customer(rnd, key) for key in range(1, _CUSTOMERS + 1)],
        "part": [_part(rnd, key) for key in range(1, _PARTS + 1)],
        "partsupp": [_partsupp(rnd, key) for part in range(1, _PARTS + 1) for key in (part, part)],
        "orders": [_order(rnd, key) for key in range(1, _ORDERS + 1)],
    }
    made["lineitem"] = [
        _lineitem(rnd, order[0], line, order[4])
        for order in made["orders"]
        for line in range(9 if order[0] % 12 == 0 else rnd.randint(1, 5))
    ]
    return {table: Counter(_with_nulls(rnd, table, row) for row in rows) for table, rows in made.items()}


def tiny_change(rnd: random.Random, table: str, rows: Counter[Row]) -> Counter[Row]:
    """Some rows that come, some that go, some that become others under the same key, as signed counts."""
    there = sorted(rows.elements(), key=repr)
    few = max(1, min(4, len(there) // 6))
    change: Counter[Row] = Counter()
    leaving = rnd.sample(there, min(len(there), 2 * few))
    change.subtract(leaving)
    change.update(_changed(rnd, table, row) for row in leaving[:few])
    change.update(_with_nulls(rnd, table, _NEW[table](rnd)) for _ in range(few))
    return Counter({row: count for row, count in change.items() if count})


def _changed(rnd: random.Random, table: str, row: Row) -> Row:
    """The row with some values of another one, but not its key."""
    other = _NEW[table](rnd)
    return (row[0], *(theirs if rnd.random() < 0.4 else own for own, theirs in zip(row[1:], other[1:], strict=True)))


def _with_nulls(rnd: random.Random, table: str, row: Row) -> Row:
    places = _OPTIONAL.get(table, ())
    return tuple(None if place in places and rnd.random() < _NULLS else value for place, value in enumerate(row))


def _money(rnd: random.Random, low: int, high: int) -> Decimal:
    return Decimal(rnd.randint(low * 100, high * 100)).scaleb(-2)


def _region(rnd: random.Random) -> Row:
    return (rnd.randrange(len(_REGIONS)), rnd.choice(_REGIONS), "another region")


def _nation(rnd: random.Random) -> Row:
    name, region = rnd.choice(_NATIONS)
    return (rnd.randrange(len(_NATIONS)), name, region, "another nation")


def _supplier(rnd: random.Random, key: int) -> Row:
    comment = rnd.choice(("quick", "nice", "slow", "Customer has Complaints"))
    nation = key % len(_NATIONS) if key <= _SUPPLIERS else rnd.randrange(len(_NATIONS))
    return (key, f"Supplier {key}", f"street {rnd.randint(1, 9)}", nation, "11-1", _money(rnd, -100, 900), comment)


def _customer(rnd: random.Random, key: int) -> Row:
    nation = key % len(_NATIONS) if key <= _CUSTOMERS else rnd.randrange(len(_NATIONS))
    segment = rnd.choice(("BUILDING", "MACHINERY"))
    phone = f"{rnd.choice(_CODES)}-{rnd.randint(100, 999)}"
    return (key, f"Customer {key}", f"road {rnd.randint(1, 9)}", nation, phone, _money(rnd, -100, 900), segment, "good")


def _part(rnd: random.Random, key: int) -> Row:
    brand, container, size = rnd.choice(_PLACES)
    name = rnd.choice(("forest green", "forest red", "dark green", "blue"))
    return (key, name, "maker", brand, rnd.choice(_TYPES), size, container, _money(rnd, 1, 99), "fine")


def _partsupp(rnd: random.Random, part: int) -> Row:
    return (part, _supplier_of(rnd, part), rnd.randint(1, 200), _money(rnd, 1, 9), "in stock")


def _supplier_of(rnd: random.Random, part: int) -> int:
    """One of the few that have the part."""
    return (part + rnd.choice((0, 5))) % _SUPPLIERS + 1


def _order(rnd: random.Random, key: int) -> Row:
    # Some customers order nothing.
    customer = rnd.choice([number for number in range(1, _CUSTOMERS + 1) if number % 3])
    comment = rnd.choice(("usual", "usual", "special urgent requests"))
    priority = rnd.choice(("1-URGENT", "2-HIGH", "5-LOW"))
    ordered = rnd.choice(_ORDERED)
    return (key, customer, rnd.choice("FFO"), _money(rnd, 10, 999), ordered, priority, "clerk", 0, comment)


def _lineitem(rnd: random.Random, order: int, line: int, ordered: date) -> Row:
    part = rnd.randint(1, _PARTS)
    quantity = 50 if order % 12 == 0 else rnd.choice(_QUANTITIES)
    shipped = ordered + timedelta(days=rnd.choice((5, 20, 40)))
    committed = shipped + timedelta(days=rnd.choice((-5, 5, 10)))
    received = shipped + timedelta(days=rnd.choice((1, 7, 14)))
    return (
        order, part, _supplier_of(rnd, part), line, Decimal(quantity), _money(rnd, 10, 99),
        Decimal(rnd.choice((0, 5, 6, 7))).scaleb(-2), Decimal(rnd.choice((0, 8))).scaleb(-2), rnd.choice("RAN"),
        rnd.choice("OF"), shipped, committed, received, rnd.choice(("DELIVER IN PERSON", "NONE")),
        rnd.choice(("AIR", "MAIL", "SHIP")), "line",
    )  # fmt: skip


def _new_lineitem(rnd: random.Random) -> Row:
    return _lineitem(rnd, rnd.randint(1, _ORDERS + 5), rnd.randint(1, 9), rnd.choice(_ORDERED))


_NEW: dict[str, Callable[[random.Random], Row]] = {
    "region": _region,
    "nation": _nation,
    "supplier": lambda rnd: _supplier(rnd, rnd.randint(1, _SUPPLIERS + 4)),
    "customer": lambda rnd: _customer(rnd, rnd.randint(1, _CUSTOMERS + 4)),
    "part": lambda rnd: _part(rnd, rnd.randint(1, _PARTS + 4)),
    "partsupp": lambda rnd: _partsupp(rnd, rnd.randint(1, _PARTS + 4)),
    "orders": lambda rnd: _order(rnd, rnd.randint(1, _ORDERS + 5)),
    "lineitem": _new_lineitem,
}
