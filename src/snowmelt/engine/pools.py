"""Warehouses as pools of Spark's fair scheduler."""

from __future__ import annotations

from collections.abc import Iterable

WAREHOUSE_SIZES = {
    "X-Small": 1, "Small": 2, "Medium": 4, "Large": 8, "X-Large": 16, "2X-Large": 32, "3X-Large": 64,
    "4X-Large": 128, "5X-Large": 256, "6X-Large": 512,
}  # fmt: skip
"""A warehouse's size is its weight in Spark's fair scheduler, and its credits an hour."""


def pool_of(warehouse_id: str, size: str) -> str:
    """The scheduling pool of a warehouse. Spark reads pools once, so each size has a few to share."""
    return f"{size}-{sum(warehouse_id.encode()) % _POOLS_PER_SIZE}"


_POOLS_PER_SIZE = 8


def pools_xml() -> str:
    def pool(name: str, weight: int) -> str:
        return (
            f'  <pool name="{name}"><schedulingMode>FAIR</schedulingMode><weight>{weight}</weight>'
            "<minShare>0</minShare></pool>"
        )

    lines: Iterable[str] = (
        pool(f"{size}-{slot}", weight) for size, weight in WAREHOUSE_SIZES.items() for slot in range(_POOLS_PER_SIZE)
    )
    return "\n".join(['<?xml version="1.0"?>', "<allocations>", *lines, "</allocations>", ""])
