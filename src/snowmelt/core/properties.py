"""Files with one setting a line, as Java's programs read them."""

from __future__ import annotations

from pathlib import Path

from snowmelt.core import errors


def read_properties(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise errors.configuration(f"The file {path} can't be read: {error.strerror}.") from None
    pairs = (line.strip().partition("=") for line in lines if line.strip() and line.lstrip()[0] not in "#!")
    return {name.strip(): value.strip() for name, _, value in pairs}
