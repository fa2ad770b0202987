"""The options of `snowmelt demo`."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import timedelta
from pathlib import Path

import typer

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def duration(text: str) -> timedelta:
    """`90`, `90s`, `1.5m`."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or float(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is no duration; write 90s or 2m.")
    return timedelta(seconds=float(found[1]) * _SECONDS[found[2] or "s"])


def called_as() -> str:
    """How the user calls this program: by its path where the shell would not find it, as after `make demo`."""
    path = Path(sys.argv[0])
    found = shutil.which("snowmelt")
    unknown = found is None or not path.exists() or not path.samefile(found)
    return str(path) if path.name == "snowmelt" and unknown else "snowmelt"
