"""The catalog's addresses: configuration, tokens, schemas, tables. Everything is asked in the caller's session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import anyio.to_thread
import structlog
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, quote
from snowmelt.features.iceberg.tables import published
from snowmelt.runtime.account import Account
from snowmelt.runtime.results import Result, status
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.serve.iceberg import answers
from snowmelt.serve.iceberg.answers import CatalogError
from snowmelt.serve.iceberg.callers import CatalogCallers
from snowmelt.serve.iceberg.moments import CatalogMoment, read_moment, split_warehouse
from snowmelt.serve.protocol.logins import Logins
from snowmelt.serve.protocol.sessions import Sessions
from snowmelt.sql.tokens import SqlText
from snowmelt.storage.iceberg.publishing import PublishedVersion

_log = structlog.get_logger(__name__)
_PATH = "/iceberg/v1"
_NAMESPACES = f"{_PATH}/{{prefix}}/namespaces"
_NAMESPACE = f"{_NAMESPACES}/{{namespace}}"
_TABLES = f"{_NAMESPACE}/tables"
_TABLE = f"{_TABLES}/{{table}}"
_AT_ONCE = 8
_NOT_TABLES = frozenset({"VIEW"})
_HIDDEN = frozenset({"INFORMATION_SCHEMA"})
_READABLE = (
    *(f"GET {path.removeprefix('/iceberg')}" for path in (_NAMESPACES, _NAMESPACE, _TABLES, _TABLE)),
    *(f"HEAD {path.removeprefix('/iceberg')}" for path in (_NAMESPACE, _TABLE)),
)
"""What clients may ask for, as the specification has it."""
Endpoint = Callable[[Request], Awaitable[Response]]
Answer = TypeVar("Answer")


class IcebergCatalog:
    def __init__(self, account: Account, logins: Logins, sessions: Sessions) -> None:
        self._account = account
        self._callers = CatalogCallers(account, logins, sessions)
        self._limiter: CapacityLimiter | None = None

    def routes(self) -> list[Route]:
        look = ["GET", "HEAD"]
        return [
            Route(f"{_PATH}/config", _guarded(self.config)),
            Route(f"{_PATH}/oauth/tokens", _guarded(self.token, answers.not_let_in), methods=["POST"]),
            Route(_NAMESPACES, _guarded(self.namespaces)),
            Route(_NAMESPACE, _guarded(self.namespace), methods=look),
            Route(_TABLES, _guarded(self.tables)),
            Route(_TABLE, _guarded(self.table), methods=look),
            Route(f"{_TABLE}/metrics", _guarded(self.measured), methods=["POST"]),
            Route(f"{_PATH}/{{rest:path}}", _guarded(self.anything_else), methods=[*look, "POST", "PUT", "DELETE"]),
        ]

    async def config(self, request: Request) -> Response:
        """Which database the catalog is. Clients put the prefix into all other addresses."""
        asked, moment = split_warehouse(request.query_params.get("warehouse", ""))

        def chosen(session: Session) -> CatalogMoment:
            names = _column(session.execute("SHOW TERSE DATABASES"), "name")
            name = _chosen(names, asked)
            if name is None:
                known = f"Set 'warehouse' to the name of a database: {', '.join(names)}." if names else None
                raise CatalogError(400, f"Database '{asked[:100]}' does not exist or not authorized.", hint=known)
            return CatalogMoment(name, None if moment is None else read_moment(moment, self._newest(session)))

        found = await self._asked(request, chosen)
        return JSONResponse({"defaults": {}, "overrides": {"prefix": found.prefix}, "endpoints": _READABLE})

    async def token(self, request: Request) -> Response:
        return await self._callers.token(request)

    async def namespaces(self, request: Request) -> Response:
        of, parent = _moment(request), request.query_params.get("parent")
        names = await self._asked(request, lambda session: _schemas(session, of))
        if parent:
            # A schema has none inside it.
            _existing(names, parent)
            names = []
        return JSONResponse({"namespaces": [[name] for name in names]})

    async def namespace(self, request: Request) -> Response:
        name = await self._asked(request, lambda session: _schema(session, request))
        if request.method == "HEAD":
            return Response(status_code=204)
        return JSONResponse({"namespace": [name], "properties": {}})

    async def tables(self, request: Request) -> Response:
        def listed(session: Session) -> tuple[str, list[str]]:
            schema = _schema(session, request)
            return schema, _tables(session, _moment(request), schema)

        schema, names = await self._asked(request, listed)
        return JSONResponse({"identifiers": [{"namespace": [schema], "name": name} for name in names]})

    async def table(self, request: Request) -> Response:
        def loaded(session: Session) -> PublishedVersion:
            of, schema, asked = _moment(request), _schema(session, request), request.path_params["table"]
            name = _chosen(_tables(session, of, schema), asked)
            if name is None:
                raise answers.no_table(asked)
            return _load(session, ObjectName(of.database, schema, name), of)

        found = await self._asked(request, loaded)
        if request.method == "HEAD":
            return Response(status_code=204)
        return JSONResponse({"metadata-location": found.address, "metadata": found.metadata, "config": {}})

    async def measured(self, request: Request) -> Response:
        """What a reader reports of its scan, which nobody keeps."""
        await self._callers.caller(request)
        return Response(status_code=204)

    async def anything_else(self, request: Request) -> Response:
        await self._callers.caller(request)
        if request.method in ("GET", "HEAD"):
            raise CatalogError(404, "There is nothing at this address.", kind="NoSuchEndpointException")
        raise CatalogError(405, "The catalog is for reading.", hint="Write by SQL: INSERT, MERGE, CREATE TABLE.")

    # -- the caller's session -------------------------------------------------------------------------------------

    async def _asked(self, request: Request, work: Callable[[Session], Answer]) -> Answer:
        """What `work` finds in a session beside the caller's: requests of one caller do not wait for each other."""
        caller = await self._callers.caller(request)
        if self._limiter is None:
            self._limiter = CapacityLimiter(_AT_ONCE)

        def run() -> Answer:
            session = caller.session.beside()
            try:
                return work(session)
            finally:
                session.leave()

        return await anyio.to_thread.run_sync(run, limiter=self._limiter)

    def _newest(self, session: Session) -> Any:
        with self._account.state.read(session.authority.sight) as state:
            return state.versions.newest_instant() or self._account.clock.now()


def _moment(request: Request) -> CatalogMoment:
    return CatalogMoment.of_prefix(request.path_params["prefix"])


def _schemas(session: Session, of: CatalogMoment) -> list[str]:
    try:
        shown = session.execute(f"SHOW TERSE SCHEMAS IN DATABASE {quote(of.database)}")
    except SnowmeltError as error:
        if error.code != errors.cannot_operate().code:
            raise
        raise answers.no_namespace(of.database) from None
    return [name for name in _column(shown, "name") if name not in _HIDDEN]


def _schema(session: Session, request: Request) -> str:
    return _existing(_schemas(session, _moment(request)), request.path_params["namespace"])


def _existing(names: Iterable[str], asked: str) -> str:
    name = _chosen(names, asked)
    if name is None:
        raise answers.no_namespace(asked.replace("\x1f", "."))
    return name


def _tables(session: Session, of: CatalogMoment, schema: str) -> list[str]:
    shown = session.execute(f"SHOW TERSE OBJECTS IN SCHEMA {quote(of.database)}.{quote(schema)}")
    kinds = zip(_column(shown, "name"), _column(shown, "kind"), strict=True)
    return [name for name, kind in kinds if kind not in _NOT_TABLES]


def _load(session: Session, name: ObjectName, of: CatalogMoment) -> PublishedVersion:
    """In the history like a statement, with the reader's rights."""
    run = Run(session, SqlText(f"SELECT * FROM {name}  -- by a reader of Iceberg"))
    found: list[PublishedVersion] = []

    def work() -> Result:
        with run.state.read() as state:
            found.append(published(run, state, str(name), of.at))
        return status(found[0].address, "ICEBERG_READ")

    session.perform(run, "ICEBERG_READ", work)
    return found[0]


def _chosen(names: Iterable[str], asked: str) -> str | None:
    """The name itself, or the only one that is the same but for upper and lower case."""
    alike = [name for name in names if name.upper() == asked.upper()]
    return asked if asked in alike else alike[0] if len(alike) == 1 else None


def _column(result: Result, name: str) -> list[str]:
    index = next(index for index, column in enumerate(result.columns) if column.name == name)
    return [row[index] for row in result.rows()]


def _guarded(endpoint: Endpoint, refused: Callable[[SnowmeltError], Response] = answers.refused) -> Endpoint:
    async def call(request: Request) -> Response:
        try:
            return await endpoint(request)
        except CatalogError as error:
            return answers.refused(error)
        except SnowmeltError as error:
            return refused(error)
        except Exception:
            _log.exception("request failed unexpectedly", path=request.url.path)
            return answers.refused(CatalogError(500, errors.internal("The server's log has the details.").message))

    return call
