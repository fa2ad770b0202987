"""GET /metrics, for Prometheus."""

from __future__ import annotations

import hmac
import ipaddress
import os

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from snowmelt.features.observing.service import Observing

TOKEN_VARIABLE = "SNOWMELT_METRICS_TOKEN"
_FORWARDED = ("x-forwarded-for", "forwarded", "x-real-ip")


class MetricsEndpoint:
    """Metrics name tables, tasks and warehouses, so not everybody may read them.

    With SNOWMELT_METRICS_TOKEN set, clients that send it as bearer token may, from anywhere. Without it, clients on
    this machine may, unless they pass on the request of another one, as a proxy does.
    """

    def __init__(self, observing: Observing) -> None:
        self._observing = observing
        self._token = os.environ.get(TOKEN_VARIABLE) or None

    def routes(self) -> list[Route]:
        return [Route("/metrics", self.metrics)]

    async def metrics(self, request: Request) -> Response:
        if not self._allowed(request):
            return PlainTextResponse(
                f"Metrics are for this machine, or for who has the token of {TOKEN_VARIABLE}.\n", status_code=403
            )
        text = await run_in_threadpool(self._observing.metrics_text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    def _allowed(self, request: Request) -> bool:
        if self._token is not None:
            given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
            return hmac.compare_digest(given.encode(), self._token.encode())
        if any(name in request.headers for name in _FORWARDED) or request.client is None:
            return False
        try:
            return ipaddress.ip_address(request.client.host).is_loopback
        except ValueError:
            return False
