"""Errors of projects."""

from __future__ import annotations

from snowmelt.core.errors import SnowmeltError


def project(message: str, *, hint: str | None = None) -> SnowmeltError:
    """The definitions of a project are wrong, whatever they are compared with."""
    return SnowmeltError("370002", "F0000", message, hint=hint)
