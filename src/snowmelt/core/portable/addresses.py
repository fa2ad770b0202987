"""PARSE_IP: the parts of an address, as the text of a JSON object."""

from __future__ import annotations

import ipaddress
import json

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_FIELD, _FIELDS = 32, 4
_WIDTHS = {4: 8, 6: 32}
"""Hexadecimal digits of an address."""


def parse_ip(text: str, kind: str) -> str:
    """The object, or one with the key `error`: a CIDR has a prefix and no bits behind it."""
    host, slash, prefix = text.strip().partition("/")
    try:
        address = ipaddress.ip_address(host)
        network = ipaddress.ip_network(text.strip(), strict=kind == "cidr") if slash or kind == "cidr" else None
    except ValueError as problem:
        return json.dumps({"error": f"{problem}"})
    found: dict[str, object] = {
        "family": address.version,
        "host": host,
        "ip_fields": _fields(int(address), address.version),
        "ip_type": kind,
        "snowflake$type": "ip_address",
    }
    if slash and not prefix.isdigit():
        return json.dumps({"error": f"{text!r} has no length of a prefix behind /"})
    return json.dumps({**found, **_numbers(address, network)}, sort_keys=True)


def _fields(value: int, version: int) -> list[int]:
    if version == 4:
        return [value, 0, 0, 0]
    return [value >> shift & (1 << _FIELD) - 1 for shift in range(_FIELD * (_FIELDS - 1), -1, -_FIELD)]


def _numbers(address: _Address, network: _Network | None) -> dict[str, object]:
    """The address, and the first and the last one of its network, as numbers or in hexadecimal digits."""
    name = "ipv4" if address.version == 4 else "hex_ipv6"

    def shown(one: _Address) -> object:
        return int(one) if one.version == 4 else f"{int(one):0{_WIDTHS[6]}X}"

    found: dict[str, object] = {name: shown(address)}
    if network is not None:
        found |= {
            f"{name}_range_start": shown(network[0]),
            f"{name}_range_end": shown(network[-1]),
            "netmask_prefix_length": network.prefixlen,
        }
    return found
