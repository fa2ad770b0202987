"""How the columns of a source differ from what they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from snowmelt.core.names import quote


@dataclass(frozen=True, slots=True)
class Drift:
    """Columns with their types, as a reader of a diff wants them."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.retyped)


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> Drift:
    """From types by the name of their column."""
    both = [name for name in before if name in after and before[name] != after[name]]
    return Drift(
        tuple(f"{quote(name)} {type_}" for name, type_ in after.items() if name not in before),
        tuple(f"{quote(name)} {type_}" for name, type_ in before.items() if name not in after),
        tuple(f"{quote(name)} {before[name]} -> {after[name]}" for name in both),
    )
