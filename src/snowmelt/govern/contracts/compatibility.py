"""Which changes break whom, and which version a changed contract must have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from snowmelt.govern.contracts.changes import ChangeKind, ContractChange, changes
from snowmelt.govern.contracts.model import Compatibility, Contract
from snowmelt.govern.contracts.versions import Bump, Version


@dataclass(frozen=True, slots=True)
class CompatibilityEffect:
    readers: bool
    """Breaks those who read the old version."""
    writers: bool
    """Breaks what was written for the old version."""
    bump: Bump = Bump.MINOR
    """The least that it asks for where it breaks nobody."""


_NOBODY, _READERS = CompatibilityEffect(readers=False, writers=False), CompatibilityEffect(readers=True, writers=False)
_WRITERS, _BOTH = CompatibilityEffect(readers=False, writers=True), CompatibilityEffect(readers=True, writers=True)
EFFECTS: dict[ChangeKind, CompatibilityEffect] = {
    ChangeKind.TABLE_ADDED: _NOBODY,
    ChangeKind.TABLE_REMOVED: _READERS,
    ChangeKind.COLUMN_ADDED: _NOBODY,
    ChangeKind.REQUIRED_COLUMN_ADDED: _WRITERS,
    ChangeKind.COLUMN_REMOVED: _READERS,
    ChangeKind.COLUMN_RENAMED: _BOTH,
    ChangeKind.TYPE_WIDENED: _READERS,
    ChangeKind.TYPE_NARROWED: _WRITERS,
    ChangeKind.TYPE_CHANGED: _BOTH,
    ChangeKind.MADE_REQUIRED: _WRITERS,
    ChangeKind.MADE_OPTIONAL: _READERS,
    ChangeKind.MADE_UNIQUE: _WRITERS,
    ChangeKind.NO_LONGER_UNIQUE: _READERS,
    ChangeKind.KEY_ADDED: _WRITERS,
    ChangeKind.KEY_REMOVED: _READERS,
    ChangeKind.KEY_CHANGED: _BOTH,
    ChangeKind.LIMIT_TIGHTENED: _WRITERS,
    ChangeKind.LIMIT_LOOSENED: _READERS,
    ChangeKind.LIMIT_CHANGED: _BOTH,
    ChangeKind.VALUES_ADDED: _READERS,
    ChangeKind.VALUES_REMOVED: _WRITERS,
    ChangeKind.REORDERED: _BOTH,
    ChangeKind.ORDER_PROMISED: _WRITERS,
    ChangeKind.ORDER_NOT_PROMISED: _READERS,
    ChangeKind.OPENED: _NOBODY,
    ChangeKind.CLOSED: _WRITERS,
    ChangeKind.SERVICE_LEVEL_CHANGED: _NOBODY,
    ChangeKind.DOCUMENTATION_CHANGED: CompatibilityEffect(readers=False, writers=False, bump=Bump.PATCH),
}


def breaks(kind: ChangeKind, mode: Compatibility) -> bool:
    effect = EFFECTS[kind]
    match mode:
        case Compatibility.BACKWARD:
            return effect.readers
        case Compatibility.FORWARD:
            return effect.writers
        case Compatibility.FULL:
            return effect.readers or effect.writers
        case Compatibility.NONE:
            return False


def needed_bump(found: Iterable[ContractChange], mode: Compatibility) -> Bump:
    return max((Bump.MAJOR if breaks(c.kind, mode) else EFFECTS[c.kind].bump for c in found), default=Bump.NONE)


@dataclass(frozen=True, slots=True)
class CompatibilityVerdict:
    """What a new version of a contract means for those who hold to the old one."""

    old: Version
    new: Version
    mode: Compatibility
    changes: tuple[ContractChange, ...]

    @property
    def breaking(self) -> tuple[ContractChange, ...]:
        return tuple(change for change in self.changes if breaks(change.kind, self.mode))

    @property
    def needed(self) -> Bump:
        return needed_bump(self.changes, self.mode)

    @property
    def least(self) -> Version:
        """The smallest version that the new one may have."""
        return self.old.next(self.needed)

    @property
    def allowed(self) -> bool:
        return self.old.bump_to(self.new) >= self.needed if self.changes else self.new >= self.old


def compare(old: Contract, new: Contract, mode: Compatibility) -> CompatibilityVerdict:
    return CompatibilityVerdict(old.version, new.version, mode, changes(old, new))
