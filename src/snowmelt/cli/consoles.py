"""Where commands print to: a terminal of some width, or a pipe, which has none."""

from __future__ import annotations

import os

from rich.console import Console

_PIPE = 1_000_000
"""Columns of a pipe: no line is broken for a reader that has no width."""


def output_console(*, soft_wrap: bool = False) -> Console:
    """Standard output. COLUMNS holds where it is set, as for every program."""
    console = Console(highlight=False, soft_wrap=soft_wrap)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE
    return console
