"""Forks a process for each command, which may be told to die at some place; see tests/crash/child.py."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from snowmelt.cli.main import app
from tests.crash.child import main


def command(order: dict[str, Any]) -> None:
    """Runs `snowmelt …` and leaves its exit code in a file."""
    os.environ.update(order["environment"])
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 (the parent's standard output is another one)
    code: object = 0
    try:
        code = app(order["arguments"], standalone_mode=False)
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    finally:
        sys.stdout.flush()
    with open(order["report"], "w") as file:  # noqa: PTH123
        file.write(str(code or 0))


if __name__ == "__main__":
    main(command)
