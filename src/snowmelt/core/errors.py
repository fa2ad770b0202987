"""All errors that users meet, each with its code.

Every failure a user can see is a `SnowmeltError`: what happened, to which object, and what to do. Codes and
wording follow Snowflake where it has them, because clients, dbt and playbooks match on both.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from datetime import datetime

SELF_REFERENCE = "002035"
"""A view in its own definition."""


class SnowmeltError(Exception):
    """A failure with Snowflake's code and SQLSTATE.

    `transient` says whether trying the same thing again may succeed; retry logic reads nothing else.
    """

    def __init__(
        self, code: str, sqlstate: str, message: str, *, hint: str | None = None, transient: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.sqlstate = sqlstate
        self.message = message
        self.hint = hint
        self.transient = transient

    @property
    def text(self) -> str:
        """The message with its hint, as a client shows it behind the code."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __str__(self) -> str:
        return f"{self.code} ({self.sqlstate}): {self.text}"


class StatementConflictError(SnowmeltError):
    """The statement met another writer. It left nothing behind, so running it again from its beginning is right."""

    def __init__(self, message: str) -> None:
        super().__init__("000625", "40001", message, hint="Run the statement again.", transient=True)


class EngineLostError(StatementConflictError):
    """Spark's process ended while the statement ran. Another one is being started.

    `innocent`: it is known that another statement was the cause.
    """

    def __init__(self, reason: str, *, innocent: bool = False) -> None:
        self.innocent = innocent
        SnowmeltError.__init__(
            self, "000603", "XX000",
            f"SQL execution internal error: the engine was restarted while the statement ran ({reason}).",
            hint="Nothing of the statement remains. Run it again.", transient=True,
        )  # fmt: skip


def engine_broken(reason: str) -> SnowmeltError:
    """Spark can't be started, or ends again and again; it is tried again in the background."""
    return SnowmeltError(
        "000603", "XX000", f"SQL execution internal error: the engine is not available: {reason}",
        hint="It is being started again. Try again in a moment; the server's log and spark.log have the details.",
        transient=True,
    )  # fmt: skip


def once(error: StatementConflictError) -> SnowmeltError:
    """The same error, but callers do not run the statement again."""
    return SnowmeltError(error.code, error.sqlstate, error.message, hint=error.hint, transient=error.transient)


class TableChangedError(StatementConflictError):
    """The table got another definition between looking its name up and taking it for writing."""

    def __init__(self, table: str) -> None:
        super().__init__(f"Table '{table}' was altered while the statement waited for it.")


class WriteConflictError(StatementConflictError):
    """Something that does not wait for our locks, such as another tool, wrote the table at the same time."""

    def __init__(self, table: str, detail: str | None = None) -> None:
        because = f": {detail}" if detail else "."
        super().__init__(f"Another writer changed the table '{table}' at the same time{because}")


class QualityFailedError(SnowmeltError):
    """A write that its table's quality checks do not let through."""

    def __init__(self, table: str, problems: Sequence[str]) -> None:
        super().__init__(
            "370020", "23514",
            f"Quality checks of table {table} failed, and nothing was written: {'; '.join(problems)}",
            hint="INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY has the results.",
        )  # fmt: skip


def compilation(code: str, sqlstate: str, detail: str, *, hint: str | None = None) -> SnowmeltError:
    return SnowmeltError(code, sqlstate, f"SQL compilation error:\n{detail}", hint=hint)


def at_position(code: str, sqlstate: str, line: int, position: int, detail: str) -> SnowmeltError:
    return SnowmeltError(code, sqlstate, f"SQL compilation error: error line {line} at position {position}\n{detail}")


def syntax_error(line: int, position: int, token: str, *, hint: str | None = None) -> SnowmeltError:
    detail = f"syntax error line {line} at position {position} unexpected '{token or '<EOF>'}'."
    return compilation("001003", "42000", detail, hint=hint)


def empty_statement() -> SnowmeltError:
    return SnowmeltError("000900", "42601", "SQL compilation error:\nEmpty SQL statement.")


def unsupported(feature: str, *, hint: str | None = None) -> SnowmeltError:
    return compilation("000002", "0A000", f"Unsupported feature '{feature}'.", hint=hint)


def unsupported_action(kind: str, action: object) -> SnowmeltError:
    """An ALTER that objects of the kind do not have. Actions are called as they are written."""
    return unsupported(f"ALTER {kind} … {words_of(type(action))}")


def words_of(kind: type) -> str:
    """A class's name as SQL would have it: SwapWith is SWAP WITH."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).upper()


def not_found(kind: str, name: str) -> SnowmeltError:
    """`kind` is the word in the message: Object, Table, Schema, Database, Dynamic table, Stage, …"""
    sqlstate = "42S02" if kind in {"Object", "Table", "View", "Dynamic table"} else "02000"
    return compilation("002003", sqlstate, f"{kind} '{name}' does not exist or not authorized.")


def cannot_operate() -> SnowmeltError:
    return compilation("002043", "02000", "Object does not exist, or operation cannot be performed.")


def already_exists(name: str) -> SnowmeltError:
    return compilation("002002", "42710", f"Object '{name}' already exists.")


def invalid_identifier(name: str, line: int, position: int) -> SnowmeltError:
    return at_position("000904", "42000", line, position, f"invalid identifier '{name}'")


def ambiguous_column(name: str, line: int, position: int) -> SnowmeltError:
    return at_position("002028", "42601", line, position, f"ambiguous column name '{name}'")


def value_list_mismatch(expected: int, got: int) -> SnowmeltError:
    message = f"Insert value list does not match column list expecting {expected} but got {got}"
    return compilation("002020", "21S01", message)


def duplicate_column(name: str) -> SnowmeltError:
    return compilation("002025", "42S21", f"duplicate column name '{name}'")


def unknown_function(name: str, nearest: str | None) -> SnowmeltError:
    hint = f"The nearest function that exists here is {nearest}." if nearest else None
    return compilation("002140", "42601", f"Unknown function {name}", hint=hint)


def not_enough_arguments(call: str, expected: int, got: int) -> SnowmeltError:
    return compilation("000938", "22023", f"not enough arguments for function [{call}], expected {expected}, got {got}")


def too_many_arguments(call: str, expected: int, got: int) -> SnowmeltError:
    return compilation("000939", "22023", f"too many arguments for function [{call}] expected {expected}, got {got}")


def invalid_argument_types(function: str, types: str) -> SnowmeltError:
    return compilation("001044", "42P13", f"Invalid argument types for function '{function}': ({types})")


def invalid_value(value: str, parameter: str, *, expected: str | None = None) -> SnowmeltError:
    hint = None if expected is None else f"Expected {expected}."
    return compilation("001008", "22023", f"invalid value [{value}] for parameter '{parameter}'", hint=hint)


def invalid_property(name: str, kind: str) -> SnowmeltError:
    return compilation("001423", "22023", f"invalid property '{name}' for '{kind}'")


def null_in_column(table: str, column: str) -> SnowmeltError:
    return SnowmeltError(
        "100072",
        "22000",
        f"DML operation to table {table} failed on column {column} with error: NULL result in a non-nullable column",
    )


def not_recognized(kind: str, value: str) -> SnowmeltError:
    """`kind`: Numeric value, Boolean value, Date, Timestamp, Time."""
    code, state = {
        "Numeric value": ("100038", "22018"),
        "Boolean value": ("100037", "22018"),
        "Date": ("100040", "22007"),
        "Timestamp": ("100035", "22007"),
        "Time": ("100108", "22007"),
    }[kind]
    return SnowmeltError(code, state, f"{kind} '{value}' is not recognized")


def out_of_range(value: str) -> SnowmeltError:
    return SnowmeltError("100046", "22003", f"Number out of representable range: {value}")


def division_by_zero() -> SnowmeltError:
    return SnowmeltError("100051", "22012", "Division by zero")


def invalid_json(detail: str) -> SnowmeltError:
    return SnowmeltError("100069", "22P02", f"Error parsing JSON: {detail}")


def nondeterministic_merge() -> SnowmeltError:
    return SnowmeltError(
        "100090",
        "42P18",
        "Duplicate row detected during DML action",
        hint="More than one source row matches one target row. Make the source unique on the join keys.",
    )


def time_travel_unavailable(table: str) -> SnowmeltError:
    return SnowmeltError(
        "000707",
        "02000",
        f"Time travel data is not available for table {table}. The requested time is either beyond the "
        "allowed time travel period or before the object creation time.",
    )


def future_data(instant: datetime) -> SnowmeltError:
    return SnowmeltError(
        "000707",
        "02000",
        f"Future data is not yet available: {instant.isoformat(sep=' ')} is later than the start of this statement.",
        hint="Leave AT out to read the current rows.",
    )


def statement_not_found(query_id: str) -> SnowmeltError:
    return SnowmeltError("000709", "02000", f"Statement {query_id} not found")


def cancelled() -> SnowmeltError:
    return SnowmeltError("000604", "57014", "SQL execution canceled")


def timed_out(seconds: int) -> SnowmeltError:
    return SnowmeltError(
        "000630",
        "57014",
        f"Statement reached its statement or warehouse timeout of {seconds} second(s) and was canceled.",
    )


def insufficient_privileges(kind: str, name: str) -> SnowmeltError:
    return SnowmeltError(
        "003001",
        "42501",
        f"SQL access control error:\nInsufficient privileges to operate on {kind} '{name}'",
    )


def role_not_granted(role: str) -> SnowmeltError:
    return SnowmeltError(
        "390189", "08004",
        f"Requested role '{role}' is not assigned to the executing user. Specify another role in USE ROLE.",
    )  # fmt: skip


def incorrect_login() -> SnowmeltError:
    """One message for every reason: who guesses learns nothing."""
    return SnowmeltError("390100", "08001", "Incorrect username or password was specified.")


def wrong_kind(found: str, wanted: str) -> SnowmeltError:
    return compilation("002203", "42601", f"Object found is of type '{found}', not specified type '{wanted}'.")


def exists_as(name: str, kind: str) -> SnowmeltError:
    return compilation("001998", "42710", f"Object '{name}' already exists as {kind}")


def lag_too_short(written: str, least: int) -> SnowmeltError:
    return compilation(
        "001008", "22023",
        f"Invalid TARGET_LAG value '{written}'. Dynamic Tables do not support lag values under {least} second(s).",
    )  # fmt: skip


def missing_options(names: list[str]) -> SnowmeltError:
    return compilation("002029", "42601", f"Missing option(s): [{', '.join(names)}]")


def not_initialized(table: str) -> SnowmeltError:
    return compilation(
        "002741", "02000",
        f"Dynamic Table '{table}' is not initialized. Please run a manual refresh or wait for a scheduled refresh "
        "before querying.",
    )  # fmt: skip


def dynamic_table_not_writable(table: str) -> SnowmeltError:
    return compilation(
        "002717", "42809", f"Dynamic Table '{table}' cannot be modified: its rows come from its query alone.",
        hint="Change the tables that it reads, or its definition with CREATE OR REPLACE DYNAMIC TABLE.",
    )  # fmt: skip


def change_tracking_missing(table: str) -> SnowmeltError:
    return compilation(
        "091930", "2F003",
        f"Change tracking is not enabled or has been missing for the time range requested on table '{table}'.",
    )  # fmt: skip


def task_refused(message: str, hint: str | None = None) -> SnowmeltError:
    """A task, its schedule or its graph can't be as the statement says. Snowflake's text; its code is not known."""
    return compilation("001007", "22023", message, hint=hint)


def not_in_task(function: str) -> SnowmeltError:
    return SnowmeltError("091422", "22000", f"Function {function} must be called from within a task.")


def no_active_warehouse() -> SnowmeltError:
    return SnowmeltError(
        "000606",
        "57P03",
        "No active warehouse selected in the current session.  Select an active warehouse with the 'use warehouse' "
        "command.",
    )


def storage_failed(what: str, error: OSError) -> SnowmeltError:
    """The disk, or what stands in for it, refused to read or write. `what` is the beginning of the sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SnowmeltError(
            "370002",
            "53100",
            f"{what} could not be written: the disk is full.",
            hint="Nothing of the statement remains. Free some space and run it again.",
            transient=True,
        )
    return SnowmeltError("370003", "58030", f"{what} could not be read or written: {error.strerror or error}.")


def log_damaged(location: str, reason: str) -> SnowmeltError:
    return SnowmeltError(
        "370004",
        "58030",
        f"The files of the table at '{location}' are damaged: {reason}.",
        hint="Restore the folder from a backup, or DROP the table.",
    )


def state_failed(reason: str, *, disk_full: bool = False) -> SnowmeltError:
    """The state store could not be read or written; nothing of the transaction remains."""
    if disk_full:
        return storage_failed("The state store", OSError(errno.ENOSPC, reason))
    return SnowmeltError("370003", "58030", f"The state store could not be read or written: {reason}.")


def server_stopping() -> SnowmeltError:
    return SnowmeltError(
        "370005", "57P01", "The server is being stopped, and the statement was not run.",
        hint="Connect again when the server is back, and run the statement again.", transient=True,
    )  # fmt: skip


def configuration(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A setting, the machine or the data directory is not as it must be."""
    return SnowmeltError("370001", "F0000", message, hint=hint)


def internal(message: str) -> SnowmeltError:
    return SnowmeltError("300002", "XX000", f"Internal error: {message}")


def connector_stopped(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A connector can't go on by itself: somebody has to do something."""
    return SnowmeltError("370010", "F0000", message, hint=hint)


def invalid_contract(problems: list[str]) -> SnowmeltError:
    """The text is not a contract of the Open Data Contract Standard, or can't be enforced."""
    return SnowmeltError("370011", "22000", "Invalid data contract: " + "; ".join(problems))
