"""Errors of procedures and blocks."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError, compilation


def unknown_procedure(name: str, *, qualified: bool) -> SnowmeltError:
    kind = "user-defined function" if qualified else "function"
    return compilation("002141" if qualified else "002140", "42601", f"Unknown {kind} {name}.")


def not_in_procedure(statement: str) -> SnowmeltError:
    return SnowmeltError(
        "090236",
        "42601",
        f"Stored procedure execution error: Unsupported statement type '{statement}'.",
        hint="A procedure with owner's rights may not change the caller's session. Create it with EXECUTE AS CALLER.",
    )


def other_transaction_scope() -> SnowmeltError:
    return SnowmeltError(
        "090232",
        "25000",
        "Modifying a transaction that has started at a different scope is not allowed.",
    )


def incomplete_transaction() -> SnowmeltError:
    return SnowmeltError(
        "090230",
        "25000",
        "Scoped transaction started in stored procedure is incomplete and it was rolled back.",
    )
