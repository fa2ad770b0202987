"""One statement on its way through: its id, its instant, the tables it pinned, the transaction it writes in."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName
from snowmelt.core.types import DataType
from snowmelt.engine.model import FrameView, Lane, TableFiles
from snowmelt.engine.quick.lane import Noted
from snowmelt.runtime import constants, folding, spilling
from snowmelt.runtime import errors as statement_errors
from snowmelt.runtime.naming import StatementNames
from snowmelt.runtime.pending import PendingTable, Savepoint, Transaction
from snowmelt.runtime.query_shapes import QueryShape
from snowmelt.runtime.resolver import StatementCatalog
from snowmelt.runtime.results import Result, ResultColumn
from snowmelt.runtime.rights.authority import Authority
from snowmelt.runtime.rights.sighted import SightedStore
from snowmelt.runtime.sequences import numbered
from snowmelt.runtime.spark_usage import SparkUsage
from snowmelt.runtime.stream_windows import StreamWindow
from snowmelt.runtime.variables import Variable
from snowmelt.sql import constraints as policy_constraints
from snowmelt.sql.binders import Environment
from snowmelt.sql.bound import BoundQuery, OutputColumn, Scope
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.functions.registry import SessionContext
from snowmelt.sql.output import presented
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.base import Annotation, NameRef
from snowmelt.sql.tokens import SqlText
from snowmelt.sql.work import BindingWork
from snowmelt.state.ids import new_query_id
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.sight import Owned
from snowmelt.storage.commits import CommitResult

if TYPE_CHECKING:
    from snowmelt.govern.lineage.graph import Edge
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.session import Session


class Run(StatementNames):
    """What handlers work with. Lives as long as its statement."""

    def __init__(self, session: Session, sql: SqlText, query_id: str | None = None) -> None:
        super().__init__(session)
        self.session = session
        self.account: Account = session.account
        self.sql = sql
        self.query_id = query_id or new_query_id()
        self.tag = self.query_id
        """What Spark's jobs of the statement are found by, here and on Spark's own pages."""
        self.now = self.account.clock.now()
        self.outer: Run | None = session.running
        """The block or CALL that runs this statement, if one does."""
        self.cancelled = False
        self.suspicion = 0
        """Grows each time that Spark's process ends while the statement runs."""
        self.ended = threading.Event()
        self.tables: dict[str, TableFiles] = {}
        """Pinned table versions by the name of their Spark view."""
        self.inputs: dict[str, pa.Table] = {}
        """Arrow tables that the statement reads, by name."""
        self.input_bytes = 0
        self.frames: dict[Hashable, FrameView] = {}
        """What Python functions returned, by the call and the tables that it was given."""
        self._warehouse: tuple[str, str] | None = None
        """Id and scheduling pool of the warehouse, once the statement uses it."""
        self.usage = SparkUsage()
        self.shape: QueryShape | None = None
        """Of a query that may be like one that was run before."""
        self.sequences: dict[str, CatalogObject] = {}
        """The sequences whose NEXTVAL the statement mentions, by id."""
        self._statement_transaction: Transaction | None = None
        self.quarantined = 0
        """Rows that quality checks took out of what the statement wrote."""
        self._begun: Transaction | None = None
        """The session's transaction, when this statement is the one that began it."""
        self.autocommits = bool(session.parameter("AUTOCOMMIT"))
        """Whether, with no transaction open, the statement is a transaction of its own."""
        self.annotations: tuple[Annotation, ...] = ()
        """What a CREATE says of its object in the words of features."""
        self.copies_grants = False
        """Whether what the statement replaces leaves its grants to what takes its place."""
        self.consumes = False
        """Whether the streams that the statement reads are consumed when it commits."""
        self.streams: dict[str, StreamWindow] = {}
        """The streams that the statement reads, by id."""
        self.staged: dict[str, Path] = {}
        """Folders with rows for this statement alone, by the name under which it reads them."""
        self.adopted: dict[str, tuple[int, int]] = {}
        """Per table id, the version that was visible and the one to read: with what other tools wrote behind it."""
        self.named: dict[str, CatalogObject] = {}
        """What the statement itself reads from, by id: tables, views and streams, but not what views read."""
        self.bodies: dict[str, CatalogObject] = {}
        """The views and functions whose bodies are part of the plan, by id."""
        self.exempt: frozenset[str] = frozenset()
        """Ids of what is read as it is stored, whatever its policies say: rows that go back to where they belong."""
        self.lineage: tuple[Edge, ...] = ()
        """What the statement wrote, and from what."""
        self.refreshes: ObjectName | None = None
        self.refreshed_id: str | None = None
        """The dynamic table whose refresh this is."""
        self.account.readers.enter(self)

    def forget_tables(self) -> None:
        """Starts over: nothing pinned, nothing read."""
        self.tables.clear()
        self.inputs.clear()
        self.adopted.clear()
        self.streams.clear()
        self.named.clear()
        self.bodies.clear()
        self.frames.clear()
        self.input_bytes = 0

    # -- rights ---------------------------------------------------------------------------------------------------

    @property
    def authority(self) -> Authority:
        """What the statement may do: the session's rights, or those of the owner it acts for."""
        return self.session.authority

    @property
    def state(self) -> SightedStore:
        """The state store as the session's roles see it. All names of a statement are looked up through it."""
        return SightedStore(self.account.state, self.authority.sight, self.copies_grants)

    def _available_roles(self) -> frozenset[str]:
        session, access = self.session, self.account.access
        return access.available(session.user) if session.role_restriction is None else frozenset()

    # -- context --------------------------------------------------------------------------------------------------

    @property
    def context(self) -> SessionContext:
        session = self.session
        return SessionContext(
            now=self.now,
            time_zone=str(session.parameter("TIMEZONE")),
            user=session.user,
            role=session.role,
            roles=session.authority.roles,
            secondary_roles=session.secondary_roles,
            available_roles=self._available_roles() | {session.role},
            database=session.database,
            schema=session.schema,
            warehouse=session.warehouse,
            session_id=session.id,
            last_query_ids=tuple(session.query_ids),
            transaction_id=session.transaction.id if session.transaction is not None else None,
            token_key=self.account.token_key,
            parameters=dict(session.parameters),
        )

    @property
    def pool(self) -> str:
        """The scheduling pool of the session's warehouse, which counts as in use until the statement ends.

        Raises when the session has none, or it is suspended and does not resume by itself.
        """
        if self._warehouse is None:
            self._warehouse = self.account.metering.begin(self._usable_warehouse())
            self.usage.began(self.account.metering.rate(self._warehouse[0]))
        return self._warehouse[1]

    def _usable_warehouse(self) -> str | None:
        """The session's warehouse, if its roles may use it."""
        name = self.session.warehouse
        found = self.account.metering.warehouse(name) if name is not None else None
        usable = found is not None and self.authority.holds("USAGE", Owned(found.id, found.owner))
        return name if usable or (found is None and self.authority.sight is None) else None

    def release_warehouse(self) -> None:
        """The statement is done."""
        if self._warehouse is not None:
            self.account.metering.end(self._warehouse[0])
            self._warehouse = None
            self.usage.ended(self.outer.usage if self.outer is not None else None)

    def remove_staged(self) -> None:
        for name, folder in self.staged.items():
            self.tables.pop(name, None)
            shutil.rmtree(folder, ignore_errors=True)
        self.staged.clear()

    # -- tables --------------------------------------------------------------------------------------------------

    def find_table(self, name: NameRef) -> CatalogObject:
        """The table that a DML statement names."""
        full = self.object_name(name)
        with self.state.read() as state:
            found = state.catalog.find(full, [ObjectKind.TABLE, ObjectKind.VIEW], self.session.id)
        if found is None:
            raise errors.not_found("Object", str(full))
        if found.kind is not ObjectKind.TABLE:
            raise errors.wrong_kind(found.kind, "TABLE")
        return found

    def target_table(self, name: NameRef) -> CatalogObject:
        """The table whose rows a statement changes. Refuses a dynamic table: its rows come from its query alone."""
        found = self.find_table(name)
        if isinstance(found.definition, TableDefinition) and found.definition.dynamic is not None:
            raise errors.dynamic_table_not_writable(str(found.name))
        return found

    # -- binding --------------------------------------------------------------------------------------------------

    @contextmanager
    def environment(self) -> Iterator[Environment]:
        """The catalog as of one instant, for binding."""
        with self.state.read() as state:
            catalog = StatementCatalog(self, state, self.session.database, self.session.schema)
            yield Environment(catalog, self.context, BindingWork(self.check_cancelled))

    def bind_query(self, text: SqlText) -> BoundQuery:
        tree = parse_snowflake(text.text, line=text.line, column=text.column)
        with self.environment() as environment:
            return QueryBinder(environment).bind(tree)

    def evaluate(self, text: SqlText | exp.Expr) -> Variable:
        """The value of a constant expression (SET, DEFAULT, AT …)."""
        tree = text if isinstance(text, exp.Expr) else parse_snowflake(text.text, line=text.line, column=text.column)
        computed = folding.compute(tree, self.local)
        if isinstance(computed, Variable):
            return computed
        with self.environment() as environment:
            queries = QueryBinder(environment)
            bound = ExpressionBinder(environment, Scope(), queries).bind(tree)
        if queries.guards.used:
            bound = policy_constraints.allowed_value(bound)
        bound = bound.with_tree(numbered(self, bound.tree))
        folded = constants.fold(bound)
        if folded is not constants.UNKNOWN:
            return Variable(folded, bound.type)
        query = presented(BoundQuery(exp.select(exp.alias_(bound.tree, "V")), (OutputColumn("V", "V", bound.type),)))
        data = self.account.engine.to_arrow(
            query, list(self.tables.values()), lane=self.lane, tag=self.tag,
            pool=self.pool if self.tables else None, inputs=self.inputs,
        )  # fmt: skip
        row = Result((ResultColumn("V", bound.type),), data).rows()[0]
        return Variable(row[0], bound.type)

    # -- reading --------------------------------------------------------------------------------------------------

    @property
    def lane(self) -> Lane:
        return Lane.LIGHT if self.input_bytes <= self.account.settings.small_query_bytes else Lane.HEAVY

    def fetch(self, bound: BoundQuery, noted: Noted | None = None) -> Result:
        """Runs a query and brings its rows. `noted` is told what the quick lane was asked, if that gave them."""
        columns = tuple(ResultColumn(column.name, column.type) for column in bound.columns)
        bound = replace(bound, tree=numbered(self, bound.tree))
        folded = constants.fold_query(bound, columns)
        if folded is not None:
            return folded
        if spilling.worth_it(self, bound):
            return spilling.spill(self, bound, columns)
        data = self.account.engine.to_arrow(
            presented(bound),
            list(self.tables.values()),
            lane=self.lane,
            tag=self.tag,
            pool=self.pool,
            inputs=self.inputs,
            noted=noted,
        )
        return Result(columns, data, statement_type="SELECT")

    def types_of(self, bound: BoundQuery) -> tuple[DataType, ...]:
        return tuple(column.type for column in bound.columns)

    # -- writing --------------------------------------------------------------------------------------------------

    @property
    def transaction(self) -> Transaction:
        """The open transaction: the session's, or one of this statement alone."""
        transaction = self._open_transaction()
        if self.session.task is not None:
            transaction.task_id = self.session.task.id
        return transaction

    def _open_transaction(self) -> Transaction:
        if self.session.transaction is not None:
            return self.session.transaction
        if not self.autocommits:
            self.session.transaction = self._begun = self.account.transactions.begin(explicit=True, at=self.now)
            return self.session.transaction
        if self._statement_transaction is None:
            self._statement_transaction = self.account.transactions.begin(explicit=False, at=self.now)
            task = self.session.task
            if task is not None and task.at_commit is not None and self.outer is None:
                self._statement_transaction.at_commit.append(task.at_commit)
        return self._statement_transaction

    @property
    def open_transaction(self) -> Transaction | None:
        """The open transaction, if there is one: none is begun."""
        return self.session.transaction or self._statement_transaction

    def open_for_write(self, table: CatalogObject) -> PendingTable:
        scope = self.session.script.transactions if self.session.script is not None else None
        if scope is not None and scope.holds(table.id, self.transaction):
            raise statement_errors.deadlock(str(table.name))
        pending = self.account.transactions.open_for_write(
            self.transaction, table, self.lock_timeout, self.check_cancelled
        )
        self.account.events.table_written(self.query_id, table, pending.version, CommitResult(pending.version))
        return pending

    @property
    def lock_timeout(self) -> float:
        """How many seconds to wait for another transaction."""
        return min(float(self.session.parameter("LOCK_TIMEOUT")), self.account.settings.lock_timeout_seconds)

    def pending_version(self, table_id: str) -> int | None:
        """The version this session's own transaction has written, which only it sees."""
        for transaction in (self.session.transaction, self._statement_transaction):
            if transaction is not None and table_id in transaction.pending:
                return transaction.pending[table_id].version
        return None

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """The statement's own transaction: what it wrote is visible at the end, or was never there."""
        open_transaction = self.session.transaction
        savepoint = open_transaction.savepoint() if open_transaction is not None else None
        try:
            yield
        except BaseException:
            self._undo_statement(open_transaction, savepoint)
            raise
        if self._statement_transaction is not None:
            transaction, self._statement_transaction = self._statement_transaction, None
            self.account.transactions.commit(transaction)
            self.quarantined = sum(transaction.quarantined.values())

    def _undo_statement(self, open_transaction: Transaction | None, savepoint: Savepoint | None) -> None:
        if self._statement_transaction is not None:
            transaction, self._statement_transaction = self._statement_transaction, None
            self.account.transactions.rollback(transaction)
        if self._begun is not None:
            # With AUTOCOMMIT off the statement itself began the transaction: there was nothing before it.
            self.account.transactions.rollback_to(self._begun, Savepoint())
        if open_transaction is not None and savepoint is not None:
            self.account.transactions.rollback_to(open_transaction, savepoint)

    def check_cancelled(self) -> None:
        if self.cancelled:
            raise errors.cancelled()
