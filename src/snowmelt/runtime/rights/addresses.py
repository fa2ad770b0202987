"""Who may name an address: a URL, a host, a broker, a file or a variable of the machine.

All of them are reached with the server's own means, so whoever may set up access to the outside may name one. Which
parts of statements are addresses is said where they are read (`sql.statements.outside`); `authorise` asks for the right
before any statement that has one, so CREATE, ALTER and whatever comes later need no check of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.runtime.rights import enforcement

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

RIGHT = "CREATE INTEGRATION"


def require_use(run: Run) -> None:
    """For addresses that stand in the texts of queries and functions, or that only this machine understands."""
    enforcement.require_on_account(run, RIGHT)
