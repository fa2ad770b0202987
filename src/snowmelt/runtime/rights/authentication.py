"""Logging in: by password, by key pair, by programmatic access token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import jwt as tokens

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import split_name
from snowmelt.runtime.rights import credentials, grounds, lasting, network
from snowmelt.runtime.rights import errors as access_errors
from snowmelt.runtime.rights.attempts import Attempts
from snowmelt.runtime.rights.founding import ADMIN
from snowmelt.runtime.rights.grounds import Grounds, Means
from snowmelt.runtime.rights.privileges import PUBLIC
from snowmelt.state.access_model import User

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account

_LONGEST_JWT = timedelta(hours=1)
_LEEWAY = timedelta(seconds=60)
_TOKEN_PREFIX = credentials.TOKEN_PREFIX


@dataclass(frozen=True, slots=True)
class LoginIdentity:
    """Who logged in, and where their session begins."""

    user: str
    role: str
    secondary_roles: tuple[str, ...]
    role_restriction: str | None = None
    """The one role that an access token allows: the session must not leave it."""
    warehouse: str | None = None
    database: str | None = None
    schema: str | None = None
    grounds: Grounds | None = None
    """What the session lasts as long as; None for the owner of the data directory."""


class RefusedLoginError(SnowmeltError):
    """A login that failed, and for how many seconds nobody should be told."""

    def __init__(self, error: SnowmeltError, pause: float) -> None:
        super().__init__(error.code, error.sqlstate, error.message, hint=error.hint, transient=error.transient)
        self.pause = pause


class Authenticator:
    """Says who somebody is. Every attempt is in the audit log; a failed one says nothing about why.

    A password takes a tenth of a second and 64 MiB to compare: how many are compared at a time is for the caller to
    limit, as it is to keep the answer to a failure back.
    """

    def __init__(self, account: Account, *, admin_password: Callable[[str, str], bool] | None = None) -> None:
        """`admin_password`: compares the password of the data directory's administrator, while the user ADMIN has no
        password of its own."""
        self._account = account
        self._admin_password = admin_password
        self.attempts = Attempts(account.state, account.clock)

    def login(
        self,
        user: str,
        *,
        password: str | None = None,
        new_password: str | None = None,
        token: str | None = None,
        jwt: str | None = None,
        role: str | None = None,
        client: str | None = None,
    ) -> LoginIdentity:
        """The identity that the secret proves; `role` is the one the client asks for, `client` its address.

        A programmatic access token may come as the password, as drivers send it. `new_password` takes the place of one
        that must be changed. Raises 390100, 390101, 390102, 390106, 390144, 390189 or 394400.
        """
        login = user.upper()
        means: Means = "RSA_KEYPAIR" if jwt is not None else "PASSWORD"
        try:
            # Before a secret is compared, so that nobody guesses from where they may not come.
            self._check_address(self._user(login) if login else None, client)
            restriction: str | None = None
            if jwt is not None:
                known, held = self._by_key(login, jwt)
            elif is_token(password, token):
                means = "PROGRAMMATIC_ACCESS_TOKEN"
                known, held, restriction = self._by_token(login, token or password or "")
            else:
                known, held = self._by_password(login, password or "", client)
            if known.disabled:
                raise SnowmeltError("390101", "08004", "User access disabled. Contact your local system administrator.")
            self._check_address(known, client)
            identity = self._identity(known, role, restriction, held)
            if means == "PASSWORD" and known.must_change_password:
                identity = replace(identity, grounds=self._change_password(known, password or "", new_password))
        except SnowmeltError as error:
            self._note(login, None, means, client, error)
            raise RefusedLoginError(error, self.attempts.failed(login, client)) from None
        self._succeeded(known, identity, means, client)
        return identity

    def _check_address(self, user: User | None, client: str | None) -> None:
        if client is None:
            return
        with self._account.state.read() as state:
            policy = network.policy_for(state, user.name if user is not None else None)
        if not network.admits(policy, client):
            raise network.refused(client)

    # -- secrets --------------------------------------------------------------------------------------------------

    def _by_password(self, login: str, password: str, client: str | None) -> tuple[User, Grounds]:
        with self.attempts.one(login, client):
            user = self._user(login)
            if user is not None and user.password_hash is None and user.name == ADMIN and self._admin_password:
                # Its hash is compared as slowly as the others are.
                same = self._admin_password(login, password)
            else:
                same = credentials.is_password(password, user.password_hash if user is not None else None)
            if user is None or not same:
                raise errors.incorrect_login()
            self.attempts.proved(login, client)
        return user, grounds.by_password(user)

    def _change_password(self, user: User, password: str, new_password: str | None) -> Grounds:
        if not new_password or new_password == password:
            raise access_errors.password_must_change()
        hashed = credentials.hash_password(new_password)
        with self._account.state.begin() as state:
            current = state.access.user(user.name) or user
            values = {"password_hash": hashed, "password_changed_on": state.now, "must_change_password": False}
            changed = current.model_copy(update=values)
            state.access.put_user(changed)
        self._account.audit.write("USER", user=user.name, object=f"USER {user.name}", detail="PASSWORD CHANGED")
        self.attempts.forget_trust(user.login_name)
        lasting.end_sessions(self._account)
        return grounds.by_password(changed)

    def _by_token(self, login: str, token: str) -> tuple[User, Grounds, str | None]:
        with self._account.state.read() as state:
            found = state.access.token_of_hash(credentials.token_hash(token))
            user = state.access.user(found.user) if found is not None else None
        if found is None or user is None or found.disabled or found.expires_at <= self._account.clock.now():
            raise access_errors.invalid_token()
        if login and login not in (user.login_name, user.name):
            raise access_errors.invalid_token()
        return user, grounds.by_token(user, found), found.role_restriction

    def _by_key(self, login: str, jwt: str) -> tuple[User, Grounds]:
        """As Snowflake's drivers make it: issued by ACCOUNT.USER.SHA256:fingerprint, about ACCOUNT.USER."""
        claims = _claims(jwt)
        subject, issuer = str(claims.get("sub", "")), str(claims.get("iss", ""))
        name = subject.partition(".")[2].upper()
        user = self._user(name)
        if user is None or (login and login != user.login_name) or not issuer.startswith(f"{subject}."):
            raise access_errors.invalid_jwt()
        wanted = issuer[len(subject) + 1 :]
        for key in (user.rsa_public_key, user.rsa_public_key_2):
            if key is not None and credentials.fingerprint(key) == wanted:
                _verify(jwt, key, self._account.clock.of_machine())
                return user, grounds.by_key(user, wanted)
        raise access_errors.invalid_jwt()

    def _user(self, login: str) -> User | None:
        with self._account.state.read() as state:
            return state.access.user_of_login(login)

    # -- what follows ---------------------------------------------------------------------------------------------

    def _identity(self, user: User, role: str | None, restriction: str | None, held: Grounds) -> LoginIdentity:
        available = self._account.access.available(user.name)
        chosen = restriction or role or user.default_role or PUBLIC
        if chosen not in available:
            if role is not None or restriction is not None:
                raise errors.role_not_granted(chosen)
            chosen = PUBLIC
        if restriction is not None and role not in (None, restriction):
            raise errors.role_not_granted(str(role))
        namespace = split_name(user.default_namespace) if user.default_namespace else None
        return LoginIdentity(
            user=user.name,
            role=chosen,
            secondary_roles=() if restriction is not None else user.default_secondary_roles,
            role_restriction=restriction,
            warehouse=user.default_warehouse,
            database=namespace[0] if namespace else None,
            schema=namespace[1] if namespace and len(namespace) > 1 else None,
            grounds=held,
        )

    def _succeeded(self, user: User, identity: LoginIdentity, means: Means, client: str | None) -> None:
        with self._account.state.begin() as state:
            current = state.access.user(user.name)
            if current is not None:
                state.access.note_login(current.model_copy(update={"last_login": state.now}))
        self._note(user.name, identity.role, means, client, None)

    def _note(self, user: str, role: str | None, means: Means, client: str | None, error: SnowmeltError | None) -> None:
        audit = self._account.audit
        audit.write(
            "LOGIN", user=user, role=role, succeeded=error is None, detail=means, client=client,
            error_code=error.code if error is not None else None,
            error_message=error.message if error is not None else None,
        )  # fmt: skip
        audit.flush()


def is_token(password: str | None, token: str | None) -> bool:
    """Whether the secret is a programmatic access token, which drivers may send as the password."""
    return token is not None or (password or "").startswith(_TOKEN_PREFIX)


def _claims(jwt: str) -> dict[str, Any]:
    """What the token says, before anybody has checked that it may."""
    try:
        claims: dict[str, Any] = tokens.decode(jwt, options={"verify_signature": False})
    except tokens.PyJWTError:
        raise access_errors.invalid_jwt() from None
    return claims


def _verify(jwt: str, key: str, now: datetime) -> None:
    try:
        # The instants are compared by our own clock.
        unchecked = {"verify_exp": False, "verify_iat": False, "verify_nbf": False, "require": ["exp", "iat"]}
        claims = tokens.decode(jwt, credentials.loaded_key(key), algorithms=["RS256"], options=unchecked)  # type: ignore[arg-type]
        issued, expires = (datetime.fromtimestamp(float(claims[name]), UTC) for name in ("iat", "exp"))
    except (tokens.PyJWTError, ValueError, TypeError, OverflowError, OSError):
        raise access_errors.invalid_jwt() from None
    if not issued - _LEEWAY <= now < min(expires, issued + _LONGEST_JWT) + _LEEWAY:
        raise access_errors.invalid_jwt()
