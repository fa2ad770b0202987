"""What a role may see. The catalog hides all other objects: to the role they do not exist."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Owned(NamedTuple):
    """Something that privileges are granted on, as far as access control needs to know it."""

    id: str
    owner: str


class Sight(Protocol):
    def sees(self, item: Owned) -> bool:
        """Whether any privilege on it is held, by grant or as its owner. Containers are asked for by themselves."""
        ...
