"""Running what was sent: one statement, several, for many rows of binds, or only its description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime import parameters
from snowmelt.runtime.binds import merged_insert, substitute, template
from snowmelt.runtime.results import Result, ResultColumn, counts, status
from snowmelt.runtime.session import Session
from snowmelt.runtime.wire import rowtypes
from snowmelt.runtime.wire.bindings import Bindings
from snowmelt.sql.tokens import SqlText, split_statements

DML = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
_VERBS = ("inserted", "updated", "deleted")
MULTIPLE_DONE = "Multiple statements executed successfully."


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """What a query request says."""

    sql: str
    bindings: Bindings = field(default_factory=Bindings)
    asynchronous: bool = False
    describe_only: bool = False
    settings: Mapping[str, parameters.Value] = field(default_factory=dict)
    """Session parameters for this request alone."""

    @property
    def statement_count(self) -> parameters.Value | None:
        return self.settings.get("MULTI_STATEMENT_COUNT")


@contextmanager
def overlaid(session: Session, settings: Mapping[str, parameters.Value]) -> Iterator[None]:
    """The session with other parameters for a while; what the statement itself sets stays."""
    before = {name: session.parameters.get(name) for name in settings}
    session.parameters.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if session.parameters.get(name) != settings[name]:
                continue
            if value is None:
                session.parameters.pop(name, None)
            else:
                session.parameters[name] = value


@dataclass(frozen=True, slots=True)
class Several:
    """The results of a request with several statements; the client fetches each by its query id."""

    children: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class DescribedStatement:
    query_type: str
    columns: tuple[ResultColumn, ...]
    binds: int


RequestResult = Result | Several | DescribedStatement


def execute_request(session: Session, request: QueryRequest, query_id: str) -> RequestResult:
    """Runs the request under the query id that the client was promised."""
    if request.describe_only:
        return _described(session, request)
    if request.bindings.many:
        return _for_each_row(session, request, query_id)
    statements = asked_statements(request)
    _check_count(session, request, len(statements))
    if not statements:
        raise errors.compilation("000900", "42601", "Empty SQL statement.")
    if len(statements) == 1:
        return session.execute(statements[0], query_id=query_id)
    return Several(tuple(session.execute(statement) for statement in statements))


def asked_statements(request: QueryRequest) -> list[SqlText]:
    """The statements of a request, with the first row of its binds in them; what was sent has none of their values."""
    sent = split_statements(request.sql)
    if not request.bindings.rows:
        return sent
    filled = split_statements(substitute(request.sql, request.bindings.rows[0], request.bindings.names))
    return [replace(statement, around=one.sent) for statement, one in zip(filled, sent, strict=True)]


def _check_count(session: Session, request: QueryRequest, found: int) -> None:
    asked = request.statement_count
    wanted = int(asked if asked is not None else session.parameter("MULTI_STATEMENT_COUNT"))
    if (wanted != 0 and found > 1 and found != wanted) or (wanted > 1 and found != wanted):
        raise SnowmeltError(
            "000008", "0A000",
            f"Actual statement count {found} did not match the desired statement count {wanted}.",
            hint="Set MULTI_STATEMENT_COUNT to the number of statements, or to 0 for any.",
        )  # fmt: skip


def _described(session: Session, request: QueryRequest) -> DescribedStatement:
    found = template(request.sql, request.bindings.names)
    given = request.bindings.rows[0] if request.bindings.rows else ()
    values = [*given, *[None] * max(0, found.count - len(given))]
    statements = split_statements(found.fill(values))
    if len(statements) != 1:
        return DescribedStatement("MULTI_STATEMENT", status("", "").columns, found.count)
    query_type, columns = session.describe(statements[0])
    return DescribedStatement(query_type, columns, found.count)


def _for_each_row(session: Session, request: QueryRequest, query_id: str) -> Result:
    """As one INSERT where that is possible; else one statement a row, all of them or none."""
    rows = request.bindings.rows
    if not rows:
        raise errors.compilation("000900", "42601", "There are no rows to bind.")
    merged = merged_insert(request.sql, rows, request.bindings.names)
    if merged is not None:
        return session.execute(SqlText(merged, around=request.sql), query_id=query_id)
    own = session.transaction is None and bool(session.parameter("AUTOCOMMIT"))
    if own:
        session.execute("BEGIN")
    changed = 0
    kind = "INSERT"
    try:
        filled = template(request.sql, request.bindings.names)
        for row in rows:
            result = session.execute(SqlText(filled.fill(row), around=request.sql))
            changed += result.rows_affected or 0
            kind = result.statement_type
    except BaseException:
        if own:
            session.execute("ROLLBACK")
        raise
    if own:
        session.execute("COMMIT")
    total = counts(kind, **{f"number_of_rows_{_DONE.get(kind, 'changed')}": changed})
    return Result(total.columns, total.data, query_id=query_id, statement_type=kind, rows_affected=changed)


_DONE = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted", "MERGE": "merged"}


def several_data(outcome: Several, query_id: str) -> dict[str, Any]:
    """The part of an answer that says where the results of several statements are."""
    ids = ",".join(child.query_id for child in outcome.children)
    types = ",".join(str(rowtypes.statement_type_id(child.statement_type)) for child in outcome.children)
    row = status(MULTIPLE_DONE, "")
    return {
        "queryId": query_id, "resultIds": ids, "resultTypes": types, "statementTypeId": rowtypes.MULTIPLE,
        "rowtype": [rowtypes.row_type(ResultColumn("multiple statement execution", row.columns[0].type))],
        "rowset": [[MULTIPLE_DONE]], "total": 1, "returned": 1, "queryResultFormat": "json",
    }  # fmt: skip


def described_data(outcome: DescribedStatement, query_id: str) -> dict[str, Any]:
    return {
        "queryId": query_id,
        "rowtype": [rowtypes.row_type(column) for column in outcome.columns],
        "rowset": [],
        "total": 0,
        "returned": 0,
        "queryResultFormat": "json",
        "statementTypeId": rowtypes.statement_type_id(outcome.query_type),
        "numberOfBinds": outcome.binds,
        "arrayBindSupported": outcome.query_type in DML,
        "metaDataOfBinds": [
            {"name": str(number + 1), "type": "text", "nullable": True, "length": 16777216, "byteLength": 16777216,
             "precision": None, "scale": None}
            for number in range(outcome.binds)
        ],
    }  # fmt: skip


def change_counts(result: Result) -> dict[str, int]:
    """What a DML statement changed, by kind."""
    changes = result.changes
    return {**{f"numRows{verb.title()}": changes.get(verb, 0) for verb in _VERBS}, "numDmlDuplicates": 0}
