"""The routes of playbooks and backfills: each is one method of `Operations`, in a session beside its visitor's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from snowmelt.runtime.session import Session
from snowmelt.serve.console.logins import Visitor
from snowmelt.serve.protocol.bodies import Body, read_body

if TYPE_CHECKING:
    from snowmelt.serve.console.operating import Operations

Endpoint = Callable[[Request, Visitor], Awaitable[Response]]
_Call = Callable[["Operations", Session, str, Body], dict[str, Any]]
_CALLS: dict[tuple[str, str], _Call] = {
    ("GET", "playbooks"): lambda it, session, *_: it.playbooks(session),
    ("GET", "playbooks/{name}"): lambda it, _, name, __: it.playbook(name),
    ("POST", "runs"): lambda it, session, _, body: it.begin(session, body),
    ("GET", "runs/{name}"): lambda it, session, name, _: it.run(session, name),
    ("POST", "runs/{name}"): lambda it, session, name, body: it.go_on(session, name, body),
    ("GET", "backfills"): lambda it, session, *_: it.backfills(session),
    ("POST", "backfills"): lambda it, session, _, body: it.begin_backfill(session, body),
    ("POST", "backfills/plan"): lambda it, session, _, body: it.plan_backfill(session, body),
    ("POST", "backfills/{name}"): lambda it, session, name, body: it.go_on_backfill(session, name, body),
}


def operating_routes(operations: Callable[[], Operations]) -> list[tuple[str, str, Endpoint]]:
    """Method, path below the API's, and what answers."""
    return [(method, path, _endpoint(operations, call)) for (method, path), call in _CALLS.items()]


def _endpoint(operations: Callable[[], Operations], call: _Call) -> Endpoint:
    async def answer(request: Request, visitor: Visitor) -> Response:
        body = await read_body(request) if request.method != "GET" else {}
        name = request.path_params.get("name", "")
        found = operations()

        def beside() -> dict[str, Any]:
            twin = visitor.session.beside()
            try:
                return call(found, twin, name, body)
            finally:
                twin.leave()

        return JSONResponse(await run_in_threadpool(beside))

    return answer
