"""What a session may see of a plan: the one place that decides it, for every kind of EXPLAIN and for errors.

A plan holds the bodies of all views and functions on its way, and the paths of files. Of what is SECURE only the owner
may read the body; the paths of the account's own files are nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.kinds import all_kinds
from snowmelt.runtime.results import Result, ResultColumn, table_result
from snowmelt.runtime.rights.enforcement import may_read_definition
from snowmelt.runtime.statement import AuditedAccount, CheckedStatement
from snowmelt.state.model import CatalogObject
from snowmelt.storage.table import DeltaStore

SEALED = "(not shown: a secure view or function that belongs to another role is part of it)"
_LOCATION = re.compile(r"(Location: \w+ ?(?:\([^)\n]{0,40}\))?) ?\[[^\]\n]*(?:\]|$)", re.MULTILINE)
_VALUE = re.compile(r"'(?:[^']|'')*(?:'|\Z)|\[[^\]]*(?:\]|\Z)")
"""What a message quotes, also where it was cut."""
_ADDRESS = re.compile(r"\b(?:file|hdfs|s3[an]?|gs|abfss?|wasbs?):/[^\s,\])'\"]*")
_QUOTING = {"000979", "001065", "300002"}
"""Codes of errors in Spark's own words, which quote expressions of the plan."""


class StoredAccount(AuditedAccount, Protocol):
    """An account with its files and its key."""

    @property
    def token_key(self) -> str: ...
    @property
    def store(self) -> DeltaStore: ...


class PlannedStatement(CheckedStatement, Protocol):
    """A statement that has been bound."""

    @property
    def account(self) -> StoredAccount: ...
    @property
    def bodies(self) -> dict[str, CatalogObject]: ...


@dataclass(frozen=True, slots=True)
class ExplainRow:
    """A row of EXPLAIN."""

    name: str
    text: str
    open: bool = False
    """Whether it tells nothing of what the query is made of."""


def is_sealed(run: PlannedStatement) -> bool:
    """Whether what was bound has something in it that the session's roles may not read."""
    return not all(may_read_definition(run, item) for item in run.bodies.values())


def explained(run: PlannedStatement, steps: Iterable[ExplainRow]) -> Result:
    """The rows that the session may see."""
    if is_sealed(run):
        rows = [[step.name, step.text] for step in steps if step.open] + [["Plan", SEALED]]
    else:
        rows = [[step.name, without_folders(run, step.text)] for step in steps]
    return table_result([ResultColumn(name, types.VARCHAR) for name in ("step", "text")], rows)


def without_addresses(plan: str) -> str:
    """Spark's plan without the files that it reads."""
    return _ADDRESS.sub("<file>", _LOCATION.sub(r"\1 [<files>]", plan))


def without_folders(run: PlannedStatement, text: str) -> str:
    """Without the account's own folders. Its key is in no plan; were it in one, nobody would see it here."""
    account = run.account
    for own, name in (
        (account.token_key, "***"),
        (account.store.root.uri, "<storage>"),
        (str(account.data_dir), "<data>"),
    ):
        text = text.replace(own, name)
    return text


def censor(run: PlannedStatement, error: SnowmeltError) -> None:
    """Takes out of an error's message what the session may not see of the plan that it quotes."""
    error.message = without_folders(run, error.message)
    if error.code in _QUOTING and is_sealed(run):
        error.message = "The query failed inside a secure view or function, whose details only its owner sees."
    elif error.sqlstate.startswith("22") and _is_guarded(run):
        error.message = _VALUE.sub("'***'", error.message)


def _is_guarded(run: PlannedStatement) -> bool:
    """Whether a policy of somebody else's is part of what was bound: the value that failed may be one it hides."""
    kinds = all_kinds().by_name
    guards = [item for item in run.bodies.values() if item.kind in kinds and kinds[item.kind].is_guarded]
    return not all(may_read_definition(run, item) for item in guards)
