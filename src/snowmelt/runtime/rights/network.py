"""From which addresses clients may come: a user's network policy or, if it has none, the account's.

Every way into a server asks twice: when somebody logs in, and before everything that a session does (`lasting`). So a
policy ends what was opened before it, and a token is worth nothing elsewhere. The owner of the data directory, who
comes with its token and not with a log-in, is not asked: nobody can lock themselves out for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.state.access_model import NetworkPolicy
from snowmelt.state.store import StateReader

PARAMETER = "NETWORK_POLICY"
CLIENT: ContextVar[str | None] = ContextVar("client", default=None)
"""The address from which the request comes that is answered; None for what no client has sent."""


def refused(address: str) -> SnowmeltError:
    return SnowmeltError(
        "390422", "08001",
        f"Incoming request with IP/Token {address} is not allowed to access Snowflake. Contact your account "
        "administrator.",
    )  # fmt: skip


def policy_for(state: StateReader, user: str | None) -> NetworkPolicy | None:
    """The policy that holds for a user; for an unknown one that of the account."""
    known = state.access.user(user) if user is not None else None
    name = (known.network_policy if known is not None else None) or account_policy(state)
    return state.access.network_policy(name) if name else None


def account_policy(state: StateReader) -> str:
    return str(state.parameters.all("ACCOUNT", "").get(PARAMETER, ""))


def admits(policy: NetworkPolicy | None, address: str) -> bool:
    """Whether clients may come from an address. From one that can't be read nobody may, once there is a policy."""
    if policy is None:
        return True
    try:
        found = _address(address)
    except ValueError:
        return False
    if any(_is_in(found, entry) for entry in policy.blocked):
        return False
    return not policy.allowed or any(_is_in(found, entry) for entry in policy.allowed)


def checked(entries: Sequence[str], option: str) -> tuple[str, ...]:
    """The entries of a list, which are addresses or ranges in CIDR notation."""
    for entry in entries:
        try:
            ip_network(entry.strip(), strict=False)
        except ValueError:
            raise errors.invalid_value(entry, option) from None
    return tuple(dict.fromkeys(entry.strip() for entry in entries))


def check_activation(state: StateReader, name: str, address: str | None) -> None:
    """Raises when there is no such policy, or when it would lock out whoever sets it, who comes from this address."""
    policy = state.access.network_policy(name)
    if policy is None:
        raise errors.not_found("Network policy", name)
    if address is not None and not admits(policy, address):
        raise errors.compilation(
            "001059", "22023",
            f"Network policy {name} cannot be activated. Requestor IP address, {address}, must be included in the "
            "allowed_ip_list.",
            hint="Add it first: ALTER NETWORK POLICY … SET ALLOWED_IP_LIST = (…).",
        )  # fmt: skip


def _address(text: str) -> IPv4Address | IPv6Address:
    found = ip_address(text.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _is_in(address: IPv4Address | IPv6Address, entry: str) -> bool:
    network: IPv4Network | IPv6Network = ip_network(entry, strict=False)
    return address.version == network.version and address in network
