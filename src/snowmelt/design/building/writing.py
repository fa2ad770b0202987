"""Writes a project, and writes it again: what somebody changed is merged with what is built now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snowmelt.core import errors
from snowmelt.design.building.merging import has_conflicts, merged

RECORD = ".snowmelt/build.json"
"""The files as they were built last: the base of the next merge. Keep it with the project."""
_FORMAT = 1


@dataclass(slots=True)
class WrittenFiles:
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    """Somebody changed them, and so did the builder, elsewhere in the file."""
    conflicts: list[str] = field(default_factory=list)
    """Both changed the same lines, which are marked in the file."""
    beside: list[str] = field(default_factory=list)
    """Files that were there before the builder: what it would have written is beside them, as <file>.new."""
    left_out: list[str] = field(default_factory=list)
    """Somebody removed them: they stay away."""
    removed: list[str] = field(default_factory=list)
    """No longer built."""
    kept: list[str] = field(default_factory=list)
    """No longer built, but changed by somebody: they stay."""

    @property
    def clean(self) -> bool:
        return not self.conflicts and not self.beside

    def lines(self) -> list[str]:
        """What was done to each file, for people."""
        lists = {
            "new": self.new, "changed": self.changed, "merged with your changes": self.merged,
            "CONFLICT, marked in the file": self.conflicts, "yours stays, see .new": self.beside,
            "you removed it, stays away": self.left_out, "removed, no longer built": self.removed,
            "no longer built, yours stays": self.kept,
        }  # fmt: skip
        return [f"{what}: {path}" for what, paths in lists.items() for path in paths]


def write_project(folder: Path, files: Mapping[str, str]) -> WrittenFiles:
    """Raises, and writes nothing, while there are marks of an earlier merge."""
    base = last_built(folder)
    there = {path: text for path in {*files, *base} if (text := _read(folder / path)) is not None}
    open_ = sorted(
        path for path, text in there.items() if has_conflicts(text) and not has_conflicts(files.get(path, ""))
    )
    if open_:
        raise errors.configuration(
            f"These files still have conflicts of the last build: {', '.join(open_)}.",
            hint="Choose between the marks (<<<<<<< yours, >>>>>>> built), remove them, and build again.",
        )
    done = WrittenFiles()
    writes = _planned(files, base, there, done)
    for path, text in writes.items():
        _write(folder / path, text)
    _remove_old(folder, files, base, there, done)
    record = json.dumps({"format": _FORMAT, "files": dict(sorted(files.items()))}, indent=1) + "\n"
    if _read(folder / RECORD) != record:
        # Last: a build that is cut off before it does the same once more.
        _write(folder / RECORD, record)
    return done


def _planned(
    files: Mapping[str, str], base: Mapping[str, str], there: Mapping[str, str], done: WrittenFiles
) -> dict[str, str]:  # fmt: skip
    writes: dict[str, str] = {}
    for path, built in files.items():
        yours, last = there.get(path), base.get(path)
        if yours is None:
            if last is None:
                writes[path] = built
                done.new.append(path)
            else:
                done.left_out.append(path)
        elif built in (yours, last):
            continue
        elif last is None:
            writes[f"{path}.new"] = built
            done.beside.append(path)
        elif yours == last:
            writes[path] = built
            done.changed.append(path)
        else:
            result = merged(last, yours, built)
            writes[path] = result.text
            (done.conflicts if result.conflicts else done.merged).append(path)
    return writes


def _remove_old(
    folder: Path, files: Mapping[str, str], base: Mapping[str, str], there: Mapping[str, str], done: WrittenFiles
) -> None:  # fmt: skip
    for path in sorted(base.keys() - files.keys()):
        if path not in there:
            continue
        if there[path] != base[path]:
            done.kept.append(path)
            continue
        (folder / path).unlink()
        done.removed.append(path)
        for parent in (folder / path).parents:
            if parent == folder or any(parent.iterdir()):
                break
            parent.rmdir()


def last_built(folder: Path) -> dict[str, str]:
    text = _read(folder / RECORD)
    if text is None:
        return {}
    try:
        record = json.loads(text)
        return {str(path): str(built) for path, built in record["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise errors.configuration(
            f"{folder / RECORD} is damaged.", hint="Bring it back from version control: it is the base of merges."
        ) from None


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
