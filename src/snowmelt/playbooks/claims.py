"""Statements that take effect once, however often they are sent.

A claim is a row that commits together with what it stands for. Claim and statements go as one scripting block, so that
a process that dies leaves no transaction open on a server; and the claim comes first, so that whoever repeats a block
waits, by the lock of the claims' table, for one that is still under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snowmelt.core.names import ObjectName, literal
from snowmelt.service.results import Result

Execute = Callable[[str], Result]


class Claims:
    """The claims of one run, in a table of its own."""

    def __init__(self, execute: Execute, table: ObjectName) -> None:
        self._execute = execute
        self._table = table
        self._there = False

    def once(self, claim: str, statements: Sequence[str]) -> int | None:
        """Carries the statements out in one transaction; how many rows they changed, None if that was done before."""
        if not self._there:
            self._execute(
                f"CREATE TABLE IF NOT EXISTS {self._table} (CLAIM VARCHAR) "
                "COMMENT = 'What an unfinished run has done; the run drops it at its end.'"
            )
            self._there = True
        changed = self._execute(self._block(claim, statements)).rows()[0][0]
        return None if changed is None or int(changed) < 0 else int(changed)

    def drop(self) -> None:
        self._execute(f"DROP TABLE IF EXISTS {self._table}")
        self._there = False

    def _block(self, claim: str, statements: Sequence[str]) -> str:
        carried_out = "\n".join(f"{statement};\nchanged := changed + NVL(SQLROWCOUNT, 0);" for statement in statements)
        return (
            "BEGIN\n"
            "LET changed INT := -1;\n"
            "BEGIN TRANSACTION;\n"
            f"MERGE INTO {self._table} claims USING (SELECT {literal(claim)} AS CLAIM) wanted "
            "ON claims.CLAIM = wanted.CLAIM WHEN NOT MATCHED THEN INSERT (CLAIM) VALUES (wanted.CLAIM);\n"
            "IF (SQLROWCOUNT = 1) THEN\n"
            f"changed := 0;\n{carried_out}\n"
            "END IF;\n"
            "COMMIT;\n"
            "RETURN changed;\n"
            "EXCEPTION WHEN OTHER THEN\n"
            "ROLLBACK;\n"
            "RAISE;\n"
            "END"
        )
