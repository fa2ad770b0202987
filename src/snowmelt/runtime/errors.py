"""Errors of the runtime: names that lack a database, locks, transactions, changed columns."""

from __future__ import annotations

from snowmelt.core.errors import SELF_REFERENCE, SnowmeltError, compilation


def type_mismatch(expected: str, got: str, column: str) -> SnowmeltError:
    return compilation(
        "002023",
        "22000",
        f"Expression type does not match column data type, expecting {expected} but got {got} for column {column}",
    )


def no_current_database(operation: str) -> SnowmeltError:
    return SnowmeltError(
        "090105",
        "22000",
        f"Cannot perform {operation}. This session does not have a current database. "
        "Call 'USE DATABASE', or use a qualified name.",
    )


def no_current_schema(operation: str) -> SnowmeltError:
    return SnowmeltError(
        "090106",
        "22000",
        f"Cannot perform {operation}. This session does not have a current schema. "
        "Call 'USE SCHEMA', or use a qualified name.",
    )


def check_violated(table: str, constraint: str) -> SnowmeltError:
    return SnowmeltError(
        "100079", "23514", f"DML operation to table {table} failed: CHECK constraint {constraint} violated"
    )


def session_variable_not_allowed(name: str) -> SnowmeltError:
    return SnowmeltError(
        "090236",
        "P0000",
        f"Use of session variable '${name}' is not allowed in owners rights stored procedure",
        hint="Pass the value as an argument, or create the procedure with EXECUTE AS CALLER.",
    )


def lock_timeout(table: str, seconds: float) -> SnowmeltError:
    return SnowmeltError(
        "000625",
        "57014",
        f"Statement waited {seconds:g} seconds for the lock on table '{table}', which another transaction holds.",
        hint="Commit or roll back the other transaction, or raise LOCK_TIMEOUT.",
        transient=True,
    )


def deadlock(table: str) -> SnowmeltError:
    return SnowmeltError(
        "000625",
        "40001",
        f"Deadlock: waiting for the lock on table '{table}' would never end. The transaction was not changed.",
        hint="Roll back this transaction and run it again.",
        transient=True,
    )


def transaction_aborted() -> SnowmeltError:
    return SnowmeltError(
        "000603",
        "25P02",
        "An earlier statement failed and the transaction was rolled back, as TRANSACTION_ABORT_ON_ERROR asks.",
        hint="End it with COMMIT or ROLLBACK.",
    )


def view_refers_to_itself() -> SnowmeltError:
    return compilation(SELF_REFERENCE, "42601", "View definition refers to view being defined")


def column_exists(column: str) -> SnowmeltError:
    return compilation("001430", "42601", f"column '{column}' already exists")


def no_such_column(column: str) -> SnowmeltError:
    return compilation("001431", "42601", f"column '{column}' does not exist")


def no_such_constraint(name: str) -> SnowmeltError:
    return compilation("002210", "42601", f"constraint '{name}' does not exist")


def cannot_retype(column: str, old: str, new: str, reason: str | None = None) -> SnowmeltError:
    """`reason` is what follows 'because'; without one the two types have nothing in common."""
    code = "002108" if reason is None else "040053" if "values" in reason else "040052"
    because = f" because {reason}." if reason else ""
    return SnowmeltError(
        code, "22000", f"SQL compilation error: cannot change column {column} from type {old} to {new}{because}\n"
    )


def invalid_default(expression: str) -> SnowmeltError:
    return compilation("002263", "22000", f"Invalid column default expression [{expression}]")


def retention_too_long() -> SnowmeltError:
    return compilation("001007", "22023", "Exceeds maximum allowable retention time (90 day(s)).")


def table_damaged(table: str, location: str, version: int) -> SnowmeltError:
    return SnowmeltError(
        "370004",
        "58030",
        f"The files of table '{table}' are damaged: version {version} is missing at '{location}'.",
        hint="Restore the folder from a backup, or DROP the table.",
    )


def not_incremental(operator: str, advice: str) -> SnowmeltError:
    """A query that REFRESH_MODE = INCREMENTAL can't be had for."""
    return compilation(
        "002711", "0A000",
        "The dynamic table is defined with REFRESH_MODE = INCREMENTAL, but the query is not supported for incremental "
        f"refresh: {operator}.",
        hint=advice,
    )  # fmt: skip
