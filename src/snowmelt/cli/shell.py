"""The interactive prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory
from rich.console import Console

from snowmelt.cli.output import Format, progress, write_result
from snowmelt.core.errors import SnowmeltError
from snowmelt.sql.tokens import split_statements

if TYPE_CHECKING:
    from snowmelt.cli.opening import AnySession

_LEAVE = {"exit", "quit", "\\q", "!exit", "!quit"}


def run_shell(session: AnySession, console: Console, form: Format) -> int:
    """Reads statements ended by `;` until end of input. An error is shown and the prompt goes on."""
    console.print("Snowmelt. Statements end with ';'. Leave with 'exit' or Ctrl-D.", style="dim")
    prompt: PromptSession[str] = PromptSession(history=InMemoryHistory())
    lines: list[str] = []
    while True:
        try:
            line = prompt.prompt("snowmelt> " if not lines else "       -> ")
        except KeyboardInterrupt:
            lines = []
            continue
        except EOFError:
            return 0
        if not lines and line.strip().rstrip(";").lower() in _LEAVE:
            return 0
        lines.append(line)
        text = "\n".join(lines)
        if not text.strip():
            lines = []
            continue
        if text.rstrip().endswith(";"):
            lines = []
            _run(session, text, console, form)


def _run(session: AnySession, text: str, console: Console, form: Format) -> None:
    try:
        for statement in split_statements(text):
            with progress("running"):
                result = session.execute(statement)
            write_result(result, form, console)
    except SnowmeltError as error:
        console.print(str(error), style="red", markup=False, highlight=False)
