"""Semantic versions of contracts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

_VERSION = re.compile(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?")


class Bump(IntEnum):
    """How far one version is from another; a larger one may always stand where a smaller one is asked for."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


@dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int = 0
    patch: int = 0

    def bump_to(self, other: Version) -> Bump:
        """NONE also when the other one is not newer."""
        if other <= self:
            return Bump.NONE
        if other.major != self.major:
            return Bump.MAJOR
        return Bump.MINOR if other.minor != self.minor else Bump.PATCH

    def next(self, bump: Bump) -> Version:
        match bump:
            case Bump.MAJOR:
                return Version(self.major + 1)
            case Bump.MINOR:
                return Version(self.major, self.minor + 1)
            case Bump.PATCH:
                return Version(self.major, self.minor, self.patch + 1)
            case Bump.NONE:
                return self

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def parse_version(text: str) -> Version | None:
    """`1.4.0`, also `1.4`, `1` and `v1.4.0`; None for anything else."""
    found = _VERSION.fullmatch(text.strip())
    return Version(*(int(part) for part in found.groups(default="0"))) if found is not None else None
