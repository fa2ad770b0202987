"""Errors of contracts."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError


def contract_broken(
    object: str, contract: str, version: str, breaches: list[str], consumers: list[str]
) -> SnowmeltError:
    """A statement would leave a table that is not what its contract says. Nothing was changed."""
    hit = f" Consumers: {', '.join(consumers)}." if consumers else ""
    return SnowmeltError(
        "370012", "23514",
        f"The statement breaks contract '{contract}' {version} of '{object}': {'; '.join(breaches)}.{hit}",
        hint="Nothing was changed. Give the contract a version that allows it with ALTER CONTRACT … ADD VERSION (a new "
        "major version where consumers break), or detach it with UNSET CONTRACT.",
    )  # fmt: skip


def contract_incompatible(
    contract: str, old: str, new: str, mode: str, least: str, changes: list[str], consumers: list[str]
) -> SnowmeltError:
    """A new version of a contract does not have the number that its changes ask for."""
    hit = f" Consumers: {', '.join(consumers)}." if consumers else ""
    return SnowmeltError(
        "370013", "23514",
        f"Version {new} of contract '{contract}' changes {old} in a way that needs at least version {least} under "
        f"{mode} compatibility: {'; '.join(changes)}.{hit}",
        hint="Nothing was changed. Take back the changes, or give the document that version; a new major version lives "
        "beside the old one until its sunset.",
    )  # fmt: skip


def contract_version(message: str) -> SnowmeltError:
    """A contract does not have what a statement asks of it."""
    return SnowmeltError("370015", "22023", message)
