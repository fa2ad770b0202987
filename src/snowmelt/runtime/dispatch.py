"""Which handler runs which statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    stop_all,
    wait_random_exponential,
)

from snowmelt.core import errors
from snowmelt.runtime import errors as statement_errors
from snowmelt.runtime.kinds import Handler
from snowmelt.runtime.pending import Transaction
from snowmelt.runtime.results import Result, without_quarantined
from snowmelt.runtime.rights import plans
from snowmelt.runtime.rights.enforcement import authorise
from snowmelt.runtime.rights.plans import PlannedStatement, StoredAccount
from snowmelt.runtime.statement import StatementSession
from snowmelt.runtime.transactions import TransactionManager
from snowmelt.sql.statements.base import Annotation, Statement, StatementKind
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.session import Commit, Rollback

_ATTEMPTS = 6
"""How often a statement that meets other writers starts at least; after that its patience with them decides."""
_LONGEST_PAUSE = 0.5
_SUSPECT = 5
"""How many deaths of Spark that others caused count as much as one that this statement may have caused."""
_CONSUMING = frozenset({"UNLOAD", "CREATE_TABLE_AS_SELECT"})
"""What besides DML moves the offsets of the streams that it reads."""


class Handlers(Protocol):
    """What features add to the running of statements."""

    @property
    def handlers(self) -> Mapping[type[Statement], Handler]: ...
    @property
    def scripts(self) -> tuple[type[Statement], ...]: ...
    @property
    def before(self) -> Sequence[Callable[[Any, Statement, StatementKind], None]]: ...
    @property
    def inside(self) -> Sequence[Callable[[Any, Statement], None]]: ...


class HandlingAccount(StoredAccount, Protocol):
    @property
    def features(self) -> Handlers: ...
    @property
    def transactions(self) -> TransactionManager: ...


class TransactingSession(StatementSession, Protocol):
    transaction: Transaction | None


class DispatchedStatement(PlannedStatement, Protocol):
    """A statement that a handler runs: in a transaction, and once more if it met other writers."""

    suspicion: int
    annotations: tuple[Annotation, ...]
    copies_grants: bool
    consumes: bool
    autocommits: bool

    @property
    def session(self) -> TransactingSession: ...
    @property
    def account(self) -> HandlingAccount: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def quarantined(self) -> int: ...
    @property
    def lock_timeout(self) -> float: ...
    def atomic(self) -> AbstractContextManager[None]: ...
    def check_cancelled(self) -> None: ...
    def forget_tables(self) -> None: ...


def execute(run: DispatchedStatement, statement: Statement) -> Result:
    """Runs one parsed statement; on failure nothing of it remains."""
    features = run.account.features
    handler = features.handlers.get(type(statement))
    kind = classify(statement)
    if handler is None:
        raise errors.unsupported(kind.query_type.replace("_", " "))
    transaction = run.session.transaction
    if transaction is not None and transaction.aborted and not isinstance(statement, Commit | Rollback):
        raise statement_errors.transaction_aborted()
    for look in features.before:
        look(run, statement, kind)
    authorise(run, statement)
    run.annotations = getattr(statement, "annotations", ())
    run.copies_grants = bool(getattr(statement, "copy_grants", False))
    run.consumes = kind.is_dml or kind.query_type in _CONSUMING
    if isinstance(statement, features.scripts):
        return handler(run, statement)
    if kind.is_ddl:
        # As in Snowflake, DDL is a transaction of its own, whatever AUTOCOMMIT says, and commits the one that is open.
        run.autocommits = True
        transaction, run.session.transaction = run.session.transaction, None
        if transaction is not None:
            run.account.transactions.commit(transaction)
    try:
        return _repeat(run, handler, statement)
    except errors.StatementConflictError as error:
        # Not for the block or procedure around this statement to try again: its other statements did succeed.
        raise errors.once(error) from error
    except errors.SnowmeltError as error:
        plans.censor(run, error)
        raise


def _repeat(run: DispatchedStatement, handler: Handler, statement: Statement) -> Result:
    try:
        return _attempt(run, handler, statement)
    except errors.SnowmeltError as error:
        if not _is_worth_another(run, error):
            raise
    _look_anew(run)
    return _attempts(run)(_attempt, run, handler, statement)


def _is_worth_another(run: DispatchedStatement, error: BaseException) -> bool:
    if not isinstance(error, errors.EngineLostError):
        return isinstance(error, errors.StatementConflictError)
    # Unless it is known that it was not, the statement may be what ended Spark: it gets one more chance.
    run.suspicion += 1 if error.innocent else _SUSPECT
    return run.suspicion < 2 * _SUSPECT and not run.cancelled


def _attempts(run: DispatchedStatement) -> Retrying:
    """Starts a statement once more and again, for as long as it would wait for a lock: to its user both are the same.

    Another session altered the table while the statement waited for it, or another tool wrote it. Nothing of the
    statement remains then, so that it begins anew with the table as it is now.
    """
    return Retrying(
        retry=retry_if_exception(lambda error: _is_worth_another(run, error)),
        stop=stop_all(stop_after_attempt(_ATTEMPTS - 1), stop_after_delay(run.lock_timeout)),
        wait=wait_random_exponential(multiplier=0.01, max=_LONGEST_PAUSE),
        before_sleep=lambda _: _look_anew(run),
        reraise=True,
    )


def _look_anew(run: DispatchedStatement) -> None:
    run.check_cancelled()
    run.forget_tables()


def _attempt(run: DispatchedStatement, handler: Handler, statement: Statement) -> Result:
    with run.atomic():
        result = handler(run, statement)
        for step in run.account.features.inside:
            step(run, statement)
    # The gate is passed when the statement's transaction is committed.
    return without_quarantined(result, run.quarantined)
