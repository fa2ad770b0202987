"""Which database a catalog is, and of which moment: `SHOP`, `SHOP@now`, `SHOP@2026-01-31T12:00:00Z`.

A catalog of a moment shows every table as it was then, so that what is read from several of them belongs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from snowmelt.serve.iceberg.answers import CatalogError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOW = "now"


@dataclass(frozen=True, slots=True)
class CatalogMoment:
    database: str
    at: datetime | None
    """None: whatever is visible when somebody asks."""

    @property
    def prefix(self) -> str:
        """What stands for it in addresses."""
        if self.at is None:
            return self.database
        return f"{self.database}@{(self.at - _EPOCH) // timedelta(microseconds=1)}"

    @staticmethod
    def of_prefix(prefix: str) -> CatalogMoment:
        name, mark, digits = prefix.rpartition("@")
        if not mark or not digits.isascii() or not digits.isdigit() or len(digits) > 17:
            return CatalogMoment(prefix, None)
        return CatalogMoment(name, _EPOCH + timedelta(microseconds=int(digits)))


def split_warehouse(warehouse: str) -> tuple[str, str | None]:
    """The database, and what follows the last @."""
    name, mark, moment = warehouse.rpartition("@")
    return (name, moment) if mark else (warehouse, None)


def read_moment(written: str, newest: datetime) -> datetime:
    """`newest`: the instant of the last commit, which is what `now` means: what is committed later stays out."""
    if written.lower() == _NOW:
        return newest
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        raise CatalogError(
            400, f"'{written[:60]}' is no moment.", hint="Write @now or an ISO 8601 time, like @2026-01-31T12:00:00Z."
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
