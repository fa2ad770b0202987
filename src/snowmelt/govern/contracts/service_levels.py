"""What a contract promises beside its columns: how fresh its data is."""

from __future__ import annotations

from snowmelt.govern.contracts.model import Contract

_FRESHNESS = ("freshness", "latency", "ly")
_UNITS = {
    "s": 1, "sec": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "minute": 60, "minutes": 60,
    "h": 3_600, "hr": 3_600, "hour": 3_600, "hours": 3_600, "d": 86_400, "day": 86_400, "days": 86_400,
}  # fmt: skip


def freshness(contract: Contract) -> int | None:
    """Seconds that the data may be behind; None when the document gives no such time in a known form."""
    for item in contract.document.slaProperties or ():
        if (item.property or "").lower() not in _FRESHNESS or isinstance(item.value, bool):
            continue
        unit = _UNITS.get((item.unit or "").lower())
        try:
            amount = float(item.value if item.value is not None else "")
        except ValueError:
            continue
        if unit is not None and amount > 0:
            return round(amount * unit)
    return None
