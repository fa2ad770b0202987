"""CREATE, ALTER and DROP of users and roles, and the tokens of users."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.security.statements import (
    AbortQueries,
    AlterRole,
    AlterUser,
    ChangeToken,
    CreateRole,
    CreateUser,
    TokenOptions,
    UserOptions,
)
from snowmelt.runtime.metadata.columns import columns, result
from snowmelt.runtime.results import DONE, Result, kept, status
from snowmelt.runtime.rights import credentials, enforcement, lasting, network
from snowmelt.runtime.rights.auditing import changed
from snowmelt.runtime.rights.authority import SYSTEM
from snowmelt.runtime.rights.privileges import ACCOUNTADMIN, SYSTEM_ROLES
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.changes import Drop, RenameTo, SetOptions, UnsetOptions
from snowmelt.state.access_model import AccessToken, Role, User
from snowmelt.state.ids import new_id
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_PLAIN = (
    "login_name", "display_name", "first_name", "last_name", "email", "must_change_password", "disabled",
    "default_warehouse", "default_namespace", "default_role", "network_policy", "type", "comment",
)  # fmt: skip
"""Options of users that are kept as they are given."""
_OWN = frozenset({"DEFAULT_ROLE", "DEFAULT_WAREHOUSE", "DEFAULT_NAMESPACE", "DEFAULT_SECONDARY_ROLES", "PASSWORD"})
"""What users may set for themselves."""
_TOKEN_DAYS = 15
_MOST_TOKEN_DAYS = 365
_SHOWN_ONCE = columns("token_name, token_secret")


# -- users -------------------------------------------------------------------------------------------------------------


def create_user(run: Run, statement: CreateUser) -> Result:
    name = run.parts(statement.name)[-1]
    values = _values(statement.options, run.now)
    _refuse_reserved(name)
    with run.state.begin() as state:
        if state.access.user(name) is not None:
            if statement.if_not_exists:
                return kept(name, "CREATE_USER")
            if not statement.or_replace:
                raise errors.already_exists(quote(name))
            _refuse_own(run, name, "CREATE OR REPLACE USER")
            state.access.drop_user(name)
        if statement.options.network_policy is not None:
            network.check_activation(state, statement.options.network_policy, None)
        user = User(name=name, login_name=name, display_name=name, owner=run.session.role, created_on=state.now)
        state.access.put_user(user.model_copy(update=values))
        changed(run, state, "USER", f"USER {name}", "CREATE")
    lasting.end_sessions(run.account)
    return status(f"User {quote(name)} successfully created.", "CREATE_USER")


def _values(options: UserOptions, now: datetime) -> dict[str, Any]:
    """The options as a user's record holds them: secrets hashed, keys checked."""
    values = {name: getattr(options, name) for name in _PLAIN if getattr(options, name) is not None}
    if options.password is not None:
        values |= {"password_hash": credentials.hash_password(options.password), "password_changed_on": now}
    if options.rsa_public_key is not None:
        values["rsa_public_key"] = credentials.public_key(options.rsa_public_key)
    if options.rsa_public_key_2 is not None:
        values["rsa_public_key_2"] = credentials.public_key(options.rsa_public_key_2)
    if options.default_secondary_roles is not None:
        values["default_secondary_roles"] = tuple(role.upper() for role in options.default_secondary_roles)
    if options.mins_to_unlock is not None:
        until = now + timedelta(minutes=options.mins_to_unlock) if options.mins_to_unlock > 0 else None
        values |= {"locked_until": until, "failed_logins": 0}
    return values


def alter_user(run: Run, statement: AlterUser) -> Result:
    name = run.session.user if statement.name is None else run.parts(statement.name)[-1]
    answer = status(DONE, "ALTER_USER")
    # Hashing takes a tenth of a second: nobody else should wait for it.
    given = statement.action.options if isinstance(statement.action, SetOptions) else None
    values = _values(given, run.now) if isinstance(given, UserOptions) else {}
    with run.state.begin() as state:
        user = state.access.user(name)
        if user is None:
            if statement.if_exists:
                return status(DONE, "ALTER_USER")
            raise errors.not_found("User", quote(name))
        match statement.action:
            case SetOptions(options=UserOptions() as options):
                _require(run, user, own=set(options.given()) <= _OWN)
                if options.network_policy is not None:
                    network.check_activation(state, options.network_policy, None)
                chose = {"must_change_password": False} if options.password and name == run.session.user else {}
                user = user.model_copy(update=chose | values)
                state.access.put_user(user)
            case UnsetOptions(names=names):
                _require(run, user, own=set(names) <= _OWN - {"PASSWORD"})
                state.access.put_user(user.model_copy(update=_unset(user, names)))
            case RenameTo(new_name=new_name):
                _require(run, user)
                _refuse_reserved(run.parts(new_name)[-1])
                state.access.rename_user(name, run.parts(new_name)[-1])
            case AbortQueries():
                _require(run, user)
            case ChangeToken() as action:
                _require(run, user, own=True)
                answer = _change_token(run, state, user, action)
        if not isinstance(statement.action, ChangeToken):
            changed(run, state, "USER", f"USER {name}", f"ALTER {type(statement.action).__name__}")
    if isinstance(statement.action, AbortQueries):
        _abort(run, name)
    if isinstance(statement.action, RenameTo):
        _follow(run, name, run.parts(statement.action.new_name)[-1])
    if name == run.session.user:
        lasting.keep_own(run.session, user)
    lasting.end_sessions(run.account)
    return answer


def _require(run: Run, user: User, *, own: bool = False) -> None:
    """The user's owner may change everything, users themselves a little.

    Inside a procedure with its owner's rights it is the procedure's author who speaks, not the user who called it.
    """
    if not (own and user.name == run.session.user and not run.session.acts_as_owner):
        enforcement.require(
            run, ("OWNERSHIP",), enforcement.RightsTarget("USER", user.name, Owned(user.name, user.owner))
        )


def _refuse_reserved(name: str) -> None:
    if name == SYSTEM:
        raise errors.already_exists(quote(name))


def _refuse_own(run: Run, name: str, what: str) -> None:
    if name == run.session.user:
        raise errors.unsupported(f"{what} of the user who runs it")


def _follow(run: Run, name: str, new_name: str) -> None:
    """Sessions of a user go on under the user's new name."""
    for session in run.account.sessions():
        if session.user == name:
            session.user = new_name


def _unset(user: User, names: tuple[str, ...]) -> dict[str, Any]:
    plain = User(name=user.name, login_name=user.name, display_name=user.name, owner=user.owner,
                 created_on=user.created_on)  # fmt: skip
    fields = {"PASSWORD": ("password_hash",), "MINS_TO_UNLOCK": ("locked_until", "failed_logins")}
    return {field: getattr(plain, field) for name in names for field in fields.get(name, (name.lower(),))}


def _abort(run: Run, user: str) -> None:
    for session in run.account.sessions():
        if session.user == user and session is not run.session:
            session.cancel()


def drop_user(run: Run, statement: Drop) -> str | None:
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        if state.access.user(name) is None:
            if not statement.if_exists:
                raise errors.not_found("User", quote(name))
            return None
        _refuse_own(run, name, "DROP USER")
        state.access.drop_user(name)
        changed(run, state, "USER", f"USER {name}", "DROP")
    for session in run.account.sessions():
        if session.user == name and session.grounds is None:
            session.cancel()
            session.close()
    lasting.end_sessions(run.account)
    return name


# -- tokens ------------------------------------------------------------------------------------------------------------


def _change_token(run: Run, state: StateTransaction, user: User, action: ChangeToken) -> Result:
    known = {token.name: token for token in state.access.tokens(user.name)}
    changed(run, state, "TOKEN", f"USER {user.name} TOKEN {action.token}", action.verb)
    if action.verb == "ADD":
        if action.token in known:
            raise errors.already_exists(quote(action.token))
        return _add_token(run, state, user, action.token, action.options)
    token = known.get(action.token)
    if token is None:
        raise errors.not_found("Programmatic access token", quote(action.token))
    match action.verb:
        case "REMOVE":
            state.access.drop_token(token.id)
        case "ROTATE":
            secret = credentials.new_token()
            lasts = token.expires_at - token.created_on
            values = {"token_hash": credentials.token_hash(secret), "created_on": state.now,
                      "expires_at": state.now + lasts}  # fmt: skip
            state.access.put_token(token.model_copy(update=values))
            return result(_SHOWN_ONCE, [{"token_name": token.name, "token_secret": secret}], "ALTER_USER")
        case _:
            given = action.options
            if given.role_restriction is not None or given.days_to_expiry is not None:
                raise errors.unsupported(
                    "ROLE_RESTRICTION and DAYS_TO_EXPIRY of a token that is there already", hint="Add another token."
                )
            values = {"name": action.new_name or token.name}
            values |= {key: value for key in ("disabled", "comment") if (value := getattr(given, key)) is not None}
            state.access.put_token(token.model_copy(update=values))
    return status(DONE, "ALTER_USER")


def _add_token(run: Run, state: StateTransaction, user: User, name: str, options: TokenOptions) -> Result:
    days = options.days_to_expiry or _TOKEN_DAYS
    if not 1 <= days <= _MOST_TOKEN_DAYS:
        raise errors.invalid_value(str(days), "DAYS_TO_EXPIRY")
    role = options.role_restriction
    if role is not None and role not in run.account.access.available(user.name):
        raise errors.role_not_granted(role)
    secret = credentials.new_token()
    state.access.put_token(
        AccessToken(
            id=new_id(), user=user.name, name=name, token_hash=credentials.token_hash(secret), role_restriction=role,
            disabled=bool(options.disabled), expires_at=state.now + timedelta(days=days), comment=options.comment,
            created_by=run.session.user, created_on=state.now,
        )
    )  # fmt: skip
    return result(_SHOWN_ONCE, [{"token_name": name, "token_secret": secret}], "ALTER_USER")


# -- roles -------------------------------------------------------------------------------------------------------------


def create_role(run: Run, statement: CreateRole) -> Result:
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        if state.access.role(name) is not None:
            if statement.if_not_exists:
                return kept(name, "CREATE_ROLE")
            if not statement.or_replace:
                raise errors.already_exists(quote(name))
            _refuse_system(name)
            state.access.drop_role(name, run.session.role)
        comment = statement.options.comment
        state.access.put_role(Role(name=name, owner=run.session.role, comment=comment, created_on=state.now))
        changed(run, state, "ROLE", f"ROLE {name}", "CREATE")
    return status(f"Role {quote(name)} successfully created.", "CREATE_ROLE")


def alter_role(run: Run, statement: AlterRole) -> Result:
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        role = state.access.role(name)
        if role is None:
            if statement.if_exists:
                return status(DONE, "ALTER_ROLE")
            raise errors.not_found("Role", quote(name))
        _refuse_system(name)
        match statement.action:
            case RenameTo(new_name=new_name):
                _rename(run, state, name, new_name)
            case SetOptions(options=options):
                state.access.put_role(role.model_copy(update={"comment": options.given().get("COMMENT")}))
            case _:
                state.access.put_role(role.model_copy(update={"comment": None}))
        changed(run, state, "ROLE", f"ROLE {name}", "ALTER")
    return status(DONE, "ALTER_ROLE")


def _rename(run: Run, state: StateTransaction, name: str, new_name: NameRef) -> None:
    new = run.parts(new_name)[-1]
    state.access.rename_role(name, new)
    for session in run.account.sessions():
        if session.role == name:
            session.role = new


def drop_role(run: Run, statement: Drop) -> str | None:
    """What the role owned belongs to the one that drops it."""
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        if state.access.role(name) is None:
            if not statement.if_exists:
                raise errors.not_found("Role", quote(name))
            return None
        _refuse_system(name)
        heir = run.session.role if run.session.role != name else ACCOUNTADMIN
        state.access.drop_role(name, heir)
        changed(run, state, "ROLE", f"ROLE {name}", "DROP")
    return name


def _refuse_system(name: str) -> None:
    if name in SYSTEM_ROLES:
        raise errors.insufficient_privileges("role", name)
