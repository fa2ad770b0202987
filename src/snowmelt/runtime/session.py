"""A session: where names resolve, what variables hold, which transaction is open."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.text import check_text, storable
from snowmelt.core.watching import Progress, SessionNames
from snowmelt.ingest.channels.ports import ChannelDoor
from snowmelt.runtime import limits, parameters, pipes, purposes
from snowmelt.runtime.binds import substitute
from snowmelt.runtime.describing import described
from snowmelt.runtime.dispatch import execute
from snowmelt.runtime.kept_queries import may_be_shared
from snowmelt.runtime.metering import QUEUE_LIMIT, TIME_LIMIT
from snowmelt.runtime.pending import Transaction
from snowmelt.runtime.query_shapes import shape_of
from snowmelt.runtime.results import Result, ResultColumn
from snowmelt.runtime.rights import lasting
from snowmelt.runtime.rights.authority import Authority
from snowmelt.runtime.rights.grounds import Grounds
from snowmelt.runtime.rights.redaction import cleaned, redacted
from snowmelt.runtime.run import Run
from snowmelt.runtime.running_tasks import RunningTask
from snowmelt.runtime.variables import Locals, Variable
from snowmelt.sql.statements.base import Query, Statement
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText, split_statements
from snowmelt.state.model import QueryRecord, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_KEPT_QUERY_IDS = 200
_SECRETIVE = frozenset({"ALTER_USER"})
"""Statements whose results nobody may see again: a new token is shown once."""
_STOP_AGAIN = 0.25
"""Seconds between two attempts to stop a statement."""
_TIMED_OUT = errors.timed_out(0).code
"""The code of a statement that reached the time limit of its session, account or warehouse."""
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
        self.user = storable(user)
        self.role = storable(role)
        self.secondary_roles = secondary_roles
        """Names of roles; `ALL_ROLES` for all that the user has."""
        self.role_restriction = role_restriction
        """The only role that the means of logging in allows."""
        self.grounds: Grounds | None = None
        self.client: str | None = None
        """The address from which the last request of the session came."""
        """What its user logged in with, which it lasts as long as; None for who needs no login."""
        self.acts_as_owner = False
        """Inside a procedure with owner's rights: the role is the owner's, not one that the user chose."""
        self.database = database and storable(database)
        self.schema = schema and storable(schema)
        self.warehouse = warehouse and storable(warehouse)
        self.variables: dict[str, Variable] = {}
        self.parameters: dict[str, str | int | bool] = {}
        """Session parameters that were set here; `parameter` knows the rest."""
        self.transaction: Transaction | None = None
        self.query_ids: list[str] = []
        self.spills = False
        """Whether large results may lie in files: for who reads them piece by piece."""
        self.hides: tuple[int, bool] | None = None
        """By the catalog's generation, whether temporary objects of the session may hide what others see."""
        self.roles_used: frozenset[str] = frozenset()
        """Whose rights the statement that runs now has had so far."""
        self.closed = False
        self.sees_stored = False  # Whether no policy holds: for what has to find all rows of somebody.
        self.running: Run | None = None
        self.script: Locals | None = None
        """The variables of the scripting block whose statement runs now."""
        self.task: RunningTask | None = None
        """Set in a session that runs the body of a task."""
        self._lock = threading.RLock()

    def execute(
        self, text: str | SqlText, binds: Sequence[Any] | None = None, *, query_id: str | None = None
    ) -> Result:
        """Runs one statement. `binds` replace `?` and `:1` in order. `query_id` is for who must know it before."""
        with self._lock:
            self.check_open()
            sql = text if isinstance(text, SqlText) else SqlText(text)
            if binds:
                sql = replace(sql, text=substitute(sql.text, binds), around=sql.sent)
            if pipes.PIPE in sql.text:
                return pipes.execute_chain(pipes.chained(sql), self._execute, query_id)
            return self._execute(sql, query_id)

    def check_open(self) -> None:
        """Raises when the session has ended, or what it rests on has."""
        lasting.check(self)

    def describe(self, text: SqlText) -> tuple[str, tuple[ResultColumn, ...]]:
        """The query type and the columns of the result that a statement would have. It leaves no trace."""
        with self._lock:
            self.check_open()
            check_text(text.text)
            run = Run(self, text)
            statement = parse_statement(text)
            return classify(statement).query_type, described(run, statement)

    def perform_statement(
        self, text: SqlText, query_id: str, work: Callable[[Run, Statement], Callable[[], Result] | None]
    ) -> bool:
        """Runs what `work` gives for a statement, as if it were its handler. False when that is nothing."""
        with self._lock:
            self.check_open()
            check_text(text.text)
            run = Run(self, text, query_id)
            statement = parse_statement(text)
            chosen = work(run, statement)
            if chosen is not None:
                self._record_run(run, lambda: (classify(statement).query_type, chosen))
            return chosen is not None

    def beside(self) -> Session:
        """A session in the same schema that runs a statement while this one goes on, and sees what this one sees.

        It is the same session to its user: temporary objects are shared. `leave` it when the statement is done; it must
        not be closed, since that would drop them.
        """
        twin = Session(
            self.account, user=self.user, role=self.role, database=self.database, schema=self.schema,
            warehouse=self.warehouse, secondary_roles=self.secondary_roles, role_restriction=self.role_restriction,
        )  # fmt: skip
        twin.id = self.id
        twin.grounds = self.grounds
        twin.client = self.client
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
        return self.account.channel_doors(self)

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

    @property
    def names(self) -> SessionNames:
        return SessionNames(self.user, self.role, self.database, self.schema, self.warehouse)

    def progress(self) -> Progress | None:
        """How far Spark is with the statement that runs now, for other threads."""
        return None if (run := self.running) is None else self.account.engine.progress(run.tag)

    def _stop(self, within: Run | None = None) -> None:
        """Stops what runs now and the blocks and procedures around it, up to one of them. Again does nothing more."""
        run, stopped, fresh = self.running, list[Run](), False
        while run is not None:
            fresh, run.cancelled = fresh or not run.cancelled, True
            stopped.append(run)
            run = run.outer if run is not within else None
        self.account.locks.wake()
        if fresh:
            threading.Thread(target=self._until_stopped, args=(stopped,), daemon=True).start()

    def _until_stopped(self, runs: list[Run]) -> None:
        """Spark stops what it runs; a job that starts a moment later has to be stopped as well.

        A Spark that does not answer holds up this thread, and not whoever stops the statement.
        """
        ended = False
        while not ended:
            for run in runs:
                self.account.engine.cancel(run.tag)
            ended = runs[-1].ended.wait(_STOP_AGAIN)

    def close(self, patience: float = -1.0) -> bool:
        """Rolls back what is open and drops what was temporary, when the statement that runs has ended.

        False when it did not within `patience` seconds. If nobody tries again, the next start undoes what it began.
        """
        if not self._lock.acquire(timeout=patience):
            return False
        try:
            self._close()
        finally:
            self._lock.release()
        return True

    def _close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if self.transaction is not None:
            self.account.transactions.rollback(self.transaction)
            self.transaction = None
        self.account.forget(self)
        try:
            with self.account.state.read() as reader:
                if not reader.whole_catalog.has_temporary(self.id):
                    return
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
            return self._record_run(run, lambda: (query_type, work))

    def _execute(self, sql: SqlText, query_id: str | None) -> Result:
        shared = may_be_shared(self)
        run = Run(self, sql, query_id)

        def prepare() -> tuple[str, Callable[[], Result]]:
            check_text(sql.text)
            run.shape = shape_of(sql.text) if shared else None
            known = run.shape is not None and self.account.kept_queries.knows(run, run.shape)
            statement = Query(sql) if known else parse_statement(sql)
            return classify(statement).query_type, lambda: self._in_slot(run, statement)

        return self._record_run(run, prepare)

    def _in_slot(self, run: Run, statement: Statement) -> Result:
        with self.account.slots.taken(run.check_cancelled, self.patience):
            return execute(run, statement)

    def _record_run(self, run: Run, prepare: Callable[[], tuple[str, Callable[[], Result]]]) -> Result:
        """Runs what `prepare` gives, with its query type. Everything that ends here is in the history."""
        record = QueryRecord(
            query_id=run.query_id, session_id=self.id, text=storable(redacted(run.sql.sent)), query_type="UNKNOWN",
            database=self.database, schema_name=self.schema, user=self.user, role=self.role, warehouse=self.warehouse,
            query_tag=str(self.parameter("QUERY_TAG")), status="running", start_time=run.now,
        )  # fmt: skip
        outer, around = run.outer, self.roles_used
        self.running = run
        with structlog.contextvars.bound_contextvars(query_id=run.query_id, session_id=self.id):
            try:
                # Once more, now that whoever ends the session would also stop this statement.
                if self.grounds is not None:
                    self.check_open()
                used = self.roles_used = self.authority.roles
                query_type, work = prepare()
                record = record.model_copy(update={"query_type": query_type})
                self.account.journal.start(record)
                self.account.events.statement_started(run, record)
                with self._time_limit(run), self._span(run, record):
                    result = work()
                most = int(self.parameter("ROWS_PER_RESULTSET")) if outer is None else 0
                if most and record.query_type == "SELECT":
                    result = result.limited(most)
                result = replace(
                    result,
                    query_id=run.query_id,
                    time_zone=str(self.parameter("TIMEZONE")),
                    json_indent=int(self.parameter("JSON_INDENT")),
                    statement_type=record.query_type,
                )
            except SnowmeltError as error:
                # Whatever broke because the statement was stopped, stopping it is what the user asked for.
                stopped = run.cancelled and error.code != _TIMED_OUT
                failure = errors.cancelled() if stopped else cleaned(run.sql.text, error)
                self._fail(run, record, failure)
                if failure is error:
                    raise
                raise failure from (error if stopped else None)
            except RecursionError as error:
                failure = errors.compilation("000913", "54001", "The statement is nested too deeply.")
                self._fail(run, record, failure)
                raise failure from error
            except OSError as error:
                failure = errors.storage_failed("The data of the statement", error)
                self._fail(run, record, failure)
                raise failure from error
            except Exception as error:
                # A defect of ours: the log has all of it, the user an error like any other.
                _log.exception("statement failed unexpectedly")
                failure = errors.internal(f"{type(error).__name__} in this statement. The log has the details.")
                self._fail(run, record, failure)
                raise failure from error
            finally:
                used, self.roles_used = self.roles_used, around if self.acts_as_owner else around | self.roles_used
                self.running = outer
                run.ended.set()
                run.release_warehouse()
                run.remove_staged()
        if record.query_type not in _SECRETIVE:
            self.account.results.put(result, self.user, used)
        self._finish(run, record, result)
        self.account.events.statement_finished(run, record, result)
        return result

    def _span(self, run: Run, record: QueryRecord) -> AbstractContextManager[None]:
        return self.account.tracing.span(
            record.query_type, query_id=run.query_id, session_id=self.id, warehouse=self.warehouse, user=self.user
        )

    @property
    def patience(self) -> int:
        """Seconds that a statement may wait before it begins; 0 for any time."""
        return limits.seconds(self, QUEUE_LIMIT)

    def _time_limit(self, run: Run) -> AbstractContextManager[None]:
        return limits.stopping(limits.seconds(self, TIME_LIMIT), lambda: self._stop(within=run))

    def _remember(self, query_id: str) -> None:
        del self.query_ids[:-_KEPT_QUERY_IDS]
        self.query_ids.append(query_id)

    def _finish(self, run: Run, record: QueryRecord, result: Result) -> None:
        self._remember(record.query_id)
        self._end(
            run,
            record,
            status="success",
            rows_produced=result.row_count if result.rows_affected is None else result.rows_affected,
            rows_inserted=result.changes.get("inserted"),
            rows_in_result=result.row_count,
        )

    def _fail(self, run: Run, record: QueryRecord, error: SnowmeltError) -> None:
        self.account.audit.flush()
        self.account.events.statement_failed(run, record, error)
        if self.transaction is not None and self.parameter("TRANSACTION_ABORT_ON_ERROR"):
            self.account.transactions.abort(self.transaction)
        self._remember(record.query_id)
        run.release_warehouse()
        self._end(run, record, status="failed_with_error", error_code=error.code, error_message=storable(error.text))

    def _end(self, run: Run, record: QueryRecord, **outcome: object) -> None:
        use = self.account.engine.use_of(run.tag)
        spent = {
            "spark_seconds": run.usage.seconds, "credits": run.usage.credits, "bytes_scanned": run.input_bytes,
            "lane": use.lane, "lane_reason": use.reason,
        }  # fmt: skip
        ended = record.model_copy(
            update={**outcome, **spent, **purposes.served(run), "end_time": self.account.clock.now()}
        )
        if run.consumes and run.streams:
            ended = ended.model_copy(update={"correlation_id": purposes.newest_change(run)})
        self.account.journal.finish(ended)
        self.account.events.statement_recorded(ended)
