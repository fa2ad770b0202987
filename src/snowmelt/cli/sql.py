"""`snowmelt sql`: statements of an option, a file, standard input or a prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import UrlOption
from snowmelt.cli.guarding import DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.logging_in import KeyOption, LogIn, TokenOption, UserOption
from snowmelt.cli.opening import AnySession, OpenedSession, StartNames
from snowmelt.cli.output import SHOWN_ROWS, Format, is_interactive, write_result
from snowmelt.cli.running import run_statement
from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports
from snowmelt.sql.tokens import split_statements

with lazy_imports():
    from snowmelt.cli.prompt import shell


def sql(
    data: DataOption = DATA,
    query: Annotated[str | None, typer.Option("--query", "-q", help="SQL to run; several statements with ';'.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="File with SQL; '-' reads standard input.")] = None,
    url: UrlOption = None,
    form: Annotated[Format, typer.Option("--format", help="How results are printed.")] = Format.TABLE,
    rows: Annotated[str, typer.Option(help="The most rows to print as a table, or 'all'.")] = str(SHOWN_ROWS),
    user: UserOption = None,
    token_file: TokenOption = None,
    private_key: KeyOption = None,
    role: Annotated[str | None, typer.Option(help="Role to start with.")] = None,
    warehouse: Annotated[str | None, typer.Option(help="Warehouse to start with.")] = None,
    database: Annotated[str | None, typer.Option(help="Database to start in.")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema to start in.")] = None,
    config: ConfigOption = None,
) -> None:
    """Run SQL: -q, -f, standard input, or an interactive prompt.

    On a data directory that a running server owns, it goes through that server. With --url it logs in, by the password
    in SNOWMELT_PASSWORD, the access token in SNOWMELT_TOKEN or --token-file, or the key in --private-key.
    """

    def work() -> int:
        most = read_rows(rows)
        start = StartNames(role, warehouse, database, schema)
        log_in = LogIn(user, token_file, private_key)
        prompts = query is None and file is None and is_interactive()
        text = "" if prompts else query if query is not None else _read(file)
        opened = OpenedSession(data, url, settings_of(data, config), start, log_in)
        with opened as session:
            return shell.Shell(opened, form, most).run() if prompts else _run_script(session, text, form, most)

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(sql)


def read_rows(text: str) -> int | None:
    """A number of rows, or None for all."""
    if text.strip().lower() == "all":
        return None
    if not text.strip().isdecimal():
        raise errors.configuration(f"Rows are a number or 'all'. Got: {text}")
    return int(text)


def _run_script(session: AnySession, text: str, form: Format, most: int | None) -> int:
    statements = split_statements(text)
    console = output_console(soft_wrap=form.is_for_programs)
    for number, statement in enumerate(statements, start=1):
        result = run_statement(session, statement, f"statement {number} of {len(statements)}")
        write_result(result, form, console, most)
    return 0


def _read(file: Path | None) -> str:
    if file is None or str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise errors.configuration(f"{file} can't be read: {why}.") from None
