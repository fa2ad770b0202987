"""The account that tests share: what a file of tests leaves at account level is dropped behind it."""

from __future__ import annotations

from contextlib import closing

from snowmelt.runtime.account import Account

KINDS = ("USER", "ROLE", "WAREHOUSE", "INTEGRATION")
"""Databases are not among them: fixtures drop their own, and a database that stays is in nobody's way."""


class SharedAccount:
    def __init__(self, account: Account) -> None:
        self._account = account
        self._at_first = {kind: self._names(kind) for kind in KINDS}

    def sweep(self) -> None:
        for kind in KINDS:
            for name in self._names(kind) - self._at_first[kind]:
                self._drop(kind, name)

    def _names(self, kind: str) -> set[str]:
        with closing(self._account.session()) as session:
            result = session.execute(f"SHOW {kind}S")
        position = [column.name for column in result.columns].index("name")
        return {str(row[position]) for row in result.rows()}

    def _drop(self, kind: str, name: str) -> None:
        with closing(self._account.session()) as session:
            session.execute(f'DROP {kind} "{name}"')
