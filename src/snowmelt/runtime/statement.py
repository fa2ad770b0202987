"""What parts of the runtime ask of a statement on its way: small protocols, all of which a `run.Run` is.

A module that knows these and not `Run` can be used by `Run` itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pyarrow as pa

from snowmelt.core.config import Settings
from snowmelt.core.names import ObjectName, SchemaName
from snowmelt.engine.lanes import Engine
from snowmelt.engine.model import Lane, TableFiles
from snowmelt.runtime.protocols import DataDirectory
from snowmelt.runtime.rights.auditing import AuditLog
from snowmelt.runtime.rights.authority import AccessControl, Authority
from snowmelt.runtime.rights.sighted import SightedStore
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.model import CatalogObject


class ActingStatement(Protocol):
    """A statement with the rights that it has."""

    @property
    def authority(self) -> Authority: ...
    @property
    def state(self) -> SightedStore: ...


class NamingStatement(Protocol):
    """A statement whose names are completed from its session."""

    def parts(self, name: NameRef) -> tuple[str, ...]: ...
    def written(self, name: NameRef) -> str: ...
    def object_name(self, name: NameRef | tuple[str, ...], operation: str = "this operation") -> ObjectName: ...
    def schema_name(self, name: NameRef | tuple[str, ...]) -> SchemaName: ...


class WithInputs(Protocol):
    """A statement that reads Arrow tables by name."""

    @property
    def query_id(self) -> str: ...
    @property
    def inputs(self) -> dict[str, pa.Table]: ...


class HasEngine(Protocol):
    @property
    def engine(self) -> Engine: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def data_dir(self) -> Path: ...


class ComputingStatement(WithInputs, ActingStatement, Protocol):
    """A statement that computes with what it has pinned."""

    input_bytes: int

    @property
    def account(self) -> HasEngine: ...
    @property
    def tables(self) -> dict[str, TableFiles]: ...
    @property
    def sequences(self) -> dict[str, CatalogObject]: ...
    @property
    def lane(self) -> Lane: ...
    @property
    def tag(self) -> str: ...
    @property
    def pool(self) -> str: ...


class StatementSession(Protocol):
    """The session of a statement, as rights and names need it."""

    @property
    def id(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def warehouse(self) -> str | None: ...


class AuditedAccount(DataDirectory, Protocol):
    """The account of a statement whose rights are checked."""

    @property
    def access(self) -> AccessControl: ...
    @property
    def audit(self) -> AuditLog: ...


class CheckedStatement(ActingStatement, NamingStatement, Protocol):
    """A statement whose rights are checked."""

    @property
    def session(self) -> StatementSession: ...
    @property
    def account(self) -> AuditedAccount: ...
    @property
    def query_id(self) -> str: ...
