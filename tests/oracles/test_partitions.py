"""Random queries and their parts, through tables, views and dynamic tables that follow random changes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session
from tests.ivm.randomdata import random_changes, random_rows, random_tables
from tests.ivm.sql_tables import SqlTables
from tests.oracles.partitions import ORACLES, PartitionGenerator

QUICK, LONG = 2, 100
BLOCKS = 4
STEPS = 2
OPTIONS = "TARGET_LAG = '1 day' WAREHOUSE = COMPUTE_WH"


def _rows(session: Session, query: str) -> Counter[tuple[Any, ...]] | None:
    """None for a query that fails, such as one that divides by zero for a row: then the other one need not."""
    try:
        return Counter(tuple(str(value) for value in row) for row in session.execute(query).rows())
    except SnowmeltError as error:
        assert error.code != "000603" and "internal" not in error.text.lower(), f"{error}\n{query}"
        return None


def _check(session: Session, seed: int) -> int:
    """How many pairs of queries were compared."""
    rnd = random.Random(seed)
    tables = random_tables(rnd)
    made = SqlTables(session, f"o{seed}", tables, {name: random_rows(rnd, tables[name]) for name in tables})
    query = PartitionGenerator(rnd, tables).partitioned(rnd.choice((1, 1, 2, 2, 3)))
    pairs = {name: oracle(query) for name, oracle in ORACLES.items()}
    readers = {name: _made(session, name, pair) for name, pair in pairs.items()}
    compared = 0
    for step in range(STEPS):
        if step:
            for name, changes in random_changes(rnd, tables, made.rows).items():
                made.change(name, changes)
        for name, (whole, parts) in pairs.items():
            one, other = _rows(session, whole), _rows(session, parts)
            said = f"seed {seed}, step {step}, {name}\n{whole}\n{parts}"
            if one is not None and other is not None:
                assert one == other, said
                compared += 1
            for reader in readers[name]:
                if one is not None and _is_fresh(session, reader):
                    assert _rows(session, f"SELECT * FROM {reader}") == one, f"{said}\n{reader}"
                    compared += 1
    session.execute(f"DROP SCHEMA o{seed}")
    return compared


def _made(session: Session, name: str, pair: tuple[str, str]) -> list[str]:
    """A view and a dynamic table of each query of a pair, as far as they can be made."""
    found = []
    for side, query in zip("ab", pair, strict=True):
        for kind, options in (("VIEW", ""), ("DYNAMIC TABLE", OPTIONS)):
            reader = f"{name}_{side}_{kind[0]}"
            try:
                session.execute(f"CREATE {kind} {reader} {options} AS {query}")
            except SnowmeltError as error:
                assert error.code != "000603", f"{error}\n{query}"
            else:
                found.append(reader)
    return found


def _is_fresh(session: Session, reader: str) -> bool:
    if reader.endswith("_V"):
        return True
    try:
        session.execute(f"ALTER DYNAMIC TABLE {reader} REFRESH")
    except SnowmeltError as error:
        assert error.code.startswith("1000"), f"{reader}: {error}"
        return False
    return True


def test_parts_make_the_whole(session: Session) -> None:
    assert sum(_check(session, seed) for seed in range(QUICK)) > QUICK * 5


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_parts_make_the_whole_for_long(session: Session, block: int) -> None:
    first = 1_000_000 + block * LONG
    assert sum(_check(session, seed) for seed in range(first, first + LONG)) > LONG * 10
