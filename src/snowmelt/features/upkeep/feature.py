"""Upkeep: small files, old versions and histories, in the background."""

from __future__ import annotations

from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.stopping import StopTimes

with lazy_imports():
    from snowmelt.features.upkeep import service, sql_functions
    from snowmelt.features.upkeep.purge import purge
    from snowmelt.features.upkeep.records import trim_histories


_TRIMMED_AT_OPENING = 1000
"""Rows of each history; the rest is for upkeep."""
_MARKER = "purged-on"
"""A file with the day on which the account was last purged as it was opened."""


def _begin(account: Account) -> None:
    account.services.offer(service, "Upkeep", account)


def _opened(account: Account) -> None:
    """Upkeep of accounts without a server: once a day, so that a command on a small directory starts at once."""
    marker, now = account.data_dir / _MARKER, account.clock.now()
    if marker.exists() and marker.read_text(encoding="ascii") == now.date().isoformat():
        return
    purge(account)
    trim_histories(account, now, most=_TRIMMED_AT_OPENING)
    marker.write_text(now.date().isoformat(), encoding="ascii")


def _stop(account: Account, times: StopTimes) -> None:
    if account.services.is_made("Upkeep"):
        account.services[service.Upkeep].stop(times.grace)


FEATURE = Feature(
    "upkeep",
    functions=lambda: sql_functions.FUNCTIONS,
    begin=_begin,
    opened=_opened,
    stop=_stop,
)
