"""Errors of playbooks."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError


def playbook(message: str, *, hint: str | None = None) -> SnowmeltError:
    """A playbook, or a run of one, is not what a command asks for."""
    return SnowmeltError("370032", "F0000", message, hint=hint)
