"""The API's three addresses: submit a statement, ask for its state and rows, cancel it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.results import Result, status
from snowmelt.runtime.wire.requests import MULTIPLE_DONE, Several, execute_request, overlaid
from snowmelt.serve.callers import Callers
from snowmelt.serve.protocol.addresses import AddressHolder
from snowmelt.serve.protocol.bodies import malformed, read_body
from snowmelt.serve.protocol.executions import Execution, StatementPool
from snowmelt.serve.protocol.logins import Logins
from snowmelt.serve.protocol.parts import ResultParts
from snowmelt.serve.protocol.sessions import DoorSession, Sessions
from snowmelt.serve.sql_api import answers
from snowmelt.serve.sql_api.answers import STATEMENTS, ApiAnswer
from snowmelt.serve.sql_api.partitions import partitioned
from snowmelt.serve.sql_api.requests import ApiRequest, check_alone, read_api_request, roll_back, use_context
from snowmelt.state.ids import new_query_id

_log = structlog.get_logger(__name__)
Endpoint = Callable[[Request], Awaitable[Response]]


class ApiExecution(Execution):
    """A statement that came by the API. `answer` is done when `outcome` is there."""

    def __init__(self, request_id: str, owner: DoorSession) -> None:
        super().__init__(request_id, new_query_id(), owner)
        self.created_on = int(time.time() * 1000)
        self.outcome: ApiAnswer | None = None
        self.secret: str | None = None
        """Where its partitions are, behind the first."""

    def end(self, outcome: ApiAnswer) -> None:
        self.outcome = outcome
        self.reply(outcome.content)


class SqlApi:
    def __init__(
        self, account: Account, logins: Logins, sessions: Sessions, pool: StatementPool, parts: ResultParts, held: float
    ) -> None:
        """`held`: seconds that a request waits for its statement before it is told to ask again."""
        self._account = account
        self._callers = Callers(account, logins, sessions, "SQL API")
        self._sessions = sessions
        self._pool = pool
        self._parts = parts
        self._held_seconds = held
        self._stopping = threading.Event()
        self._by_handle: WeakValueDictionary[str, ApiExecution] = WeakValueDictionary()
        """As long as their session remembers them."""

    def routes(self) -> list[Route]:
        handle = f"{STATEMENTS}/{{handle}}"
        return [
            Route(STATEMENTS, _guarded(self.submit), methods=["POST"]),
            Route(handle, _guarded(self.look), methods=["GET"]),
            Route(f"{handle}/cancel", _guarded(self.cancel), methods=["POST"]),
        ]

    def hang_up(self) -> None:
        self._stopping.set()

    async def submit(self, request: Request) -> Response:
        owner = await self._caller(request)
        asked = read_api_request(request, await read_body(request))
        check_alone(asked.query)
        if self._stopping.is_set():
            raise errors.server_stopping()
        execution = ApiExecution(request.query_params.get("requestId") or new_query_id(), owner)
        known = owner.remember(execution)
        if known is execution:
            self._start(execution, asked)
        elif not isinstance(known, ApiExecution) or not owner.may_have(known):
            raise _not_found(known.query_id)
        else:
            execution = known
        if asked.query.asynchronous:
            return answers.in_progress(execution.query_id)
        return await self._held(execution)

    async def look(self, request: Request) -> Response:
        owner = await self._caller(request)
        execution = self._found(owner, request)
        number = request.query_params.get("partition", "0")
        if not number.isascii() or not number.isdigit() or len(number) > 9:
            raise malformed("'partition' is a number")
        if int(number) == 0 or execution.outcome is None:
            return await self._held(execution)
        path = self._parts.find(execution.secret, number) if execution.secret is not None else None
        if path is None:
            raise malformed(f"there is no partition {int(number)}")
        return FileResponse(path, headers={"content-encoding": "gzip"}, media_type="application/json")

    async def cancel(self, request: Request) -> Response:
        owner = await self._caller(request)
        execution = self._found(owner, request)
        if execution.done:
            raise SnowmeltError("000709", "02000", f"Statement {execution.query_id} has ended and can't be canceled.")
        await run_in_threadpool(execution.cancel)
        return answers.cancelled(execution.query_id)

    async def _caller(self, request: Request) -> DoorSession:
        try:
            return await self._callers.caller(request)
        except SnowmeltError as error:
            _log.info("sql_api_refused", code=error.code)
            raise _NotLetInError(error) from None

    def _found(self, owner: DoorSession, request: Request) -> ApiExecution:
        handle = request.path_params["handle"]
        execution = self._by_handle.get(handle) or self._kept(owner, handle)
        if execution is None or not owner.may_have(execution):
            raise _not_found(handle)
        return execution

    def _kept(self, owner: DoorSession, handle: str) -> ApiExecution | None:
        """What became of one of several statements, or of one of long ago, if its result or error is kept."""
        record, results = self._account.journal.get(handle), self._account.results
        if record is None or record.session_id != owner.session.id or record.status == "running":
            return None
        execution = ApiExecution(handle, owner)
        execution.query_id, execution.created_on = handle, int(record.start_time.timestamp() * 1000)
        execution.roles = results.roles_of(handle) | {record.role}
        result = results.get(handle, owner.session.user, owner.roles_within(owner.session.id))
        if record.error_code is not None:
            error = SnowmeltError(record.error_code, "XX000", record.error_message or "")
            execution.end(answers.failed(error, handle, execution.created_on))
        elif result is not None:
            self._end_with(execution, result, (), None)
        else:
            return None
        owner.remember(execution)
        self._by_handle[handle] = execution
        return execution

    async def _held(self, execution: ApiExecution) -> Response:
        await asyncio.wait([asyncio.wrap_future(execution.answer)], timeout=self._held_seconds)
        if execution.outcome is not None:
            return execution.outcome.response()
        if execution.done:
            # Only the end of the server answers for a statement.
            raise errors.server_stopping()
        return answers.in_progress(execution.query_id)

    # -- running --------------------------------------------------------------------------------------------------

    def _start(self, execution: ApiExecution, asked: ApiRequest) -> None:
        self._by_handle[execution.query_id] = execution
        execution.session = execution.session.beside()
        try:
            self._pool.submit(execution, lambda _: self._run(execution, asked))
        except SnowmeltError as error:
            execution.session.leave()
            execution.end(answers.failed(error, execution.query_id, execution.created_on))

    def _run(self, execution: ApiExecution, asked: ApiRequest) -> bytes:
        """In a thread of the pool. Never raises: what goes wrong is the answer."""
        handle, session = execution.query_id, execution.session
        try:
            execution.begin()
            use_context(session, asked)
            execution.roles |= session.authority.roles
            try:
                with overlaid(session, asked.query.settings):
                    result = execute_request(session, asked.query, handle)
            finally:
                roll_back(session)
            children = tuple(child.query_id for child in result.children) if isinstance(result, Several) else ()
            single = result if isinstance(result, Result) else status(MULTIPLE_DONE, "")
            execution.roles |= self._account.results.roles_of(handle)
            self._end_with(execution, single, children, asked.null)
        except SnowmeltError as error:
            execution.end(answers.failed(execution.reason or error, handle, execution.created_on))
        except Exception:
            _log.exception("statement failed unexpectedly", query_id=handle)
            internal = errors.internal("The server's log has the details.")
            execution.end(answers.failed(internal, handle, execution.created_on))
        finally:
            session.leave()
            owner = execution.door_session
            if isinstance(owner, DoorSession):
                self._sessions.keep(owner)
        return b""

    def _end_with(self, execution: ApiExecution, result: Result, children: tuple[str, ...], null: str | None) -> None:
        holder = AddressHolder(execution.door_session.session.id, execution.roles)
        found = partitioned(result, self._parts, holder, null)
        execution.secret = found.secret
        execution.end(answers.succeeded(execution.query_id, execution.created_on, found, result, children))


class _NotLetInError(SnowmeltError):
    """The request carries nothing that lets its sender in."""

    def __init__(self, error: SnowmeltError) -> None:
        super().__init__(error.code, error.sqlstate, error.message, hint=error.hint, transient=error.transient)


def _not_found(handle: str) -> SnowmeltError:
    return SnowmeltError("000709", "02000", f"Statement {handle[:100]} not found.")


def _guarded(endpoint: Endpoint) -> Endpoint:
    async def call(request: Request) -> Response:
        try:
            return await endpoint(request)
        except _NotLetInError as error:
            return answers.refused(error, 401)
        except SnowmeltError as error:
            return answers.refused(error)
        except Exception:
            _log.exception("request failed unexpectedly", path=request.url.path)
            return answers.refused(errors.internal("The request failed. The server's log has the details."), 500)

    return call
