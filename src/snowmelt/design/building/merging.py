"""Three versions of a file become one: as it was built, as somebody changed it, as it is built now."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from snowmelt.core import errors

_YOURS, _BUILT = "yours", "built"
_MARKS = (f"<<<<<<< {_YOURS}\n", f">>>>>>> {_BUILT}\n")
_TOO_MANY = 127
"""git says how many conflicts there are, up to this; above it something went wrong."""


@dataclass(frozen=True, slots=True)
class Merged:
    text: str
    conflicts: int


def merged(base: str, yours: str, built: str) -> Merged:
    """What either side changed; where both did, and differently, both stand between marks."""
    with TemporaryDirectory(prefix="snowmelt-merge-") as folder:
        paths = [Path(folder) / name for name in (_YOURS, "base", _BUILT)]
        for path, text in zip(paths, (yours, base, built), strict=True):
            path.write_text(text, encoding="utf-8")
        labels = [part for label in (_YOURS, "base", _BUILT) for part in ("-L", label)]
        try:
            done = subprocess.run(
                ["git", "merge-file", "-p", *labels, *map(str, paths)], capture_output=True, check=False, timeout=60
            )
        except FileNotFoundError:
            raise errors.configuration(
                "git is not installed, and files that you and the builder changed have to be merged.",
                hint="Install git, and build again.",
            ) from None
    if not 0 <= done.returncode <= _TOO_MANY:
        raise errors.configuration(f"git merge-file failed: {done.stderr.decode(errors='replace').strip()}.")
    return Merged(done.stdout.decode("utf-8"), done.returncode)


def has_conflicts(text: str) -> bool:
    """Whether marks of a merge are still in it."""
    return all(mark in text for mark in _MARKS)
