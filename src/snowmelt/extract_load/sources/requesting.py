"""Requests to an API: who asks, how often, and what happens when it says no or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from snowmelt.core import errors
from snowmelt.extract_load.endpoints import Endpoint
from snowmelt.extract_load.problems import SourceRefusedError, SourceUnavailableError, shown

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT = 300.0
"""Seconds. A server that asks for more is told of, and left for the next run."""


@dataclass(frozen=True)
class BearerAuth(httpx.Auth):
    token: str = field(repr=False)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = f"Bearer {self.token}"
        yield request


@dataclass(frozen=True)
class ApiKeyAuth(httpx.Auth):
    name: str
    value: str = field(repr=False)
    in_query: bool = False

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self.in_query:
            request.url = request.url.copy_set_param(self.name, self.value)
        else:
            request.headers[self.name] = self.value
        yield request


def auth_of(endpoint: Endpoint) -> httpx.Auth | None:
    way = endpoint.option("auth") or "none"
    match way:
        case "none":
            return None
        case "bearer":
            return BearerAuth(_needed(endpoint, way, "token"))
        case "basic":
            return httpx.BasicAuth(_needed(endpoint, way, "user"), _needed(endpoint, way, "password"))
        case "api_key":
            in_query = endpoint.option("in") == "query"
            return ApiKeyAuth(_needed(endpoint, way, "name"), _needed(endpoint, way, "value"), in_query)
    raise errors.configuration(
        f"There is no way to log in called {way}.", hint="Choose one of bearer, basic, api_key and none."
    )


def _needed(endpoint: Endpoint, way: str, name: str) -> str:
    value = endpoint.option(name)
    if value is None:
        raise errors.configuration(f"auth {way} needs {name}.", hint="Name it in connections.yaml: ${VARIABLE}.")
    return value


class _AskedToWaitError(Exception):
    def __init__(self, detail: str, seconds: float | None = None) -> None:
        super().__init__(detail)
        self.seconds = seconds


@dataclass(slots=True)
class Requester:
    """Sends requests one at a time, not faster than allowed, and again as long as the trouble may pass."""

    client: httpx.Client
    requests_per_second: float | None = None
    attempts: int = 5
    sleep: Callable[[float], None] = time.sleep
    _next: float = 0.0

    def get(self, address: str, parameters: dict[str, str]) -> httpx.Response:
        return self._answer(self.client.build_request("GET", address, params=parameters or None), frozenset())

    def send(
        self, method: str, address: str, *, body: Any, headers: Mapping[str, str], take: Container[int] = ()
    ) -> httpx.Response:
        """Sends a request that changes something and may be repeated. Statuses in `take` are no errors."""
        return self._answer(self.client.build_request(method, address, json=body, headers=headers), take)

    def _answer(self, request: httpx.Request, take: Container[int]) -> httpx.Response:
        retrying = Retrying(
            stop=stop_after_attempt(self.attempts), wait=_wait, sleep=self.sleep, reraise=True,
            retry=retry_if_exception_type(_AskedToWaitError),
        )  # fmt: skip
        try:
            return retrying(self._once, request, take)
        except _AskedToWaitError as error:
            raise SourceUnavailableError(shown(str(request.url)), str(error)) from None

    def _once(self, request: httpx.Request, take: Container[int]) -> httpx.Response:
        self._keep_rate()
        address = str(request.url)
        try:
            answer = self.client.send(request)
        except httpx.TransportError as error:
            raise _AskedToWaitError(type(error).__name__) from None
        if answer.status_code in _PASSING:
            seconds = retry_after(answer)
            if seconds is not None and seconds > _LONGEST_WAIT:
                raise SourceUnavailableError(shown(address), f"it asks for a pause of {seconds:.0f} s")
            raise _AskedToWaitError(f"it answers {answer.status_code}", seconds)
        if not answer.is_success and answer.status_code not in take:
            raise SourceRefusedError(shown(address), f"it answers {answer.status_code}", _hint(answer.status_code))
        return answer

    def _keep_rate(self) -> None:
        if self.requests_per_second is None:
            return
        now = time.monotonic()
        if self._next > now:
            self.sleep(self._next - now)
        self._next = max(now, self._next) + 1 / self.requests_per_second


def retry_after(answer: httpx.Response) -> float | None:
    """Seconds from now, whether the header has seconds or a date."""
    value = answer.headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


_backoff = wait_random_exponential(multiplier=0.5, max=30)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    asked = error.seconds if isinstance(error, _AskedToWaitError) else None
    return asked if asked is not None else _backoff(state)


def _hint(status: int) -> str:
    match status:
        case 401 | 403:
            return "Look at auth in connections.yaml, and at the variable of its token or password."
        case 404 | 410:
            return "Look at the address of the connection and the name of the table, which is the path behind it."
    return "Look at the table's options: paging, page_size, since_parameter, parameters."
