"""Users and roles as the runtime asks for them: by name, with their owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader, StateTransaction


def find_user(state: StateReader, name: str) -> Owned | None:
    user = state.access.user(name)
    return Owned(user.name, user.owner) if user is not None else None


def find_role(state: StateReader, name: str) -> Owned | None:
    role = state.access.role(name)
    return Owned(role.name, role.owner) if role is not None else None


def change_user(state: StateTransaction, name: str, values: Mapping[str, Any]) -> bool:
    user = state.access.user(name)
    if user is not None:
        state.access.put_user(user.model_copy(update=dict(values)))
    return user is not None


def change_role(state: StateTransaction, name: str, values: Mapping[str, Any]) -> bool:
    role = state.access.role(name)
    if role is not None:
        state.access.put_role(role.model_copy(update=dict(values)))
    return role is not None
