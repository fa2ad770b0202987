"""Query requests of clients: reading them, and which of them may go on beside others of their session."""

from __future__ import annotations

from snowmelt.runtime import parameters
from snowmelt.runtime.session import Session
from snowmelt.runtime.wire.bindings import read_bindings
from snowmelt.runtime.wire.requests import QueryRequest
from snowmelt.serve.protocol.bodies import Body, malformed, part
from snowmelt.sql.tokens import split_statements

_ROW_STATEMENTS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "SHOW", "CALL", "COPY"})


def read_request(body: Body) -> QueryRequest:
    sql = body.get("sqlText")
    if not isinstance(sql, str):
        raise malformed("sqlText is missing")
    settings = {
        name.upper(): parameters.check(name.upper(), value)
        for name, value in part(body, "parameters").items()
        if name.upper() in parameters.PARAMETERS and value is not None
    }
    return QueryRequest(
        sql, read_bindings(body.get("bindings")), bool(body.get("asyncExec")), bool(body.get("describeOnly")), settings
    )


def runs_beside(session: Session, request: QueryRequest) -> bool:
    """Whether an asynchronous request may go on while its session does other things: it changes nothing of that."""
    if not request.asynchronous or session.transaction is not None or request.describe_only:
        return False
    statements = split_statements(request.sql)
    first = statements[0].text.lstrip().split(None, 1)[0].upper() if len(statements) == 1 else ""
    return first in _ROW_STATEMENTS or first in ("WITH", "(")
