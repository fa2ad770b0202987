"""Ranges of numbers for AUTOINCREMENT columns and sequences."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, insert, select, update

from snowmelt.core import errors
from snowmelt.state.repository import Repository
from snowmelt.state.tables import COUNTERS

_PEEK = select(COUNTERS.c.next_value).where(
    COUNTERS.c.owner_id == bindparam("owner"), COUNTERS.c.name == bindparam("counter")
)
_MOVE = (
    update(COUNTERS)
    .where(COUNTERS.c.owner_id == bindparam("owner"), COUNTERS.c.name == bindparam("counter"))
    .values(next_value=bindparam("next_value"))
)
_LIMIT = 2**63


class Counters(Repository):
    """Numbers handed out once.

    A range taken by a transaction that is rolled back is free again, so callers take ranges in a short
    transaction of their own.
    """

    def take(self, owner_id: str, name: str, count: int, start: int, step: int) -> int:
        """The first of `count` numbers, `step` apart, that nobody else gets. Counting begins at `start`."""
        self._writing()
        if count < 1:
            raise errors.internal(f"a range of {count} numbers was asked of counter '{name}'.")
        stored = self.peek(owner_id, name)
        first = start if stored is None else stored
        following = first + count * step
        if not -_LIMIT <= following < _LIMIT:
            raise errors.out_of_range(str(following))
        if stored is None:
            self._execute(insert(COUNTERS), {"owner_id": owner_id, "name": name, "next_value": following})
        else:
            self._execute(_MOVE, {"owner": owner_id, "counter": name, "next_value": following})
        return first

    def peek(self, owner_id: str, name: str) -> int | None:
        """The number the next range begins with; None before the first range."""
        value: int | None = self._execute(_PEEK, {"owner": owner_id, "counter": name}).scalar()
        return value

    def set(self, owner_id: str, name: str, next_value: int) -> None:
        """Make the next range begin with this number."""
        self._writing()
        self._upsert(COUNTERS, [{"owner_id": owner_id, "name": name, "next_value": next_value}])

    def drop(self, owner_id: str, name: str | None = None) -> None:
        """Forget one counter of the owner, or all of them."""
        self._writing()
        query = delete(COUNTERS).where(COUNTERS.c.owner_id == owner_id)
        self._execute(query if name is None else query.where(COUNTERS.c.name == name))
