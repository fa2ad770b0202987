"""Who asks the catalog: with a token that it gave for a user's secret, or with an access token or JWT of the user."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote_plus

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.rights import lasting
from snowmelt.runtime.rights.authentication import LoginIdentity
from snowmelt.serve.callers import Callers
from snowmelt.serve.iceberg.answers import CatalogError
from snowmelt.serve.protocol.authentication import LoginAttempt
from snowmelt.serve.protocol.bodies import read_bytes
from snowmelt.serve.protocol.login import LoginNames, open_session
from snowmelt.serve.protocol.logins import Logins
from snowmelt.serve.protocol.sessions import DoorSession, Sessions

CLIENT = "Iceberg"
_SCOPES = ("session:role:", "PRINCIPAL_ROLE:")
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"


class CatalogCallers:
    def __init__(self, account: Account, logins: Logins, sessions: Sessions) -> None:
        self._account = account
        self._logins = logins
        self._sessions = sessions
        self._callers = Callers(account, logins, sessions, CLIENT)

    async def caller(self, request: Request) -> DoorSession:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            found = self._sessions.by_token(token.strip() if scheme.lower() == "bearer" else "", own=True)
        except SnowmeltError:
            return await self._callers.caller(request)
        lasting.check(found.session)
        return found

    async def token(self, request: Request) -> Response:
        """A token for a secret, or for a token that is about to end: it goes on."""
        form = {
            name: values[-1]
            for name, values in parse_qs((await read_bytes(request)).decode("utf-8", "replace")).items()
        }
        grant = form.get("grant_type")
        if grant == _EXCHANGE:
            token = form.get("subject_token", "")
            lasting.check(self._sessions.by_token(token, own=True).session)
            return self._answer(token)
        if grant != "client_credentials":
            raise CatalogError(400, "'grant_type' is client_credentials, or token-exchange for a token of before.")
        user, secret = _credentials(request, form)
        self._sessions.check_room()
        address = request.client.host if request.client is not None else ""
        role = _role(form.get("scope", ""))
        attempt = LoginAttempt(user, password=secret, role=role, client=CLIENT, address=address)
        return self._answer(await self._logins.log_in(attempt, self._opened))

    def _opened(self, identity: LoginIdentity) -> str:
        session = open_session(self._account, identity, LoginNames(client=CLIENT))
        return self._sessions.open(session, CLIENT, own=True)[1]

    def _answer(self, token: str) -> Response:
        seconds = int(self._sessions.lifetimes.idle.total_seconds())
        body = {"access_token": token, "token_type": "bearer", "expires_in": seconds, "issued_token_type": _ACCESS}
        return JSONResponse(body)


def _credentials(request: Request, form: Mapping[str, str]) -> tuple[str, str]:
    """User and secret: of the body, or of the header that OAuth 2 prefers."""
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            user, _, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            raise CatalogError(400, "The header 'Authorization: Basic' is not user:secret in Base64.") from None
        return unquote_plus(user), unquote_plus(secret)
    return form.get("client_id", ""), form.get("client_secret", "")


def _role(scope: str) -> str | None:
    """The role that a scope names, folded as an identifier; other scopes mean nothing here."""
    for word in scope.split():
        for start in _SCOPES:
            name = word.removeprefix(start)
            if name != word and name not in ("", "ALL"):
                return name.strip('"') if name.startswith('"') else name.upper()
    return None
