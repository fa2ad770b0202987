"""Statements that take effect once, however often they are sent.

A claim is a row that commits together with what it stands for. Claim and statements go as one scripting block, so that
a process that dies leaves no transaction open on a server; and the claim comes first, so that whoever repeats a block
waits, by the lock of the claims' table, for one that is still under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, literal
from snowmelt.runtime.results import Result

Execute = Callable[[str], Result]


class Claims:
    """The claims of one run, in a table of its own."""

    def __init__(self, execute: Execute, table: ObjectName) -> None:
        self._execute = execute
        self._table = table
        self._there = False

    @property
    def table(self) -> ObjectName:
        return self._table

    def once(self, claim: str, statements: Sequence[str]) -> int | None:
        """Carries the statements out in one transaction; how many rows they changed, None if that was done before."""
        counted = "\n".join(f"{statement};\nchanged := changed + NVL(SQLROWCOUNT, 0);" for statement in statements)
        changed = self.script(claim, f"LET changed INT := 0;\n{counted}\nreport := changed::VARCHAR;")
        return int(changed) if changed is not None else None

    def script(self, claim: str, body: str) -> str | None:
        """Carries the body out in one transaction; what it put into `report`, None if that was done before.

        A body that ends with ROLLBACK and RETURN has not happened, and its claim is free again.
        """
        if not self._there:
            self._execute(
                f"CREATE TABLE IF NOT EXISTS {self._table} (CLAIM VARCHAR) "
                "COMMENT = 'What an unfinished run has done; the run drops it at its end.'"
            )
            self._there = True
        answer = self._execute(self._block(claim, body)).rows()[0][0]
        return str(answer) if answer is not None else None

    def taken(self) -> list[str]:
        """All claims that were committed; none when nothing was claimed yet, or all of it is over."""
        try:
            return [str(row[0]) for row in self._execute(f"SELECT CLAIM FROM {self._table}").rows()]
        except SnowmeltError as error:
            if error.code != "002003":
                raise
            return []

    def drop(self) -> None:
        self._execute(f"DROP TABLE IF EXISTS {self._table}")
        self._there = False

    def _block(self, claim: str, body: str) -> str:
        return (
            "BEGIN\n"
            "LET report VARCHAR := NULL;\n"
            "BEGIN TRANSACTION;\n"
            f"MERGE INTO {self._table} claims USING (SELECT {literal(claim)} AS CLAIM) wanted "
            "ON claims.CLAIM = wanted.CLAIM WHEN NOT MATCHED THEN INSERT (CLAIM) VALUES (wanted.CLAIM);\n"
            "IF (SQLROWCOUNT = 1) THEN\n"
            f"{body}\n"
            "END IF;\n"
            "COMMIT;\n"
            "RETURN report;\n"
            "EXCEPTION WHEN OTHER THEN\n"
            "ROLLBACK;\n"
            "RAISE;\n"
            "END"
        )
