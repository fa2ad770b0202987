"""USE, SET, UNSET, ALTER SESSION, and transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.names import SchemaName
from snowmelt.runtime import parameters
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.runtime.rights import network
from snowmelt.runtime.rights.authority import ALL_ROLES, SYSTEM
from snowmelt.sql.statements.session import (
    AlterParameters,
    Begin,
    Commit,
    Rollback,
    SetVariables,
    UnsetVariables,
    Use,
)

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def use(run: Run, statement: Use) -> Result:
    parts = run.parts(statement.name) if statement.kind != "SECONDARY ROLES" else ()
    session = run.session
    match statement.kind:
        case "WAREHOUSE":
            with run.state.read() as state:
                if state.warehouses.get(parts[0]) is None:
                    raise errors.cannot_operate()
            session.warehouse = parts[0]
        case "ROLE":
            _use_role(run, parts[0])
        case "SECONDARY ROLES":
            _use_secondary_roles(run, statement.name.parts)
        case "DATABASE":
            _use_database(run, parts[0])
        case "SCHEMA":
            _use_schema(run, parts)
        case _:
            _use_either(run, parts)
    return status(DONE, "USE")


def _use_role(run: Run, role: str) -> None:
    """The user must have the role, itself or through another one. What the system runs keeps to its owner's roles."""
    if role not in _known_roles(run) or role not in _allowed_roles(run):
        raise errors.cannot_operate()
    run.session.role = role


def _allowed_roles(run: Run) -> frozenset[str]:
    access, session = run.account.access, run.session
    if session.role_restriction is not None:
        return frozenset({session.role_restriction})
    return access.inherited(session.role) if session.user == SYSTEM else access.available(session.user)


def _known_roles(run: Run) -> set[str]:
    with run.state.read() as state:
        return {role.name for role in state.access.roles()}


def _use_secondary_roles(run: Run, names: tuple[str, ...]) -> None:
    if run.session.role_restriction is not None and names != ("NONE",):
        raise errors.cannot_operate()
    if names in (("NONE",), ALL_ROLES):
        run.session.secondary_roles = () if names == ("NONE",) else ALL_ROLES
        return
    if not set(names) <= _allowed_roles(run):
        raise errors.cannot_operate()
    run.session.secondary_roles = names


def _use_either(run: Run, parts: tuple[str, ...]) -> None:
    """`USE x`: a database of that name, or else a schema; `USE d.s` is a schema."""
    if len(parts) == 1:
        with run.state.read() as state:
            if state.catalog.database(parts[0]) is not None:
                return _use_database(run, parts[0])
    return _use_schema(run, parts)


def _use_database(run: Run, name: str) -> None:
    with run.state.read() as state:
        if state.catalog.database(name) is None:
            raise errors.cannot_operate()
        public = state.catalog.schema(SchemaName(name, "PUBLIC"))
    run.session.database = name
    run.session.schema = "PUBLIC" if public is not None else None


def _use_schema(run: Run, parts: tuple[str, ...]) -> None:
    name = run.schema_name(parts)
    with run.state.read() as state:
        if state.catalog.schema(name) is None and name.name != "INFORMATION_SCHEMA":
            raise errors.cannot_operate()
    run.session.database, run.session.schema = name.database, name.name


def set_variables(run: Run, statement: SetVariables) -> Result:
    values = {name: run.evaluate(text) for name, text in statement.assignments}
    for name, variable in values.items():
        if isinstance(variable.value, str) and len(variable.value.encode()) > 256 * 16:
            raise errors.compilation(
                "001058", "22023", f"Assignment to '{name}' not done because value exceeds size limit"
            )
    run.session.variables.update(values)
    return status(DONE, "SET")


def unset_variables(run: Run, statement: UnsetVariables) -> Result:
    for name in statement.names:
        run.session.variables.pop(name, None)
    return status(DONE, "UNSET")


def alter_parameters(run: Run, statement: AlterParameters) -> Result:
    checked = {name: parameters.check(name, value) for name, value in statement.settings}
    for name in statement.unset:
        parameters.check(name, parameters.PARAMETERS[name].default if name in parameters.PARAMETERS else "")
    if statement.level == "ACCOUNT":
        with run.state.begin() as state:
            if network.PARAMETER in {*checked, *statement.unset}:
                state.access.note_change()
            if checked.get(network.PARAMETER):
                checked[network.PARAMETER] = str(checked[network.PARAMETER]).upper()
                network.check_activation(state, str(checked[network.PARAMETER]), run.session.client)
            for name, value in checked.items():
                state.parameters.set("ACCOUNT", "", name, str(value))
            for name in statement.unset:
                state.parameters.unset("ACCOUNT", "", name)
        run.account.load_parameters()
        return status(DONE, "ALTER_ACCOUNT")
    if network.PARAMETER in {*checked, *statement.unset}:
        raise errors.compilation("001423", "22023", f"invalid property '{network.PARAMETER}' for 'SESSION'")
    run.session.parameters.update(checked)
    for name in statement.unset:
        run.session.parameters.pop(name, None)
    return status(DONE, "ALTER_SESSION")


def begin(run: Run, statement: Begin) -> Result:
    if run.session.transaction is None:
        run.session.transaction = run.account.transactions.begin(explicit=True, at=run.now, name=statement.name)
    return status(DONE, "BEGIN_TRANSACTION")


def commit(run: Run, _: Commit) -> Result:
    transaction, run.session.transaction = run.session.transaction, None
    if transaction is not None:
        try:
            run.account.transactions.commit(transaction)
        except errors.StatementConflictError as error:
            # There is nothing left to try again: the transaction is rolled back.
            raise errors.once(error) from error
    kept = transaction.quarantined.items() if transaction is not None else ()
    note = "".join(f" Quarantined rows: {rows} of {name}." for name, rows in sorted(kept))
    return status(f"{DONE}{note}", "COMMIT")


def rollback(run: Run, _: Rollback) -> Result:
    transaction, run.session.transaction = run.session.transaction, None
    if transaction is not None:
        run.account.transactions.rollback(transaction)
    return status(DONE, "ROLLBACK")
