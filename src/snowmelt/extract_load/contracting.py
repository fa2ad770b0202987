"""Contracts of a pipeline's tables: made or brought to their version before the tables, attached behind them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import literal
from snowmelt.extract_load.connections import SqlConnection
from snowmelt.govern.contracts.model import Contract
from snowmelt.govern.contracts.reading import read

_NOT_FOUND = "002003"


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A document, and the table that is held to it."""

    name: str
    table: str
    contract: Contract


def read_contracts(folder: Path) -> list[ContractFile]:
    """One file each. Raises, naming what is wrong, for a document that is none."""
    found = []
    for path in sorted(folder.glob("*.yaml")):
        contract = read(path.read_text(encoding="utf-8"))
        found.append(ContractFile(path.stem, contract.tables[0].name, contract))
    return found


def bring_contracts(connection: SqlConnection, files: Iterable[ContractFile]) -> None:
    """Every version is there. Raises when a document says something else than its version did, or breaks consumers.

    A table is let go for a new major version: it can't satisfy it before it is altered.
    """
    for file in files:
        text, version = file.contract.text, file.contract.version
        known = _versions(connection, file.name)
        if known is None:
            connection.execute(f"CREATE CONTRACT IF NOT EXISTS {file.name} AS {literal(text)}")
        elif known.get(str(version)) != text:
            if all(int(other.partition(".")[0]) < version.major for other in known):
                connection.execute(f"ALTER DYNAMIC TABLE {file.table} UNSET CONTRACT")
            connection.execute(f"ALTER CONTRACT {file.name} ADD VERSION AS {literal(text)}")


def attach_contracts(connection: SqlConnection, files: Iterable[ContractFile]) -> None:
    """From now on nobody, and no refresh, can leave a table with columns that break its contract."""
    for file in files:
        major = file.contract.version.major
        connection.execute(f"ALTER DYNAMIC TABLE {file.table} SET CONTRACT = {file.name} CONTRACT_VERSION = {major}")


def _versions(connection: SqlConnection, name: str) -> dict[str, str] | None:
    """The documents by their version; None when there is no such contract."""
    try:
        cursor = connection.execute(f"DESCRIBE CONTRACT {name}")
    except SnowmeltError as error:
        if error.code == _NOT_FOUND:
            return None
        raise
    return {str(row[0]): str(row[-1]) for row in cursor.fetchall()}
