"""What groups of commands share: options, and statements in a session that somebody else opens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.consoles import output_console
from snowmelt.cli.output import Format, write_result
from snowmelt.runtime.results import Executes

DataOption = Annotated[Path, typer.Option("--data", help="Data directory.", envvar="SNOWMELT_DATA")]
UrlOption = Annotated[str | None, typer.Option("--url", help="Address of a running server.", envvar="SNOWMELT_URL")]
FormatOption = Annotated[Format, typer.Option("--format", help="How results are printed.")]


Opener = Callable[[Path, str | None], AbstractContextManager[Executes]]
Guard = Callable[[Callable[[], int]], int]
"""Runs a command, and turns what it raises into a message and an exit code."""


@dataclass(frozen=True, slots=True)
class SessionCommands:
    opened: Opener
    guarded: Guard

    def run(self, data: Path, url: str | None, work: Callable[[Executes], int]) -> None:
        """Ends the command with the exit code that the work returns."""

        def inside() -> int:
            with self.opened(data, url) as session:
                return work(session)

        raise typer.Exit(self.guarded(inside))

    def show(self, data: Path, url: str | None, statement: str, form: Format = Format.TABLE) -> None:
        """Ends the command with the statement's result printed."""

        def work(session: Executes) -> int:
            write_result(session.execute(statement), form, output_console(soft_wrap=form.is_for_programs))
            return 0

        self.run(data, url, work)
