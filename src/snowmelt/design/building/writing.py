"""Writes a project, and writes it again: what somebody changed stays."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

_RECORD = ".snowmelt-build.json"
"""Digests of the files as they were built: what differs from them is somebody's own."""


@dataclass(slots=True)
class Written:
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Somebody changed them: what the builder would have written is beside them, as <file>.new."""
    gone: list[str] = field(default_factory=list)
    """No longer built; left where they are."""


def write_project(folder: Path, files: dict[str, str]) -> Written:
    built = _built(folder)
    done = Written(gone=sorted(path for path in built if path not in files and (folder / path).exists()))
    for path, text in files.items():
        target = folder / path
        if not target.exists():
            _write(target, text)
            done.new.append(path)
            continue
        there = target.read_text(encoding="utf-8")
        if there == text or (path in built and _digest(text) == built[path]):
            continue
        if built.get(path) == _digest(there):
            _write(target, text)
            done.changed.append(path)
        else:
            _write(target.with_name(f"{target.name}.new"), text)
            done.kept.append(path)
    record = {path: _digest(text) for path, text in files.items()}
    _write(folder / _RECORD, json.dumps(record, indent=2) + "\n")
    return done


def differences(folder: Path, files: dict[str, str]) -> list[str]:
    """The files that are not there, or not what the design says."""
    return [
        path for path, text in files.items()
        if not (folder / path).is_file() or (folder / path).read_text(encoding="utf-8") != text
    ]  # fmt: skip


def _built(folder: Path) -> dict[str, str]:
    path = folder / _RECORD
    if not path.is_file():
        return {}
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
