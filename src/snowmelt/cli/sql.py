"""`snowmelt sql`: statements of an option, a file, standard input or a prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from snowmelt.cli.groups import UrlOption
from snowmelt.cli.guarding import CONFIGURATION_CODE, DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.opening import Opened
from snowmelt.cli.output import Format, is_interactive, progress, write_result
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.lazy import lazy_imports
from snowmelt.sql.tokens import split_statements

with lazy_imports():
    from snowmelt.cli.shell import run_shell


def sql(
    data: DataOption = DATA,
    query: Annotated[str | None, typer.Option("--query", "-q", help="SQL to run; several statements with ';'.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="File with SQL; '-' reads standard input.")] = None,
    url: UrlOption = None,
    form: Annotated[Format, typer.Option("--format", help="How results are printed.")] = Format.TABLE,
    database: Annotated[str | None, typer.Option(help="Database to start in.")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema to start in.")] = None,
    config: ConfigOption = None,
) -> None:
    """Run SQL: -q, -f, standard input, or an interactive prompt.

    On a data directory that a running server owns, it goes through that server.
    """
    console = Console(soft_wrap=form is not Format.TABLE)

    def work() -> int:
        settings = settings_of(data, config)
        if query is None and file is None and is_interactive():
            with Opened(data, url, settings, database, schema) as session:
                return run_shell(session, console, form)
        text = query if query is not None else _read(file)
        statements = split_statements(text)
        with Opened(data, url, settings, database, schema) as session:
            for number, statement in enumerate(statements, start=1):
                with progress(f"statement {number} of {len(statements)}"):
                    result = session.execute(statement)
                write_result(result, form, console)
        return 0

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(sql)


def _read(file: Path | None) -> str:
    if file is None or str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SnowmeltError(CONFIGURATION_CODE, "F0000", f"{file} can't be read: {error.strerror}.") from None
