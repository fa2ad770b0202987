"""The prompt: reads statements and commands until somebody leaves."""

from __future__ import annotations

import os
import pydoc
import shutil
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from snowmelt.cli.consoles import output_console
from snowmelt.cli.opening import AnySession, OpenedSession
from snowmelt.cli.output import Format, write_result
from snowmelt.cli.prompt.commands import LeaveError, ShellSettings, execute_command
from snowmelt.cli.prompt.completing import AccountNames, SqlCompleter
from snowmelt.cli.prompt.highlighting import STYLE, SqlLexer
from snowmelt.cli.prompt.pointing import pointed
from snowmelt.cli.prompt.reading import is_command, is_whole
from snowmelt.cli.running import StatementStopped, run_statement
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import quote
from snowmelt.runtime.results import Result
from snowmelt.runtime.rights.redaction import redacted
from snowmelt.sql.tokens import SqlText, split_statements

_LEAVES_NAMES = frozenset({"SELECT", "SHOW", "DESCRIBE", "EXPLAIN", "INSERT", "UPDATE", "DELETE", "MERGE"})
"""Statements behind which the account has the names it had."""
_LESS = "-RSFX"
"""Colours, long lines to scroll in instead of broken ones, and nothing for what fits on the screen."""


class PrivateHistory(FileHistory):
    """Statements in a file that only its owner reads. One with a secret in it is not written down."""

    def store_string(self, string: str) -> None:
        if redacted(string) == string:
            super().store_string(string)


class Shell:
    """An interactive session. An error is shown, and the prompt goes on."""

    def __init__(self, opened: OpenedSession, form: Format, rows: int | None) -> None:
        self.settings = ShellSettings(form, rows)
        self._opened = opened
        self._session: AnySession = opened.session
        self._console = output_console()
        self._names = AccountNames(self._ask)
        self._history = PrivateHistory(str(history_file()))
        self._prompt: PromptSession[str] = PromptSession(
            history=self._history, completer=SqlCompleter(self._names), complete_in_thread=True,
            complete_while_typing=False, lexer=SqlLexer(), style=STYLE, multiline=True, key_bindings=_keys(),
            prompt_continuation=_continuation, enable_history_search=False,
        )  # fmt: skip

    @cached_property
    def _asking(self) -> AnySession:
        """The session that names are asked in, so that LAST_QUERY_ID() and open transactions stay as they are."""
        return self._opened.another()

    def _ask(self, statement: str) -> Result:
        return self._asking.execute(statement)

    def run(self) -> int:
        self._console.print(
            "Snowmelt. Statements end with ';'. Type help for help, exit or Ctrl-D to leave.", style="dim"
        )
        try:
            self._read_until_left()
        finally:
            if "_asking" in self.__dict__:
                self._asking.close()
        return 0

    def _read_until_left(self) -> None:
        while True:
            try:
                text = self._prompt.prompt(self._message)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            try:
                self._take(text)
            except LeaveError:
                return
            except StatementStopped:
                self._console.print("The statement was stopped.", style="yellow")
            except KeyboardInterrupt:
                # Printing was cut short.
                self._console.print()
            except SnowmeltError as error:
                self._console.print(str(error), style="red", markup=False)

    def _message(self) -> StyleAndTextTuples:
        names = self._session.names
        schema = ".".join(quote(name) for name in (names.database, names.schema) if name is not None)
        return [
            ("class:prompt.names", f"{quote(names.role)}#{quote(names.warehouse or '-')}@{schema or '-'}"),
            ("class:prompt", "> "),
        ]

    def _take(self, text: str) -> None:
        if is_command(text):
            execute_command(self, text)
        elif text.strip():
            self.run_sql(text)

    # -- what commands may do --------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self._console.print(text, markup=False)

    def past(self) -> list[str]:
        return list(self._history.get_strings())

    def run_sql(self, text: str, shown: Callable[[Result], Result] = lambda result: result) -> None:
        """Runs statements, and shows of each result what `shown` gives. What ends one ends all."""
        statements = list(split_statements(text))
        for number, statement in enumerate(statements, 1):
            try:
                self._run(statement, shown)
            except SnowmeltError as error:
                where = pointed(text, error.message)
                if where is not None:
                    self._console.print(where, style="dim", markup=False, highlight=False, no_wrap=True)
                self._tell_left_out("failed", number, len(statements))
                raise
            except KeyboardInterrupt:
                self._tell_left_out("was interrupted", number, len(statements))
                raise

    def _tell_left_out(self, what: str, number: int, of: int) -> None:
        """Of several statements somebody must know which ones have an effect."""
        if number < of:
            rest = of - number
            self._console.print(f"Statement {number} of {of} {what}; the {rest} behind it did not run.", style="yellow")

    def _run(self, statement: SqlText, shown: Callable[[Result], Result]) -> None:
        began = time.monotonic()
        try:
            result = run_statement(self._session, statement)
        finally:
            if statement.text.split(None, 1)[0].upper() not in _LEAVES_NAMES:
                self._names.forget()
        seconds = time.monotonic() - began
        self._print(shown(result))
        if self.settings.timing and not self.settings.form.is_for_programs:
            rows = f"{result.row_count:,} row{'' if result.row_count == 1 else 's'}"
            self._console.print(f"{rows} in {seconds:.3f} s", style="dim")

    def _print(self, result: Result) -> None:
        console = self._console
        with console.capture() as printed:
            write_result(result, self.settings.form, console, self.settings.rows)
        text = printed.get()
        pager = shutil.which(os.environ.get("PAGER", "less").split()[0])
        if self.settings.pager and pager is not None and text.count("\n") >= console.height:
            os.environ.setdefault("LESS", _LESS)
            pydoc.pipepager(text, pager)
        else:
            console.file.write(text)
            console.file.flush()


def history_file() -> Path:
    """Where statements are kept between two prompts."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = state / "snowmelt"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / "history"
    file.touch(mode=0o600, exist_ok=True)
    return file


def _continuation(width: int, line_number: int, wrap_count: int) -> str:
    """A line that somebody began has an arrow; one that only had no room has none."""
    return ("" if wrap_count else "-> ").rjust(width)


def _keys() -> KeyBindings:
    """Enter ends what is whole, and begins a line in what is not."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys
