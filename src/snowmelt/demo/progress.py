"""What is going on while nothing can be watched yet, or any more: one line for each step, with the time it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

Tell = Callable[[str], None]


@contextmanager
def step(console: Console, doing: str, done: str) -> Iterator[Tell]:
    """Says `doing` while the block runs, with a running clock in a terminal, and `done` when it is over.

    The block may tell more about what it does, in a few words.
    """
    began = time.monotonic()
    if not console.is_terminal:
        console.print(f"{doing} …", soft_wrap=True)
        yield lambda text: console.print(f"  {text}", soft_wrap=True)
    else:
        details: list[str] = []
        with Live(_Working(doing, details, began), console=console, transient=True, refresh_per_second=8):
            yield details.append
    console.print(Text.assemble(("✓ ", "green"), done, (f"  {time.monotonic() - began:.1f} s", "dim")))


class _Working:
    """A spinner whose text is made anew each time it is drawn."""

    def __init__(self, doing: str, details: list[str], began: float) -> None:
        self._doing = doing
        self._details = details
        self._began = began
        self._spinner = Spinner("dots", style="cyan")

    def __rich__(self) -> Spinner:
        detail = f" · {self._details[-1]}" if self._details else ""
        seconds = time.monotonic() - self._began
        self._spinner.update(text=Text.assemble(f"{self._doing} …", (f" {seconds:.0f} s{detail}", "dim")))
        return self._spinner
