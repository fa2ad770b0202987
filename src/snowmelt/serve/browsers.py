"""Which pages in a browser may reach the server: its own, and no other one.

Not by the server's address, and not by a name that was pointed at this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from snowmelt.core.error_json import error_to_json
from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.protocol.answers import ProtocolAnswer, failure

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_ONLY_TLS = (b"strict-transport-security", b"max-age=31536000")
_FROM_A_PAGE = frozenset({b"cross-site", b"same-site", b"same-origin"})
_OWN_API = "/api/v1/console/"
_OWN_FILES = "/assets/"
_OPENED = frozenset({"/", "/favicon.svg"})
"""What an address bar asks for, or a link on any page: it has no data in it."""


class OnlyOurPage:
    """Refuses what other pages in a browser sent, and requests under a foreign name; puts safe headers on every answer.

    The console may ask for its files and its own API, and nothing else here: no other route has a reason to be asked by
    a page. Programs send no Origin. A page whose own name was pointed at this machine (DNS rebinding) shows by the Host
    header, which a page can't choose.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None = None) -> None:
        """`hosts`: the names beside loopback's that the server may be called by; None for any name."""
        self._app = app
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = [*_HEADERS, _ONLY_TLS] if scope.get("scheme") == "https" else list(_HEADERS)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message.get("headers", [])}
                more = [header for header in added if header[0] not in given]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_with_headers)
            return
        answer = ProtocolAnswer({**failure(refusal), "error": error_to_json(refusal)}, status_code=403)
        answer.headers["connection"] = "close"
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> SnowmeltError | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not _may_ask(scope, headers, host):
            return _refused("Pages in a browser may not use this server.")
        if self._hosts is not None and not self._is_ours(_name(host)):
            return _refused(
                f"The server is not known as '{host[:100]}'.", "Call it localhost, or name it in allowed_hosts."
            )
        return None

    def _is_ours(self, name: str) -> bool:
        assert self._hosts is not None
        return name in self._hosts or is_loopback(name)


def _may_ask(scope: Scope, headers: dict[bytes, bytes], host: str) -> bool:
    """Whether a program sent the request, or a page that may ask for this."""
    origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site", b"").strip().lower()
    if origin is None and site not in _FROM_A_PAGE:
        return True
    path = scope["path"]
    if path in _OPENED and scope["method"] == "GET":
        return True
    ours = origin is None or origin.decode("latin-1").lower() == f"{scope.get('scheme', 'http')}://{host}".lower()
    return path.startswith((_OWN_API, _OWN_FILES)) and ours and site in (b"same-origin", b"")


def is_loopback(name: str) -> bool:
    """Whether the name can only be this machine, whatever a name server says."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _name(host: str) -> str:
    """The host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].strip().rstrip(".").lower()


def _refused(message: str, hint: str | None = None) -> SnowmeltError:
    return SnowmeltError("390422", "08004", message, hint=hint)
