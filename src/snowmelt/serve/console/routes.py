"""The API under the page. openapi.json beside this file documents it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from snowmelt.core import errors
from snowmelt.core.error_json import error_to_json
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.account import Account
from snowmelt.runtime.binds import substitute
from snowmelt.runtime.rights import lasting
from snowmelt.runtime.session import Session
from snowmelt.serve.console import pages
from snowmelt.serve.console.arriving import Arrivals
from snowmelt.serve.console.live import Live
from snowmelt.serve.console.logins import (
    PATH,
    Visitor,
    Visitors,
    clear_cookie,
    read_attempt,
    set_cookie,
    visitor_to_json,
)
from snowmelt.serve.console.operating_routes import operating_routes
from snowmelt.serve.console.overview import Overviews
from snowmelt.serve.console.running import FIRST_ROWS, Pool, Started, ended_or_moved, ended_within
from snowmelt.serve.console.shared_threads import SharedThreads
from snowmelt.serve.console.values import MEDIA_TYPES, exported, rows_to_json
from snowmelt.serve.protocol.bodies import Body, malformed, read_body, text
from snowmelt.serve.protocol.logins import Logins
from snowmelt.serve.protocol.sessions import Sessions
from snowmelt.sql.tokens import SqlText, split_statements

with lazy_imports():
    from snowmelt.serve.console import operating
    from snowmelt.serve.console.designing import design_archive, design_step

_log = structlog.get_logger(__name__)
_STATUS = {
    "390111": 401, "390112": 401, "390114": 401, "390100": 401, "390144": 401, "390189": 400, "390422": 403,
    "391920": 413, "390201": 429, "390202": 429, "000709": 404, "370002": 503,
}  # fmt: skip
_LONGEST_WAIT = 25.0
_DESIGN_THREADS, _DESIGNS_WAITING = 2, 8
"""Designing is work of the processor: it has threads of its own, and one user's requests wait for each other."""
_MOST_ROWS = 5_000
"""Of one answer."""
Endpoint = Callable[[Request, Visitor], Awaitable[Response]]


class Console:
    """The page and its API, over one account."""

    def __init__(self, account: Account, logins: Logins, sessions: Sessions) -> None:
        self._logins = logins
        self._sessions = sessions
        self._pool = Pool(account.settings.parallel_statements)
        self._designers = SharedThreads(_DESIGN_THREADS, "snowmelt-design")
        self.visitors = Visitors(account, sessions, self._pool)
        self._live = Live(account)
        self._overviews = Overviews(Arrivals(account))
        self._account = account
        self._operations: operating.Operations | None = None

    def routes(self) -> list[Route]:
        return [
            *pages.routes(),
            Route(f"{PATH}/openapi.json", _described, methods=["GET"]),
            Route(f"{PATH}/session", self.log_in, methods=["POST"]),
            self._route("GET", "session", self.session),
            self._route("PATCH", "session", self.use),
            self._route("DELETE", "session", self.log_out),
            self._route("GET", "events", self.events),
            self._route("GET", "graph", self.graph),
            self._route("GET", "home", self.home),
            self._route("GET", "spark", self.spark),
            self._route("POST", "statements", self.start),
            self._route("POST", "statements/split", self.split),
            self._route("GET", "statements/{id}", self.statement),
            self._route("GET", "statements/{id}/rows", self.rows),
            self._route("GET", "statements/{id}/download", self.download),
            self._route("POST", "statements/{id}/cancel", self.cancel),
            self._route("DELETE", "worksheets/{name}", self.close_worksheet),
            self._route("POST", "design", self.design),
            self._route("POST", "design/archive", self.design_archive),
            *(self._route(*described) for described in operating_routes(self.operations)),
        ]

    def hang_up(self) -> None:
        """Open pages are told, so that the server need not wait for them."""
        self._live.stop()

    def stop(self) -> None:
        self._live.stop()
        if self._operations is not None:
            self._operations.stop()
        self._pool.stop()
        self._designers.stop()

    def operations(self) -> operating.Operations:
        """Made when they are first asked for: a server that starts needs none of what they import."""
        if self._operations is None:
            self._operations = operating.Operations(self._account, self._live.tell)
        return self._operations

    def _route(self, method: str, path: str, endpoint: Endpoint) -> Route:
        async def call(request: Request) -> Response:
            try:
                visitor = self.visitors.of(request, writes=method != "GET")
                return await endpoint(request, visitor)
            except SnowmeltError as error:
                return _refused(error)

        return Route(f"{PATH}/{path}", call, methods=[method])

    # -- sessions -------------------------------------------------------------------------------------------------

    async def log_in(self, request: Request) -> Response:
        try:
            body = await read_body(request)
            self._sessions.check_room()
            link = text(body, "link")
            if link is not None:
                visitor, token = await run_in_threadpool(self.visitors.open_by_link, link)
            else:
                attempt, names = read_attempt(body, request)
                visitor, token = await self._logins.log_in(
                    attempt, lambda identity: self.visitors.open(identity, names)
                )
        except SnowmeltError as error:
            return _refused(error, 401)
        answer = JSONResponse(visitor_to_json(visitor))
        set_cookie(answer, request, token)
        return answer

    async def session(self, _: Request, visitor: Visitor) -> Response:
        return JSONResponse(visitor_to_json(visitor))

    async def use(self, request: Request, visitor: Visitor) -> Response:
        """Another role or warehouse, for all pages of this log-in."""
        body = await read_body(request)
        for kind in ("role", "warehouse", "database", "schema"):
            name = text(body, kind)
            if name is not None:
                statement = f"USE {kind.upper()} {_quoted(name)}"
                await run_in_threadpool(visitor.session.execute, statement)
        return JSONResponse(visitor_to_json(visitor))

    async def log_out(self, request: Request, visitor: Visitor) -> Response:
        await run_in_threadpool(self.visitors.close, visitor)
        answer = JSONResponse({"closed": True})
        clear_cookie(answer, request)
        return answer

    async def events(self, _: Request, visitor: Visitor) -> Response:
        messages = self._live.messages(lambda: lasting.check(visitor.session))
        return StreamingResponse(messages, media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    # -- overviews ------------------------------------------------------------------------------------------------

    async def graph(self, _: Request, visitor: Visitor) -> Response:
        return await self._overview(visitor, self._overviews.graph)

    async def home(self, _: Request, visitor: Visitor) -> Response:
        return await self._overview(visitor, self._overviews.home)

    async def _overview(self, visitor: Visitor, made: Callable[[Session], bytes]) -> Response:
        def beside() -> bytes:
            twin = visitor.session.beside()
            try:
                return made(twin)
            finally:
                twin.leave()

        content = await run_in_threadpool(beside)
        return Response(content, media_type="application/json")

    async def spark(self, _: Request, visitor: Visitor) -> Response:
        """Where Spark's own page is: for roles that may see what everybody runs, as that page shows it."""
        monitors = visitor.session.authority.on_account("MONITOR EXECUTION")
        address = await run_in_threadpool(self._account.engine.page_address) if monitors else None
        return JSONResponse({"address": address})

    # -- statements -----------------------------------------------------------------------------------------------

    async def split(self, request: Request, visitor: Visitor) -> Response:
        """The statements of a text, and where each begins: lines count from 1, columns from 0."""
        sql = text(await read_body(request), "sql") or ""
        found = [
            {"text": one.text, "line": one.line, "column": one.column} for one in split_statements(sql) if one.text
        ]
        return JSONResponse({"statements": found})

    async def start(self, request: Request, visitor: Visitor) -> Response:
        """Runs one statement, and waits for its end as long as the page wants to."""
        body = await read_body(request)
        sql = _statement(body)
        name = text(body, "worksheet")
        if name is not None:
            session = visitor.worksheet(name)
            started = visitor.statements.start(sql, session, name, lambda _: None)
        else:
            twin = visitor.session.beside()
            started = visitor.statements.start(sql, twin, None, lambda _: twin.leave())
        await ended_within(started, _seconds(body.get("wait"), _LONGEST_WAIT))
        return await self._answer(visitor, started, _number(body.get("rows"), FIRST_ROWS))

    async def statement(self, request: Request, visitor: Visitor) -> Response:
        """The statement when it has ended, when it got further than the page has `seen`, or after a while."""
        started = visitor.statement(request.path_params["id"])
        wait = _seconds(request.query_params.get("wait"), 0.0)
        await ended_or_moved(started, wait, request.query_params.get("seen"))
        return await self._answer(visitor, started, FIRST_ROWS)

    async def _answer(self, visitor: Visitor, started: Started, rows: int) -> Response:
        body = await run_in_threadpool(started.to_json, rows)
        complete = started.result is None or started.result.row_count <= rows
        if started.worksheet is None and started.ended is not None and complete:
            visitor.statements.forget(started)
        self.visitors.keep(visitor)
        return JSONResponse(body)

    async def rows(self, request: Request, visitor: Visitor) -> Response:
        result = _result(visitor.statement(request.path_params["id"]))
        offset = _number(request.query_params.get("offset"), 0)
        limit = min(_number(request.query_params.get("limit"), FIRST_ROWS), _MOST_ROWS)
        found = await run_in_threadpool(rows_to_json, result, offset, limit)
        return JSONResponse({"offset": offset, "rows": found})

    async def download(self, request: Request, visitor: Visitor) -> Response:
        started = visitor.statement(request.path_params["id"])
        form = request.query_params.get("format", "csv")
        if form not in MEDIA_TYPES:
            raise malformed("'format' is csv, json or parquet")
        headers = {"content-disposition": f'attachment; filename="{started.id}.{form}"'}
        return StreamingResponse(exported(_result(started), form), media_type=MEDIA_TYPES[form], headers=headers)

    async def cancel(self, request: Request, visitor: Visitor) -> Response:
        started = visitor.statement(request.path_params["id"])
        await run_in_threadpool(started.cancel)
        return JSONResponse({"id": started.id})

    async def close_worksheet(self, request: Request, visitor: Visitor) -> Response:
        await run_in_threadpool(visitor.close_worksheet, request.path_params["name"])
        return JSONResponse({"closed": True})

    # -- design ---------------------------------------------------------------------------------------------------

    async def design(self, request: Request, visitor: Visitor) -> Response:
        """One step of the conversation. The page holds its state."""
        body = await read_body(request)
        found = await self._designers.run(visitor.session.user, lambda: design_step(body), _DESIGNS_WAITING)
        return JSONResponse(found)

    async def design_archive(self, request: Request, visitor: Visitor) -> Response:
        body = await read_body(request)
        name, content = await self._designers.run(
            visitor.session.user, lambda: design_archive(body), _DESIGNS_WAITING
        )  # fmt: skip
        headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
        return Response(content, media_type="application/zip", headers=headers)


async def _described(_: Request) -> Response:
    return JSONResponse(openapi())


def openapi() -> dict[str, Any]:
    """The description of the API, in OpenAPI's form."""
    content = files("snowmelt.serve.console").joinpath("openapi.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(content)
    return document


def _refused(error: SnowmeltError, status: int = 400) -> Response:
    return JSONResponse({"error": error_to_json(error)}, status_code=_STATUS.get(error.code, status))


def _statement(body: Body) -> SqlText:
    sql, binds = text(body, "sql"), body.get("binds")
    if sql is None or not (binds is None or isinstance(binds, list)):
        raise malformed("'sql' is text, and 'binds' a list of values")
    line, column = _number(body.get("line"), 1), _number(body.get("column"), 0)
    if binds:
        return SqlText(substitute(sql, binds), around=sql)
    return SqlText(sql, line, column)


def _result(started: Started) -> Any:
    if started.result is None:
        raise errors.statement_not_found(started.id)
    return started.result


def _number(value: Any, default: int) -> int:
    try:
        return min(max(int(value), 0), 2**31) if value is not None else default
    except (TypeError, ValueError):
        raise malformed(f"{value!r} is no whole number") from None


def _seconds(value: Any, default: float) -> float:
    try:
        return min(max(float(value), 0.0), _LONGEST_WAIT) if value is not None else default
    except (TypeError, ValueError):
        raise malformed(f"{value!r} is no number of seconds") from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
