"""What tables and views are held to: tables know their contract, whatever a contract says."""

from __future__ import annotations

from snowmelt.state.record import Record


class ContractLink(Record):
    """A table or view that is held to a contract."""

    object_id: str
    contract_id: str
    major: int
    described: str
    """Which of the contract's tables it is."""
