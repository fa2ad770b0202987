"""From a request to the bytes of its answer, in a thread of the pool."""

from __future__ import annotations

import time
from typing import Any

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading.transfers import transfer
from snowmelt.runtime.account import Account
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session
from snowmelt.runtime.wire import rowtypes
from snowmelt.runtime.wire.requests import (
    DML,
    DescribedStatement,
    QueryRequest,
    RequestResult,
    Several,
    asked_statements,
    change_counts,
    described_data,
    execute_request,
    overlaid,
    several_data,
)
from snowmelt.serve.protocol.addresses import Addresses, AddressHolder
from snowmelt.serve.protocol.answers import ProtocolAnswer, envelope, failure
from snowmelt.serve.protocol.executions import Execution, StatementOwner
from snowmelt.serve.protocol.login import session_parameters
from snowmelt.serve.protocol.parts import Delivery, ResultParts
from snowmelt.serve.protocol.stage_files import StageFiles

_log = structlog.get_logger(__name__)
_GO = "Go"
_READS_ARROW = {
    "Python": "PYTHON_CONNECTOR_QUERY_RESULT_FORMAT", "Snowpark": "PYTHON_CONNECTOR_QUERY_RESULT_FORMAT",
    "SnowflakeSQLAlchemy": "PYTHON_CONNECTOR_QUERY_RESULT_FORMAT", _GO: "GO_QUERY_RESULT_FORMAT",
}  # fmt: skip
"""By how its name begins, the parameter with which a client that reads Arrow can ask for JSON. Others get JSON."""


class ResultRenderer:
    def __init__(self, account: Account, parts: ResultParts, files: StageFiles) -> None:
        self._account = account
        self._parts = parts
        self._files = files
        self.addresses = Addresses()

    def delivery(self, found: StatementOwner, base_url: str) -> Delivery:
        own = next((name for client, name in _READS_ARROW.items() if found.client.startswith(client)), None)
        asked = (str(found.session.parameter(name)).upper() for name in (own, "QUERY_RESULT_FORMAT") if name)
        arrow = own is not None and "JSON" not in asked
        return Delivery(arrow, base_url, found.session.id, named_units=found.client.startswith(_GO))

    def answer(self, execution: Execution, asked: QueryRequest, delivery: Delivery) -> bytes:
        """Runs the request. Never raises: what goes wrong is the answer."""
        try:
            execution.begin()
            _check_waited(execution)
            execution.roles |= execution.session.authority.roles
            with overlaid(execution.session, asked.settings):
                data = self._executed(execution, asked, delivery)
            return _bytes(envelope(data))
        except SnowmeltError as error:
            return _bytes(failure(execution.reason or error, execution.query_id))
        except Exception:
            _log.exception("statement failed unexpectedly", query_id=execution.query_id)
            return _bytes(failure(errors.internal("The server's log has the details."), execution.query_id))
        finally:
            execution.roles |= self._account.results.roles_of(execution.query_id)
            if execution.beside:
                execution.session.leave()

    def _executed(self, execution: Execution, asked: QueryRequest, delivery: Delivery) -> dict[str, Any]:
        session = execution.session
        moved = None if asked.describe_only else _transfer(session, asked, execution.query_id)
        if moved is not None:
            data = self._files.described(moved, delivery.base_url, session.id, execution.query_id)
            self.addresses.bind(data, AddressHolder(delivery.owner, execution.roles))
            return {**_context(session), **data}
        return self._data(execution, execute_request(session, asked, execution.query_id), delivery)

    def _data(self, execution: Execution, outcome: RequestResult, delivery: Delivery) -> dict[str, Any]:
        session, query_id = execution.session, execution.query_id
        if isinstance(outcome, Several):
            return {**_context(session), **several_data(outcome, query_id)}
        if isinstance(outcome, DescribedStatement):
            return {**_context(session), **described_data(outcome, query_id)}
        return self._result_data(session, outcome, delivery, execution.roles)

    def _result_data(
        self, session: Session, result: Result, delivery: Delivery, roles: frozenset[str]
    ) -> dict[str, Any]:  # fmt: skip
        used = roles | self._account.results.roles_of(result.query_id)
        data = {
            **_context(session),
            "queryId": result.query_id,
            "statementTypeId": rowtypes.statement_type_id(result.statement_type),
            "numberOfBinds": 0,
            "arrayBindSupported": result.statement_type in DML,
            **self._parts.rendered(result, delivery, used),
        }
        if result.statement_type in DML:
            data["stats"] = change_counts(result)
        return data

    def kept_answer(self, found: StatementOwner, query_id: str, delivery: Delivery) -> bytes:
        """The result of an earlier query, as long as it is kept."""
        try:
            record = self._account.journal.get(query_id)
            roles = found.roles_within(record.session_id if record is not None else "")
            result = self._account.results.get(query_id, found.session.user, roles)
            if record is None or record.user != found.session.user or record.role not in roles:
                raise errors.statement_not_found(query_id)
            if record.status == "failed_with_error":
                message = record.error_message or ""
                raise SnowmeltError(record.error_code or "000000", "XX000", message)
            if result is None:
                raise errors.statement_not_found(query_id)
            return _bytes(envelope(self._result_data(found.session, result, delivery, frozenset())))
        except SnowmeltError as error:
            return _bytes(failure(error, query_id))


def _transfer(session: Session, asked: QueryRequest, query_id: str) -> Any:
    if asked.sql.lstrip()[:3].upper() not in ("PUT", "GET") and "file://" not in asked.sql:
        return None
    statements = asked_statements(asked)
    first = statements[0].text.split(None, 1)[0].upper() if len(statements) == 1 else ""
    return transfer(session, statements[0], query_id) if first in ("PUT", "GET") else None


def _check_waited(execution: Execution) -> None:
    limit = execution.session.patience
    if limit and time.monotonic() - execution.since > limit:
        raise errors.timed_out(limit)


def _context(session: Session) -> dict[str, Any]:
    return {
        "parameters": session_parameters(session),
        "finalDatabaseName": session.database,
        "finalSchemaName": session.schema,
        "finalWarehouseName": session.warehouse,
        "finalRoleName": session.role,
        "databaseProvider": None,
        "version": 1,
        "sendResultTime": int(time.time() * 1000),
    }


def _bytes(body: dict[str, Any]) -> bytes:
    return bytes(ProtocolAnswer(body).body)
