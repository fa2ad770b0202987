"""What a request of the SQL API asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import quote
from snowmelt.runtime import parameters
from snowmelt.runtime.session import Session
from snowmelt.runtime.wire.bindings import read_bindings
from snowmelt.runtime.wire.requests import QueryRequest, asked_statements
from snowmelt.serve.protocol.bodies import Body, malformed, part, text

_CONTEXT = ("role", "warehouse", "database", "schema")
"""In the order in which they are used: a role may see other databases, and a schema is one of the database's."""
_LONGEST = 604_800
_FORMATS = frozenset(name for name in parameters.PARAMETERS if name.endswith("_OUTPUT_FORMAT"))
_ALONE = {
    "USE": "Set role, warehouse, database and schema in the request.",
    "ALTER": "Set parameters in the request.",
    **dict.fromkeys(("SET", "UNSET", "BEGIN", "START", "COMMIT", "ROLLBACK"),
                    "Send all statements that belong together in one request, with MULTI_STATEMENT_COUNT."),
}  # fmt: skip
"""By its first word, what to do instead of a statement that would have no effect beyond its own request."""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    query: QueryRequest
    context: Mapping[str, str]
    """Where it runs, by kind: names as SHOW gives them."""
    null: str | None
    """What stands for NULL: JSON's null, or the text `null`."""


def read_api_request(request: Request, body: Body) -> ApiRequest:
    """Raises when the request can't be understood, or asks for what this API does not do."""
    statement = text(body, "statement")
    if statement is None:
        raise malformed("'statement' is missing")
    query = QueryRequest(
        statement, read_bindings(body.get("bindings")), _flag(request, "async", default=False),
        settings=_settings(body),
    )  # fmt: skip
    if query.bindings.many:
        raise malformed("a list of values for one bind variable can't be sent here")
    context = {kind: name for kind in _CONTEXT if (name := text(body, kind)) is not None}
    null = None if _flag(request, "nullable", default=True) else "null"
    return ApiRequest(query, context, null)


def _settings(body: Body) -> dict[str, parameters.Value]:
    settings: dict[str, parameters.Value] = {}
    for given, value in part(body, "parameters").items():
        name = given.upper()
        if name in _FORMATS and value != parameters.PARAMETERS[name].default:
            raise SnowmeltError(
                "000002", "0A000", f"Unsupported feature: the parameter {name} in the SQL API.",
                hint="Values come in the formats of the API. Use TO_VARCHAR in the statement for others.",
            )  # fmt: skip
        if name in parameters.PARAMETERS and value is not None:
            settings[name] = parameters.check(name, value)
    timeout = body.get("timeout")
    if timeout is not None:
        if isinstance(timeout, bool) or not isinstance(timeout, int) or not 0 <= timeout <= _LONGEST:
            raise malformed(f"'timeout' is a number of seconds up to {_LONGEST}")
        settings["STATEMENT_TIMEOUT_IN_SECONDS"] = timeout or _LONGEST
    return settings


def _flag(request: Request, name: str, *, default: bool) -> bool:
    value = request.query_params.get(name, "").lower()
    if value not in ("", "true", "false"):
        raise malformed(f"'{name}' is true or false")
    return default if not value else value == "true"


def use_context(session: Session, asked: ApiRequest) -> None:
    """Moves the session to where the statement is to run. Raises when a name is not there for its user."""
    for kind, name in asked.context.items():
        session.execute(f"USE {kind.upper()} {quote(name)}")


def check_alone(query: QueryRequest) -> None:
    """Refuses one statement that only a session would remember, and those that move files of the client."""
    words = [statement.text.split(None, 2) for statement in asked_statements(query)]
    for first, *rest in filter(None, words):
        if first.upper() in ("PUT", "GET"):
            hint = "Use a connector, or COPY INTO from a stage that the server reads."
            raise _unsupported(first, hint)
        is_altered = first.upper() != "ALTER" or [word.upper() for word in rest[:1]] == ["SESSION"]
        if len(words) == 1 and first.upper() in _ALONE and is_altered and not _is_block(query, first):
            raise _unsupported(first, _ALONE[first.upper()])


def _is_block(query: QueryRequest, first: str) -> bool:
    """BEGIN that begins a block of statements, and no transaction."""
    rest = query.sql.strip().rstrip(";").split(None, 2)[1:]
    return first.upper() == "BEGIN" and bool(rest) and rest[0].upper() not in ("TRANSACTION", "WORK", "NAME")


def _unsupported(word: str, hint: str) -> SnowmeltError:
    return SnowmeltError("000002", "0A000", f"Unsupported feature: {word.upper()} alone in the SQL API.", hint=hint)


def roll_back(session: Session) -> None:
    """Ends a transaction that the statements of a request left open."""
    if session.transaction is not None:
        session.execute("ROLLBACK")
