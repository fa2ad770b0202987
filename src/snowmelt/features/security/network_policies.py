"""CREATE, ALTER, DROP, SHOW and DESCRIBE of network policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.features.security.definitions import NETWORK_POLICY
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.results import DONE, Result, kept, status
from snowmelt.runtime.rights import network
from snowmelt.runtime.rights.asks import OWNERSHIP
from snowmelt.runtime.rights.auditing import changed
from snowmelt.sql.statements.base import Action, CreateStatement, NameRef, ObjectType, Statement
from snowmelt.sql.statements.changes import Drop, RenameTo, SetOptions, UnsetOptions
from snowmelt.sql.statements.create_rules import CreateHead
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name, if_exists, object_name
from snowmelt.sql.statements.options import (
    Options,
    read_options,
    read_required_options,
    read_unset,
    strings,
    text,
)
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.access_model import NetworkPolicy
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader, StateTransaction

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

COLUMNS = columns(
    "created_on:ts, name, comment, entries_in_allowed_ip_list:n, entries_in_blocked_ip_list:n, "
    "entries_in_allowed_network_rules:n, entries_in_blocked_network_rules:n"
)
DESCRIBED = columns("name, value")


@dataclass(frozen=True, slots=True)
class NetworkOptions(Options):
    allowed_ip_list: Annotated[tuple[str, ...] | None, strings] = None
    blocked_ip_list: Annotated[tuple[str, ...] | None, strings] = None
    comment: Annotated[str | None, text] = None


@dataclass(frozen=True, slots=True)
class CreateNetworkPolicy(CreateStatement):
    options: NetworkOptions
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterNetworkPolicy(Statement):
    name: NameRef
    action: Action
    if_exists: bool = False


# -- reading ----------------------------------------------------------------------------------------------------------


def parse_create_network_policy(cursor: TokenCursor, head: CreateHead) -> CreateNetworkPolicy:
    name, guarded = created_name(cursor, head)
    return CreateNetworkPolicy(name, _options(cursor, head.kind), head.or_replace, guarded)


def parse_alter_network_policy(cursor: TokenCursor, kind: ObjectType) -> AlterNetworkPolicy:
    guarded = if_exists(cursor)
    name = object_name(cursor, kind)
    match cursor.expect_any(("SET", "UNSET", "RENAME")):
        case "RENAME":
            cursor.expect("TO")
            return AlterNetworkPolicy(name, RenameTo(object_name(cursor, kind)), guarded)
        case "SET":
            _refuse_rules(cursor)
            return AlterNetworkPolicy(name, SetOptions(read_required_options(cursor, NetworkOptions, kind)), guarded)
    return AlterNetworkPolicy(name, UnsetOptions(read_unset(cursor, NetworkOptions, kind)), guarded)


def _options(cursor: TokenCursor, kind: ObjectType) -> NetworkOptions:
    _refuse_rules(cursor)
    found = read_options(cursor, NetworkOptions, kind)
    _refuse_rules(cursor)
    return found


def _refuse_rules(cursor: TokenCursor) -> None:
    if cursor.at_any(("ALLOWED_NETWORK_RULE_LIST", "BLOCKED_NETWORK_RULE_LIST")):
        raise errors.unsupported(
            cursor.peek().word, hint="Write the addresses into ALLOWED_IP_LIST and BLOCKED_IP_LIST."
        )


# -- doing ------------------------------------------------------------------------------------------------------------


def create_network_policy(run: Run, statement: CreateNetworkPolicy) -> Result:
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        if state.access.network_policy(name) is not None:
            if statement.if_not_exists:
                return kept(name, "CREATE_NETWORK_POLICY")
            if not statement.or_replace:
                raise errors.already_exists(quote(name))
            _refuse_in_use(state, name)
        policy = NetworkPolicy(name=name, owner=run.session.role, created_on=state.now)
        _put(run, state, policy.model_copy(update=_values(statement.options)))
        changed(run, state, "NETWORK POLICY", f"NETWORK POLICY {name}", "CREATE")
    return status(f"Network policy {quote(name)} successfully created.", "CREATE_NETWORK_POLICY")


def alter_network_policy(run: Run, statement: AlterNetworkPolicy) -> Result:
    done = status(DONE, "ALTER_NETWORK_POLICY")
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        policy = state.access.network_policy(name)
        if policy is None:
            if statement.if_exists:
                return done
            raise errors.not_found("Network policy", quote(name))
        match statement.action:
            case SetOptions(options=NetworkOptions() as options):
                _put(run, state, policy.model_copy(update=_values(options)))
            case UnsetOptions(names=names):
                _put(run, state, policy.model_copy(update=dict(_UNSET[one] for one in names)))
            case RenameTo(new_name=new_name):
                _rename(run, state, policy, new_name)
            case other:
                raise errors.unsupported_action(NETWORK_POLICY, other)
        changed(run, state, "NETWORK POLICY", f"NETWORK POLICY {name}", "ALTER")
    return done


_UNSET: dict[str, tuple[str, Any]] = {
    "ALLOWED_IP_LIST": ("allowed", ()), "BLOCKED_IP_LIST": ("blocked", ()), "COMMENT": ("comment", None),
}  # fmt: skip


def _put(run: Run, state: StateTransaction, policy: NetworkPolicy) -> None:
    """Stores a policy. One that holds for the account must let in whoever changes it."""
    state.access.put_network_policy(policy)
    if network.account_policy(state) == policy.name:
        network.check_activation(state, policy.name, run.session.client)


def _values(options: NetworkOptions) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if options.allowed_ip_list is not None:
        found["allowed"] = network.checked(options.allowed_ip_list, "ALLOWED_IP_LIST")
    if options.blocked_ip_list is not None:
        found["blocked"] = network.checked(options.blocked_ip_list, "BLOCKED_IP_LIST")
    if options.comment is not None:
        found["comment"] = options.comment
    return found


def _rename(run: Run, state: StateTransaction, policy: NetworkPolicy, new_name: NameRef) -> None:
    new = run.parts(new_name)[-1]
    if state.access.network_policy(new) is not None:
        raise errors.already_exists(quote(new))
    if network.account_policy(state) == policy.name:
        state.parameters.set("ACCOUNT", "", network.PARAMETER, new)
    for user in state.access.users():
        if user.network_policy == policy.name:
            state.access.put_user(user.model_copy(update={"network_policy": new}))
    state.access.drop_network_policy(policy.name)
    state.access.put_network_policy(policy.model_copy(update={"name": new}))


def drop_network_policy(run: Run, statement: Drop) -> str | None:
    name = run.parts(statement.name)[-1]
    with run.state.begin() as state:
        if state.access.network_policy(name) is None:
            if not statement.if_exists:
                raise errors.not_found("Network policy", quote(name))
            return None
        _refuse_in_use(state, name)
        state.access.drop_network_policy(name)
        changed(run, state, "NETWORK POLICY", f"NETWORK POLICY {name}", "DROP")
    return name


def _refuse_in_use(state: StateTransaction, name: str) -> None:
    users = [user.name for user in state.access.users() if user.network_policy == name]
    if network.account_policy(state) == name or users:
        where = f"user {users[0]}" if users else "the account"
        raise errors.compilation(
            "001492", "42601",
            f"Cannot perform Drop operation on network policy {name}. The policy is attached to {where}.",
            hint="ALTER ACCOUNT UNSET NETWORK_POLICY, or ALTER USER … UNSET NETWORK_POLICY.",
        )  # fmt: skip


def find_network_policy(state: StateReader, name: str) -> Owned | None:
    policy = state.access.network_policy(name)
    return Owned(policy.name, policy.owner) if policy is not None else None


def change_network_policy(state: StateTransaction, name: str, values: Mapping[str, Any]) -> bool:
    policy = state.access.network_policy(name)
    if policy is not None:
        state.access.put_network_policy(policy.model_copy(update=dict(values)))
    return policy is not None


# -- showing ----------------------------------------------------------------------------------------------------------


def network_policies(run: Run, state: StateReader, _: ShowStatement) -> Iterator[Row]:
    for policy in state.access.network_policies():
        if not _is_visible(run, policy):
            continue
        yield {
            "created_on": policy.created_on,
            "name": policy.name,
            "comment": policy.comment or "",
            "entries_in_allowed_ip_list": len(policy.allowed),
            "entries_in_blocked_ip_list": len(policy.blocked),
            "entries_in_allowed_network_rules": 0,
            "entries_in_blocked_network_rules": 0,
        }


def described_network_policy(run: Run, state: StateReader, name: str) -> Iterator[Row]:
    policy = state.access.network_policy(name)
    if policy is None or not _is_visible(run, policy):
        raise errors.not_found("Network policy", quote(name))
    for option, entries in (("ALLOWED_IP_LIST", policy.allowed), ("BLOCKED_IP_LIST", policy.blocked)):
        if entries:
            yield {"name": option, "value": ",".join(entries)}


def _is_visible(run: Run, policy: NetworkPolicy) -> bool:
    """To its owner, and to roles that manage rights: others learn nothing of how the account is kept."""
    return run.authority.manages_grants or run.authority.holds(OWNERSHIP, Owned(policy.name, policy.owner))
