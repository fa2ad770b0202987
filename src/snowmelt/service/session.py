"""A session: where names resolve, what variables hold, which transaction is open."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest.channels.ports import ChannelDoor
from snowmelt.service import parameters
from snowmelt.service.binds import substitute
from snowmelt.service.describing import described
from snowmelt.service.dispatch import execute
from snowmelt.service.observing import correlation
from snowmelt.service.results import Result, ResultColumn
from snowmelt.service.run import Run
from snowmelt.service.security.authority import Authority
from snowmelt.service.security.redaction import redacted, secrets_in, without
from snowmelt.service.tasks.context import TaskContext
from snowmelt.service.transactions import Transaction
from snowmelt.service.transfers import Transfer, is_transfer, transferred
from snowmelt.service.variables import Locals, Variable
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText, split_statements
from snowmelt.state.model import QueryRecord, TableDefinition

if TYPE_CHECKING:
    from snowmelt.service.account import Account

_KEPT_QUERY_IDS = 200
_SCHEDULED = frozenset(
    {"CREATE_DYNAMIC_TABLE", "ALTER_DYNAMIC_TABLE", "REFRESH_DYNAMIC_TABLE", "UNDROP_DYNAMIC_TABLE", "UNDROP_TABLE"}
)
"""Statements after which a dynamic table may be due, or free."""
_TASK_STATEMENTS = frozenset(
    {"CREATE_TASK", "ALTER_TASK", "DROP_TASK", "CREATE_ALERT", "ALTER_ALERT", "UNDROP_SCHEMA", "UNDROP_DATABASE"}
)
"""Statements after which a graph of tasks may be due."""
_SECRETIVE = frozenset({"ALTER_USER"})
"""Statements whose results nobody may see again: a new token is shown once."""
_STOP_AGAIN = 0.25
"""Seconds between two attempts to stop a statement."""
_TIMED_OUT = errors.timed_out(0).code
_log = structlog.get_logger(__name__)


class Session:
    """Runs one statement at a time; calls from other threads wait. Make one with `Account.session`."""

    def __init__(
        self,
        account: Account,
        *,
        user: str,
        role: str,
        database: str | None,
        schema: str | None,
        warehouse: str | None,
        secondary_roles: tuple[str, ...] = (),
        role_restriction: str | None = None,
    ) -> None:
        self.account = account
        self.id = str(uuid.uuid4().int >> 75)
        self.user = user
        self.role = role
        self.secondary_roles = secondary_roles
        """Names of roles; `ALL_ROLES` for all that the user has."""
        self.role_restriction = role_restriction
        """The only role that the means of logging in allows."""
        self.acts_as_owner = False
        """Inside a procedure with owner's rights: the role is the owner's, not one that the user chose."""
        self.database = database
        self.schema = schema
        self.warehouse = warehouse
        self.variables: dict[str, Variable] = {}
        self.parameters: dict[str, str | int | bool] = {}
        """Session parameters that were set here; `parameter` knows the rest."""
        self.transaction: Transaction | None = None
        self.query_ids: list[str] = []
        self.spills = False
        """Whether large results may lie in files: for who reads them piece by piece."""
        self.closed = False
        self.running: Run | None = None
        self.script: Locals | None = None
        """The variables of the scripting block whose statement runs now."""
        self.task: TaskContext | None = None
        """Set in a session that runs the body of a task."""
        self._channel_door: ChannelDoor | None = None
        self._lock = threading.RLock()

    def execute(
        self, text: str | SqlText, binds: Sequence[Any] | None = None, *, query_id: str | None = None
    ) -> Result:
        """Runs one statement. `binds` replace `?` and `:1` in order. `query_id` is for who must know it before."""
        with self._lock:
            self._check_open()
            sql = text if isinstance(text, SqlText) else SqlText(text)
            if binds:
                sql = replace(sql, text=substitute(sql.text, binds))
            return self._execute(sql, query_id)

    def _check_open(self) -> None:
        if self.closed:
            raise errors.session_gone()

    def describe(self, text: SqlText) -> tuple[str, tuple[ResultColumn, ...]]:
        """The query type and the columns of the result that a statement would have. It leaves no trace."""
        with self._lock:
            self._check_open()
            run = Run(self, text)
            statement = parse_statement(text)
            return classify(statement).query_type, described(run, statement)

    def transfer(self, text: SqlText, query_id: str) -> Transfer | None:
        """What a client has to do for PUT or GET with files on its own machine; None for any other statement."""
        with self._lock:
            self._check_open()
            run = Run(self, text, query_id)
            found: list[Transfer] = []
            statement = parse_statement(text)

            def prepare() -> tuple[str, Callable[[], Result]]:
                return classify(statement).query_type, lambda: transferred(run, statement, found)

            if not is_transfer(statement):
                return None
            self._recorded(run, prepare)
            return found[0]

    def beside(self) -> Session:
        """A session in the same place that runs a statement while this one goes on, and sees what this one sees.

        It is the same session to its user: temporary objects are shared. `leave` it when the statement is done; it must
        not be closed, since that would drop them.
        """
        twin = Session(
            self.account, user=self.user, role=self.role, database=self.database, schema=self.schema,
            warehouse=self.warehouse, secondary_roles=self.secondary_roles, role_restriction=self.role_restriction,
        )  # fmt: skip
        twin.id = self.id
        twin.acts_as_owner = self.acts_as_owner
        twin.variables = dict(self.variables)
        twin.parameters = dict(self.parameters)
        twin.query_ids = self.query_ids
        twin.spills = self.spills
        self.account.add(twin)
        return twin

    def leave(self) -> None:
        """The end of a session beside another one."""
        self.account.forget(self)

    @property
    def authority(self) -> Authority:
        """What the session may do now."""
        access = self.account.access
        return (
            access.of_role(self.role)
            if self.acts_as_owner
            else access.of_session(self.user, self.role, self.secondary_roles)
        )

    def channel_door(self) -> ChannelDoor:
        """What a streaming ingest client writes through, with the session's rights."""
        with self._lock:
            self._check_open()
            if self._channel_door is None:
                self._channel_door = self.account.channels.door(self)
            return self._channel_door

    def execute_script(self, text: str) -> list[Result]:
        """Runs statements separated by `;` one after the other, stopping at the first that fails."""
        return [self.execute(statement) for statement in split_statements(text)]

    def parameter(self, name: str) -> str | int | bool:
        """The value in force of a session parameter."""
        if name in self.parameters:
            return self.parameters[name]
        return self.account.parameters.get(name, parameters.default(name))

    def cancel(self) -> None:
        """Stops the statement that runs now, from another thread."""
        self._stop()

    def _stop(self, within: Run | None = None) -> None:
        """Stops what runs now and the blocks and procedures around it, up to one of them."""
        run = self.running
        stopped: list[Run] = []
        while run is not None:
            run.cancelled = True
            stopped.append(run)
            run = run.outer if run is not within else None
        for run in stopped:
            self.account.engine.cancel(run.tag)
        self.account.locks.wake()
        if stopped:
            threading.Thread(target=self._until_stopped, args=(stopped,), daemon=True).start()

    def _until_stopped(self, runs: list[Run]) -> None:
        """Spark stops what it runs; a job that starts a moment later has to be stopped as well."""
        while not runs[-1].ended.wait(_STOP_AGAIN):
            for run in runs:
                self.account.engine.cancel(run.tag)

    def close(self) -> None:
        """Rolls back what is open and drops what was temporary."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            if self.transaction is not None:
                self.account.transactions.rollback(self.transaction)
                self.transaction = None
            self.account.forget(self)
            try:
                with self.account.state.begin() as state:
                    dropped = state.catalog.drop_session(self.id)
            except SnowmeltError as error:
                # Nobody can name them any more, and the next start removes them.
                _log.warning("temporary_objects_left", session_id=self.id, error=str(error))
                return
            for item in dropped:
                if isinstance(item.definition, TableDefinition):
                    self.account.store.remove(item.definition.location)

    def perform(self, run: Run, query_type: str, work: Callable[[], Result]) -> Result:
        """Runs work that is no statement of a client's, such as a refresh, as if it were one: with limits and a record.

        The session must have no other use.
        """
        with self._lock:
            return self._recorded(run, lambda: (query_type, work))

    def _execute(self, sql: SqlText, query_id: str | None) -> Result:
        run = Run(self, sql, query_id)

        def prepare() -> tuple[str, Callable[[], Result]]:
            statement = parse_statement(sql)
            return classify(statement).query_type, lambda: execute(run, statement)

        return self._recorded(run, prepare)

    def _recorded(self, run: Run, prepare: Callable[[], tuple[str, Callable[[], Result]]]) -> Result:
        """Runs what `prepare` gives, with its query type. Everything that ends here is in the history."""
        record = QueryRecord(
            query_id=run.query_id, session_id=self.id, text=redacted(run.sql.text), query_type="UNKNOWN",
            database=self.database, schema_name=self.schema, user=self.user, role=self.role, warehouse=self.warehouse,
            query_tag=str(self.parameter("QUERY_TAG")), status="running", start_time=run.now,
        )  # fmt: skip
        outer = run.outer
        self.running = run
        with structlog.contextvars.bound_contextvars(query_id=run.query_id, session_id=self.id):
            try:
                query_type, work = prepare()
                record = record.model_copy(update={"query_type": query_type})
                self.account.journal.start(record)
                self.account.run_events.started(run, record)
                with self._time_limit(run), self._span(run, record):
                    result = work()
                result = replace(
                    result,
                    query_id=run.query_id,
                    time_zone=run.context.time_zone,
                    statement_type=record.query_type,
                )
            except SnowmeltError as error:
                # Whatever broke because the statement was stopped, stopping it is what the user asked for.
                stopped = run.cancelled and error.code != _TIMED_OUT
                failure = errors.cancelled() if stopped else _without_secrets(run.sql.text, error)
                self._failed(run, record, failure)
                if failure is error:
                    raise
                raise failure from (error if stopped else None)
            except RecursionError as error:
                failure = errors.compilation("000913", "54001", "The statement is nested too deeply.")
                self._failed(run, record, failure)
                raise failure from error
            except OSError as error:
                failure = errors.storage_failed("The data of the statement", error)
                self._failed(run, record, failure)
                raise failure from error
            except Exception as error:
                # A defect of ours: the log has all of it, the user an error like any other.
                _log.exception("statement failed unexpectedly")
                failure = errors.internal(f"{type(error).__name__} in this statement. The log has the details.")
                self._failed(run, record, failure)
                raise failure from error
            finally:
                self.running = outer
                run.ended.set()
                run.release_warehouse()
                run.remove_staged()
        if record.query_type not in _SECRETIVE:
            self.account.results.put(result, self.user, self.role)
        self._finished(run, record, result)
        self.account.run_events.finished(run, record, result)
        return result

    def _span(self, run: Run, record: QueryRecord) -> AbstractContextManager[None]:
        return self.account.tracing.span(
            record.query_type, query_id=run.query_id, session_id=self.id, warehouse=self.warehouse, user=self.user
        )

    @contextmanager
    def _time_limit(self, run: Run) -> Iterator[None]:
        """Stops the statement after STATEMENT_TIMEOUT_IN_SECONDS, if a limit was set."""
        limit = int(self.parameter("STATEMENT_TIMEOUT_IN_SECONDS"))
        if limit in (0, parameters.default("STATEMENT_TIMEOUT_IN_SECONDS")):
            yield
            return
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            self._stop(within=run)

        timer = threading.Timer(limit, stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        except SnowmeltError as error:
            if expired.is_set():
                raise errors.timed_out(limit) from error
            raise
        finally:
            timer.cancel()

    def _remember(self, query_id: str) -> None:
        del self.query_ids[:-_KEPT_QUERY_IDS]
        self.query_ids.append(query_id)

    def _finished(self, run: Run, record: QueryRecord, result: Result) -> None:
        self._remember(record.query_id)
        self._ended(
            run,
            record,
            status="success",
            rows_produced=result.row_count if result.rows_affected is None else result.rows_affected,
            rows_inserted=result.changes.get("inserted"),
            rows_in_result=result.row_count,
        )
        if record.query_type in _SCHEDULED:
            self.account.dynamic_tables.wake()
        if record.query_type in _TASK_STATEMENTS:
            self.account.tasks.wake()

    def _failed(self, run: Run, record: QueryRecord, error: SnowmeltError) -> None:
        self.account.audit.flush()
        self.account.run_events.failed(run, record, error)
        if self.transaction is not None and self.parameter("TRANSACTION_ABORT_ON_ERROR"):
            self.account.transactions.abort(self.transaction)
        self._remember(record.query_id)
        run.release_warehouse()
        self._ended(run, record, status="failed_with_error", error_code=error.code, error_message=error.text)

    def _ended(self, run: Run, record: QueryRecord, **outcome: object) -> None:
        spent = {"spark_seconds": run.usage.seconds, "credits": run.usage.credits, "bytes_scanned": run.input_bytes}
        ended = record.model_copy(update={**outcome, **spent, **_served(run), "end_time": self.account.clock.now()})
        if run.consumes and run.streams:
            ended = ended.model_copy(update={"correlation_id": _newest_change(run)})
        self.account.journal.finish(ended)
        self.account.observing.query_ended(ended)


def _newest_change(run: Run) -> str | None:
    """The id of the newest change that the statement consumed."""
    read = {id: version for window in run.streams.values() for id, version in window.upto.items()}
    with run.state.read() as state:
        return correlation.of_versions(run.account, state, read)


def _served(run: Run) -> dict[str, object]:
    """What the statement ran for, when not for a user."""
    task = run.session.task
    if run.refreshes is not None:
        return {"purpose": "REFRESH", "target": str(run.refreshes)}
    if task is not None:
        return {"purpose": "ALERT" if task.run.exists is not None else "TASK", "target": str(task.run.name)}
    return {}


def _without_secrets(text: str, error: SnowmeltError) -> SnowmeltError:
    """The error as it may be shown and kept: one about a statement with a secret in it may quote the secret."""
    secrets = secrets_in(text)
    shown = without(error.message, secrets) if secrets else error.message
    if shown == error.message:
        return error
    return SnowmeltError(error.code, error.sqlstate, shown, hint=error.hint)
