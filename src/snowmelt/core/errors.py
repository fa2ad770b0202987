"""One catalogue of errors.

Every failure a user can see is a `SnowmeltError`: what happened, to which object, and what to do. Codes and
wording follow Snowflake where it has them, because clients, dbt and playbooks match on both.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence


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


def once(error: StatementConflictError) -> SnowmeltError:
    """The same error, for whom running the statement again would not be right."""
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


class StreamMovedError(StatementConflictError):
    """Somebody else consumed the stream after the statement looked at it."""

    def __init__(self, stream: str) -> None:
        super().__init__(f"Another transaction consumed the stream '{stream}' at the same time.")


class QualityFailedError(SnowmeltError):
    """A write that its table's quality checks do not let through."""

    def __init__(self, table: str, problems: Sequence[str]) -> None:
        super().__init__(
            "370020", "23514",
            f"Quality checks of table {table} failed, and nothing was written: {'; '.join(problems)}",
            hint="INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY has the results.",
        )  # fmt: skip


def stream_consumed(stream: str) -> SnowmeltError:
    """A transaction reads the same changes from its beginning to its end, and these are somebody else's by now."""
    return SnowmeltError(
        "000625",
        "40001",
        f"Another transaction consumed the stream '{stream}' after this one read it.",
        hint="Roll back and run the transaction again.",
        transient=True,
    )


def stream_stale(stream: str) -> SnowmeltError:
    return compilation(
        "091931", "2F003",
        f"Stream '{stream}' has become stale: the changes since its offset are no longer kept.",
        hint="Create the stream again with CREATE OR REPLACE STREAM.",
    )  # fmt: skip


def stream_base_dropped(kind: str, name: str) -> SnowmeltError:
    return compilation(
        "091932", "2F003", f"Base {kind} {name} dropped, cannot read from stream on it.",
        hint="Bring it back with UNDROP, or create the stream again.",
    )  # fmt: skip


def changes_missing(table: str) -> SnowmeltError:
    """Another tool removed files that hold them."""
    return compilation(
        "091931", "2F003", f"The changes of table '{table}' are no longer kept: streams on it have become stale.",
        hint="Create the stream again with CREATE OR REPLACE STREAM.",
    )  # fmt: skip


def no_change_tracking_on(feature: str, *, view: str | None = None) -> SnowmeltError:
    inside = f" (inside view '{view}')." if view is not None else "."
    return compilation("002707", "0A000", f"Change tracking is not supported on queries with {feature}{inside}")


def compilation(code: str, sqlstate: str, detail: str, *, hint: str | None = None) -> SnowmeltError:
    return SnowmeltError(code, sqlstate, f"SQL compilation error:\n{detail}", hint=hint)


def at_position(code: str, sqlstate: str, line: int, position: int, detail: str) -> SnowmeltError:
    return SnowmeltError(code, sqlstate, f"SQL compilation error: error line {line} at position {position}\n{detail}")


def syntax_error(line: int, position: int, token: str, *, hint: str | None = None) -> SnowmeltError:
    shown = token or "<EOF>"
    return compilation(
        "001003", "42000", f"syntax error line {line} at position {position} unexpected '{shown}'.", hint=hint
    )


def empty_statement() -> SnowmeltError:
    return SnowmeltError("000900", "42601", "SQL compilation error:\nEmpty SQL statement.")


def unsupported(feature: str, *, hint: str | None = None) -> SnowmeltError:
    return compilation("000002", "0A000", f"Unsupported feature '{feature}'.", hint=hint)


def not_incremental(operator: str, advice: str) -> SnowmeltError:
    """A query that REFRESH_MODE = INCREMENTAL can't be had for."""
    return compilation(
        "002711", "0A000",
        "The dynamic table is defined with REFRESH_MODE = INCREMENTAL, but the query is not supported for incremental "
        f"refresh: {operator}.",
        hint=advice,
    )  # fmt: skip


def not_found(kind: str, name: str) -> SnowmeltError:
    """`kind` is the word in the message: Object, Table, Schema, Database, Dynamic table, Stage, …"""
    sqlstate = "42S02" if kind in {"Object", "Table", "View", "Dynamic table"} else "02000"
    return compilation("002003", sqlstate, f"{kind} '{name}' does not exist or not authorized.")


def cannot_operate() -> SnowmeltError:
    return compilation("002043", "02000", "Object does not exist, or operation cannot be performed.")


def already_exists(name: str) -> SnowmeltError:
    return compilation("002002", "42710", f"Object '{name}' already exists.")


def taken_by_hidden(kind: str, name: str) -> SnowmeltError:
    """The one thing that a role learns of what it may not know of: that the name is not free."""
    return compilation(
        "003041", "42710", f"{kind} '{name}' already exists, but current role has no privileges on it.",
        hint="Choose another name, or ask its owner, or who has ACCOUNTADMIN, for a privilege on it.",
    )  # fmt: skip


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


def invalid_value(value: str, parameter: str) -> SnowmeltError:
    return compilation("001008", "22023", f"invalid value [{value}] for parameter '{parameter}'")


def invalid_property(name: str, kind: str) -> SnowmeltError:
    return compilation("001423", "22023", f"invalid property '{name}' for '{kind}'")


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


def null_in_column(table: str, column: str) -> SnowmeltError:
    return SnowmeltError(
        "100072",
        "22000",
        f"DML operation to table {table} failed on column {column} with error: NULL result in a non-nullable column",
    )


def string_too_long(table: str, column: str, value: str) -> SnowmeltError:
    return SnowmeltError(
        "100078",
        "22000",
        f"DML operation to table {table} failed on column {column} with error: "
        f"String '{value}' is too long and would be truncated",
    )


def check_violated(table: str, constraint: str) -> SnowmeltError:
    return SnowmeltError(
        "100079", "23514", f"DML operation to table {table} failed: CHECK constraint {constraint} violated"
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


def statement_not_found(query_id: str) -> SnowmeltError:
    return SnowmeltError("000709", "02000", f"Statement {query_id} not found")


def unknown_procedure(name: str, *, qualified: bool) -> SnowmeltError:
    kind = "user-defined function" if qualified else "function"
    return compilation("002141" if qualified else "002140", "42601", f"Unknown {kind} {name}.")


def not_in_procedure(statement: str) -> SnowmeltError:
    return SnowmeltError(
        "090236",
        "42601",
        f"Stored procedure execution error: Unsupported statement type '{statement}'.",
        hint="A procedure with owner's rights may not change the caller's session. Create it with EXECUTE AS CALLER.",
    )


def other_transaction_scope() -> SnowmeltError:
    return SnowmeltError(
        "090232",
        "25000",
        "Modifying a transaction that has started at a different scope is not allowed.",
    )


def incomplete_transaction() -> SnowmeltError:
    return SnowmeltError(
        "090230",
        "25000",
        "Scoped transaction started in stored procedure is incomplete and it was rolled back.",
    )


def session_variable_not_allowed(name: str) -> SnowmeltError:
    return SnowmeltError(
        "090236",
        "P0000",
        f"Use of session variable '${name}' is not allowed in owners rights stored procedure",
        hint="Pass the value as an argument, or create the procedure with EXECUTE AS CALLER.",
    )


def cancelled() -> SnowmeltError:
    return SnowmeltError("000604", "57014", "SQL execution canceled")


def timed_out(seconds: int) -> SnowmeltError:
    return SnowmeltError(
        "000630",
        "57014",
        f"Statement reached its statement or warehouse timeout of {seconds} second(s) and was canceled.",
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


def insufficient_privileges(kind: str, name: str) -> SnowmeltError:
    return SnowmeltError(
        "003001",
        "42501",
        f"SQL access control error:\nInsufficient privileges to operate on {kind} '{name}'",
    )


def task_owner_lacks_privilege(kind: str = "TASK") -> SnowmeltError:
    """`kind`: TASK or ALERT."""
    return SnowmeltError(
        "091089", "42501",
        f"Cannot execute {kind.lower()}, EXECUTE {kind} privilege must be granted to owner role",
        hint=f"GRANT EXECUTE {kind} ON ACCOUNT TO ROLE <the {kind.lower()}'s owner>.",
    )  # fmt: skip


def role_not_granted(role: str) -> SnowmeltError:
    return SnowmeltError(
        "390189", "08004",
        f"Requested role '{role}' is not assigned to the executing user. Specify another role in USE ROLE.",
    )  # fmt: skip


def incorrect_login() -> SnowmeltError:
    """One message for every reason: who guesses learns nothing."""
    return SnowmeltError("390100", "08001", "Incorrect username or password was specified.")


def password_must_change() -> SnowmeltError:
    return SnowmeltError(
        "390106", "08004", "Specified password has expired. It must be changed before you can log in with it.",
        hint="Log in with a client that asks for a new one, or have it set by ALTER USER … SET PASSWORD.",
    )  # fmt: skip


def login_locked() -> SnowmeltError:
    return SnowmeltError(
        "390102", "08004", "User temporarily locked. Try again later, or contact your account administrator."
    )


def invalid_jwt() -> SnowmeltError:
    return SnowmeltError("390144", "08004", "JWT token is invalid.")


def invalid_token() -> SnowmeltError:
    return SnowmeltError("394400", "08004", "Programmatic access token is invalid.")


SELF_REFERENCE = "002035"


def view_refers_to_itself() -> SnowmeltError:
    return compilation(SELF_REFERENCE, "42601", "View definition refers to view being defined")


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


def refresh_failed(trigger: str, data_timestamp: int, cause: str) -> SnowmeltError:
    """`data_timestamp` in milliseconds since 1970."""
    return compilation(
        "002742", "22000",
        f"Failed to refresh dynamic table with refresh_trigger {trigger} at data_timestamp {data_timestamp} because of "
        f"the error: {cause}",
    )  # fmt: skip


def inputs_failed(tables: str) -> SnowmeltError:
    return compilation("002753", "22000", f"Some inputs failed to refresh: [{tables}].")


def user_required(table: str) -> SnowmeltError:
    return compilation(
        "002773", "22000", f"Dynamic Table '{table}' has REQUIRE USER and can't be refreshed by the system.",
        hint="Refresh it with ALTER DYNAMIC TABLE … REFRESH COPY SESSION.",
    )  # fmt: skip


def refresh_in_transaction() -> SnowmeltError:
    return compilation(
        "002743", "25001", "A dynamic table can't be refreshed inside a transaction.", hint="COMMIT or ROLLBACK first."
    )


def task_refused(message: str, hint: str | None = None) -> SnowmeltError:
    """A task, its schedule or its graph can't be as the statement says. Snowflake's text; its code is not known."""
    return compilation("001007", "22023", message, hint=hint)


def root_not_suspended(root: str) -> SnowmeltError:
    return SnowmeltError(
        "091421", "22000",
        f"Unable to update graph with root task {root} since that root task is not suspended.",
        hint=f"Run ALTER TASK {root} SUSPEND first.",
    )  # fmt: skip


def not_in_task(function: str) -> SnowmeltError:
    return SnowmeltError("091422", "22000", f"Function {function} must be called from within a task.")


def task_timed_out(milliseconds: int) -> SnowmeltError:
    return SnowmeltError(
        "000630", "57014",
        f"Task reached its timeout of {milliseconds} millisecond(s) and was canceled.",
        hint="Set USER_TASK_TIMEOUT_MS to a larger value, or make the task's body do less.",
    )  # fmt: skip


def not_restorable(kind: str, name: str) -> SnowmeltError:
    return SnowmeltError("090025", "02000", f"{kind} {name} did not exist or was purged.")


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


def no_active_warehouse() -> SnowmeltError:
    return SnowmeltError(
        "000606",
        "57P03",
        "No active warehouse selected in the current session.  Select an active warehouse with the 'use warehouse' "
        "command.",
    )


def retention_too_long() -> SnowmeltError:
    return compilation("001007", "22023", "Exceeds maximum allowable retention time (90 day(s)).")


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


def table_damaged(table: str, location: str, version: int) -> SnowmeltError:
    return SnowmeltError(
        "370004",
        "58030",
        f"The files of table '{table}' are damaged: version {version} is missing at '{location}'.",
        hint="Restore the folder from a backup, or DROP the table.",
    )


def state_failed(reason: str, *, disk_full: bool = False) -> SnowmeltError:
    """The state store could not be read or written; nothing of the transaction remains."""
    if disk_full:
        return storage_failed("The state store", OSError(errno.ENOSPC, reason))
    return SnowmeltError("370003", "58030", f"The state store could not be read or written: {reason}.")


def session_gone() -> SnowmeltError:
    return SnowmeltError("390111", "08003", "The session no longer exists. New login required.")


def configuration(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A setting, the machine or the data directory is not as it must be."""
    return SnowmeltError("370001", "F0000", message, hint=hint)


def project(message: str, *, hint: str | None = None) -> SnowmeltError:
    """The definitions of a project are wrong, whatever they are compared with."""
    return SnowmeltError("370002", "F0000", message, hint=hint)


def internal(message: str) -> SnowmeltError:
    return SnowmeltError("300002", "XX000", f"Internal error: {message}")


def connector_stopped(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A connector can't go on by itself: somebody has to do something."""
    return SnowmeltError("370010", "F0000", message, hint=hint)


def invalid_contract(problems: list[str]) -> SnowmeltError:
    """The text is no contract of the Open Data Contract Standard, or none that can be enforced."""
    return SnowmeltError("370011", "22000", "Invalid data contract: " + "; ".join(problems))


def contract_broken(
    object: str, contract: str, version: str, breaches: list[str], consumers: list[str]
) -> SnowmeltError:
    """A statement would leave a table that is not what its contract says. Nothing was changed."""
    hit = f" Consumers: {', '.join(consumers)}." if consumers else ""
    return SnowmeltError(
        "370012", "23514",
        f"The statement breaks contract '{contract}' {version} of '{object}': {'; '.join(breaches)}.{hit}",
        hint="Nothing was changed. Give the contract a version that allows it with ALTER CONTRACT … ADD VERSION (a new "
        "major version where consumers break), or detach it with UNSET CONTRACT.",
    )  # fmt: skip


def contract_incompatible(
    contract: str, old: str, new: str, mode: str, least: str, changes: list[str], consumers: list[str]
) -> SnowmeltError:
    """A new version of a contract does not have the number that its changes ask for."""
    hit = f" Consumers: {', '.join(consumers)}." if consumers else ""
    return SnowmeltError(
        "370013", "23514",
        f"Version {new} of contract '{contract}' changes {old} in a way that needs at least version {least} under "
        f"{mode} compatibility: {'; '.join(changes)}.{hit}",
        hint="Nothing was changed. Take back the changes, or give the document that version; a new major version lives "
        "beside the old one until its sunset.",
    )  # fmt: skip


def contract_version(message: str) -> SnowmeltError:
    """A contract does not have what a statement asks of it."""
    return SnowmeltError("370015", "22023", message)


def playbook(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A playbook, or a run of one, is not what a command asks for."""
    return SnowmeltError("370032", "F0000", message, hint=hint)


def backfill(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A backfill can't be done as it is asked for. Nothing was changed."""
    return SnowmeltError("370033", "F0000", message, hint=hint)
