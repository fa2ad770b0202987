"""All of PostgreSQL's types in a mirror, compared with the source value by value."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from snowmelt.runtime.session import Session
from tests.features.connectors.capture import Capture, rows, standing
from tests.features.connectors.typed import TYPES, create_everything, insert

pytestmark = pytest.mark.slow
Source = psycopg.Connection[Any]


def test_every_type(captures: Session, capture: Capture, source: Source) -> None:
    """Once as rows that a snapshot reads, and once as changes."""
    most = create_everything(source)
    for turn in range(most):
        insert(source, turn, turn)
    capture.create("shop", ["everything"], "TARGET = MIRROR")
    capture.wait_for_stream("shop")
    for turn in range(most):
        insert(source, 100 + turn, turn)
    source.execute("INSERT INTO everything (id) VALUES (200)")
    source.execute("INSERT INTO everything (id) VALUES (300)")
    source.execute("DELETE FROM everything WHERE id = 300")
    count = 2 * most + 3
    capture.wait_for(lambda: arrived(captures) == count, "shop")
    assert standing(captures, "shop")["dead_letters"] == 0, rows(captures, "SELECT reason FROM shop_dead_letters")
    wrong = {typed.type: found for place, typed in enumerate(TYPES) if (found := differences(captures, source, place))}
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


def arrived(captures: Session) -> int:
    now = standing(captures, "shop")
    return int(now["changes"] + now["dead_letters"])


def differences(captures: Session, source: Source, place: int) -> list[tuple[Any, ...]]:
    """Of one column: id, what the source has, what is here."""
    typed, name = TYPES[place], f"c{place}"
    there = dict(source.execute(f"SELECT id, {typed.there.format(name)} FROM everything".encode()).fetchall())
    endless = dict(source.execute(f"SELECT id, {name}::text FROM everything".encode()).fetchall())
    here = dict(rows(captures, f"SELECT id, {typed.here.format(name)} FROM everything"))
    differs = dict(typed.differs)
    found: list[tuple[Any, ...]] = []
    for id_, value in there.items():
        expected = None if endless[id_] is None else differs.get(endless[id_], differs.get(value, value))
        own = here.get(id_, "missing")
        same = (own is None and expected is None) or (
            own is not None and expected is not None and typed.read(own) == typed.read(expected)
        )
        if not same:
            found.append((id_, expected, own))
    return found
