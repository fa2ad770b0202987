"""Ids of statements are in the order of time, so that indexes over them grow at their end."""

from __future__ import annotations

import time
import uuid

from snowmelt.state.ids import new_query_id


def test_later_statements_have_later_ids() -> None:
    found = []
    for _ in range(5):
        now = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 == now:
            pass
        found.append(new_query_id())
    assert found == sorted(found)
    assert len({new_query_id() for _ in range(1000)}) == 1000
    assert {(uuid.UUID(each).version, uuid.UUID(each).variant) for each in found} == {(7, uuid.RFC_4122)}
