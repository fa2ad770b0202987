"""The playbooks that come with Snowmelt, and those in files."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks.linting import lint
from snowmelt.playbooks.model import Playbook

_FOLDER = files("snowmelt.playbooks") / "library"
_SUFFIX = ".md"
_LONG = re.compile(r".{10000}|\s{200}")
"""What nobody writes, and reading would take the server's time from others."""


def shipped() -> list[str]:
    """Names of the playbooks that come with Snowmelt."""
    return sorted(item.name.removesuffix(_SUFFIX) for item in _FOLDER.iterdir() if item.name.endswith(_SUFFIX))


def text_of(name: str) -> str:
    """The text of a playbook: of a file, or of a shipped one by its name."""
    path = Path(name)
    if path.suffix == _SUFFIX or path.is_file():
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise playbook_errors.playbook(f"{path} can't be read: {error}.") from None
    if name not in shipped():
        raise playbook_errors.playbook(
            f"There is no playbook '{name}': neither a file nor one of {', '.join(shipped())}.",
            hint="A file's name ends with .md.",
        )
    return shipped_text(name)


def shipped_text(name: str) -> str:
    """The text of a playbook that comes with Snowmelt. No other file is read, whatever the name is."""
    if name not in shipped():
        raise playbook_errors.playbook(f"'{name}' is none of the shipped playbooks: {', '.join(shipped())}.")
    return (_FOLDER / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


def load(name: str) -> Playbook:
    """The playbook. Raises with its problems when it has any."""
    return parsed(text_of(name), name)


def parsed(text: str, name: str) -> Playbook:
    if _LONG.search(text):
        raise playbook_errors.playbook(
            f"The playbook '{name}' has a line of 10,000 characters, or 200 blanks in a row."
        )
    playbook, problems = lint(text)
    if playbook is None:
        found = "\n".join(f"  {problem}" for problem in problems if not problem.warning)
        raise playbook_errors.playbook(f"The playbook '{name}' has problems:\n{found}")
    return playbook
