"""Names and variables as a statement means them: completed from its session, looked up in the block around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, SchemaName, quote, split_name
from snowmelt.runtime import errors as statement_errors
from snowmelt.runtime.variables import Locals, Variable
from snowmelt.sql.statements.base import NameRef


class NamingSession(Protocol):
    """Where names without a database or schema belong."""

    @property
    def database(self) -> str | None: ...
    @property
    def schema(self) -> str | None: ...
    @property
    def script(self) -> Locals | None: ...
    @property
    def variables(self) -> Mapping[str, Variable]: ...


class StatementNames:
    """A statement, as far as names go."""

    def __init__(self, home: NamingSession) -> None:
        self._home = home
        self.sees_locals = True
        """False for the definitions of views and functions, which outlive the variables around them."""

    def parts(self, name: NameRef) -> tuple[str, ...]:
        """The written parts, with IDENTIFIER($x) looked up."""
        if name.variable is None:
            return name.parts
        variable = self._named_variable(name.variable)
        parts = split_name(str(variable.value)) if variable is not None else None
        if parts is None:
            raise errors.invalid_identifier(name.variable, name.line, name.position)
        return parts

    def _named_variable(self, written: str) -> Variable | None:
        """The value of `$X` or `:X`."""
        name = written[1:]
        if written.startswith("$"):
            return self.session_variable(name)
        return self.local(name)

    def local(self, name: str) -> Variable | None:
        """The value of `:name`, a variable of the scripting block around the statement."""
        script = self._home.script if self.sees_locals else None
        return script.local(name) if script is not None else None

    def session_variable(self, name: str) -> Variable | None:
        """The value of `$name`. Raises in a procedure with owner's rights, which may not see the caller's."""
        if self._home.script is not None and self._home.script.owners_rights:
            raise statement_errors.session_variable_not_allowed(name)
        return self._home.variables.get(name)

    def object_name(self, name: NameRef | tuple[str, ...], operation: str = "this operation") -> ObjectName:
        """The full name, completed from the session."""
        parts = self.parts(name) if isinstance(name, NameRef) else name
        if len(parts) == 3:
            return ObjectName(*parts)
        if self._home.database is None:
            raise statement_errors.no_current_database(operation)
        if len(parts) == 2:
            return ObjectName(self._home.database, parts[0], parts[1])
        if self._home.schema is None:
            raise statement_errors.no_current_schema(operation)
        return ObjectName(self._home.database, self._home.schema, parts[0])

    def written(self, name: NameRef) -> str:
        """The name as a message shows it: with the parts that the statement has, and no more."""
        return ".".join(quote(part) for part in self.parts(name))

    def schema_name(self, name: NameRef | tuple[str, ...]) -> SchemaName:
        parts = self.parts(name) if isinstance(name, NameRef) else name
        if len(parts) == 2:
            return SchemaName(parts[0], parts[1])
        if self._home.database is None:
            raise statement_errors.no_current_database("CREATE SCHEMA")
        return SchemaName(self._home.database, parts[0])
