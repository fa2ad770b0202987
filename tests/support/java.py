"""Spark's Java process, as the operating system sees it."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def java_of(parent: int) -> list[int]:
    """The Java processes that the process started and that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        name, rest = stat.partition("(")[2].rpartition(")")[::2]
        state, owner = rest.split()[:2]
        if name == "java" and state != "Z" and int(owner) == parent:
            found.append(int(folder.name))
    return found


def kill_java(parent: int) -> int:
    """Kills the one that there is."""
    (pid,) = java_of(parent)
    os.kill(pid, signal.SIGKILL)
    return pid
