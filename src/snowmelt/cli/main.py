"""`snowmelt`: the commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.console import Console

from snowmelt import __version__
from snowmelt.accounts import open_account
from snowmelt.cli.backfill import backfill_command
from snowmelt.cli.build import build_command
from snowmelt.cli.check import run_check
from snowmelt.cli.connectors import connector_commands
from snowmelt.cli.contracts import contract_commands
from snowmelt.cli.cost import run_cost
from snowmelt.cli.data_catalog import data_catalog_commands
from snowmelt.cli.demo import called_as, duration
from snowmelt.cli.design import design_commands
from snowmelt.cli.groups import Sessions, UrlOption
from snowmelt.cli.guarding import CONFIGURATION_CODE, DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.lineage import LineageFormat, run_lineage
from snowmelt.cli.lint import lint_command
from snowmelt.cli.monitoring import monitoring_commands
from snowmelt.cli.output import Format, is_interactive, progress, write_result
from snowmelt.cli.playbooks import playbook_commands
from snowmelt.cli.projects import planned, run_apply, run_plan
from snowmelt.cli.quality import quality_commands
from snowmelt.cli.serving import serve_command
from snowmelt.cli.shell import run_shell
from snowmelt.cli.upkeep import run_upkeep
from snowmelt.core.config import Settings, load_settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.logs import configure_logging
from snowmelt.demo.running import DemoOptions, run_demo
from snowmelt.runtime.account import Account
from snowmelt.runtime.ownership import current_owner
from snowmelt.runtime.results import Result
from snowmelt.serve.client import RemoteSession
from snowmelt.sql.tokens import SqlText, split_statements

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class AnySession(Protocol):
    def execute(self, text: str | SqlText) -> Result: ...

    def close(self) -> None: ...


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Snowflake-style SQL and pipelines on your own Spark and Delta Lake."""
    if version:
        typer.echo(f"snowmelt {__version__}")
        raise typer.Exit


@app.command()
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
            with _Opened(data, url, settings, database, schema) as session:
                return run_shell(session, console, form)
        text = query if query is not None else _read(file)
        statements = split_statements(text)
        with _Opened(data, url, settings, database, schema) as session:
            for number, statement in enumerate(statements, start=1):
                with progress(f"statement {number} of {len(statements)}"):
                    result = session.execute(statement)
                write_result(result, form, console)
        return 0

    raise typer.Exit(guarded(work))


@app.command()
def check(
    name: Annotated[str | None, typer.Argument(help="A dynamic table; all of them when there is none.")] = None,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Recompute dynamic tables at their data timestamp and compare. The exit code is 1 when one differs."""

    def work() -> int:
        with _Opened(data, url, settings_of(data, config), None, None) as session:
            return run_check(session.execute, Console(highlight=False), name)

    raise typer.Exit(guarded(work))


@app.command()
def cost(
    name: Annotated[str | None, typer.Argument(help="A dynamic table; all of them when there is none.")] = None,
    days: Annotated[float, typer.Option(min=0.01, help="How many days to look back.")] = 1.0,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """What dynamic tables cost a day, what full refreshes would have cost, and what to change."""

    def work() -> int:
        with _Opened(data, url, settings_of(data, config), None, None) as session:
            return run_cost(session.execute, Console(highlight=False), name, days)

    raise typer.Exit(guarded(work))


@app.command()
def upkeep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what there is to do, and do nothing.")] = False,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Put small files together, and remove files, versions and histories beyond their retention, now."""

    def work() -> int:
        with _Opened(data, url, settings_of(data, config), None, None) as session:
            return run_upkeep(session.execute, Console(highlight=False), dry_run=dry_run)

    raise typer.Exit(guarded(work))


@app.command()
def lineage(
    name: Annotated[str, typer.Argument(help="A table, view, stream or stage, or table.column.")],
    upstream: Annotated[bool, typer.Option("--upstream", help="What it is made from. The default.")] = False,
    downstream: Annotated[bool, typer.Option("--downstream", help="What depends on it.")] = False,
    distance: Annotated[int | None, typer.Option(min=1, help="How many steps; all when nothing is said.")] = None,
    form: Annotated[
        LineageFormat, typer.Option("--format", help="table, json, or a picture: mermaid, svg.")
    ] = LineageFormat.TABLE,
    data: DataOption = DATA,
    url: UrlOption = None,
    config: ConfigOption = None,
) -> None:
    """Show where a table or a column comes from, or what would be hit if it changed."""
    if upstream and downstream:
        raise typer.BadParameter("--upstream and --downstream are two questions: ask one at a time.")

    def work() -> int:
        with _Opened(data, url, settings_of(data, config), None, None) as session:
            direction = "DOWNSTREAM" if downstream else "UPSTREAM"
            return run_lineage(session.execute, Console(highlight=False), name, direction, distance, form)

    raise typer.Exit(guarded(work))


FolderArgument = Annotated[Path, typer.Argument(help="The folder with the definitions.")]
FormatOption = Annotated[Format, typer.Option("--format", help="table for people, json for programs.")]


@app.command()
def plan(
    folder: FolderArgument = Path(),
    data: DataOption = DATA,
    url: UrlOption = None,
    form: FormatOption = Format.TABLE,
    database: Annotated[str | None, typer.Option(help="Database of the project.")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema of the project.")] = None,
    config: ConfigOption = None,
) -> None:
    """Show how a folder of definitions differs from the catalog. The exit code is 2 when it does, and 0 when not."""

    def work() -> int:
        with _Opened(data, url, settings_of(data, config), None, None) as session:
            found, _ = planned(session.execute, folder, database, schema)
            return run_plan(found, form, Console(highlight=False))

    raise typer.Exit(guarded(work))


@app.command()
def apply(
    folder: FolderArgument = Path(),
    data: DataOption = DATA,
    url: UrlOption = None,
    form: FormatOption = Format.TABLE,
    database: Annotated[str | None, typer.Option(help="Database of the project.")] = None,
    schema: Annotated[str | None, typer.Option(help="Schema of the project.")] = None,
    allow_drop: Annotated[
        bool, typer.Option("--allow-drop", help="Drop what the project created and no longer defines.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Make the catalog what a folder of definitions says. Run again after an interruption, it goes on."""

    def confirm(question: str) -> bool:
        return is_interactive() and typer.confirm(question)

    def work() -> int:
        with _Opened(data, url, settings_of(data, config), None, None) as session:
            found, catalog = planned(session.execute, folder, database, schema)
            console = Console(highlight=False)
            return run_apply(found, catalog, form, console, allow_drop=allow_drop, confirm=confirm)

    raise typer.Exit(guarded(work))


serve_command(app)


@app.command()
def demo(
    data: Annotated[Path, typer.Option("--data", help="Folder that keeps the demo's data.")] = Path("snowmelt-demo"),
    length: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long the shop is open: 90s, 2m.")
    ] = "60s",
    rate: Annotated[float, typer.Option(help="Transactions a second in the shop.", min=0.1, max=1000)] = 40,
) -> None:
    """A live PostgreSQL shop: captured, kept as a dimension, summed up, watched, and checked at the end."""
    lasting = duration(length)

    def work() -> int:
        settings = load_settings(data)
        # What goes wrong is part of the picture, which lines of a log would tear apart.
        level = settings.log_level if "log_level" in settings.model_fields_set else "ERROR"
        configure_logging(level, as_json=settings.log_json)
        return run_demo(Console(highlight=False), DemoOptions(data, lasting, rate, called_as()), settings)

    raise typer.Exit(guarded(work))


class _Opened:
    """A session in this process, or on the server that owns the directory."""

    def __init__(
        self, data: Path, url: str | None, settings: Settings, database: str | None, schema: str | None
    ) -> None:
        self._account: Account | None = None
        names = {"database": database, "schema": schema}
        if url is not None:
            password = os.environ.get("SNOWMELT_ADMIN_PASSWORD") or _ask_password(url)
            self.session: AnySession = RemoteSession.with_password(url, password, **names)
            return
        path = data.expanduser().resolve()
        owner = current_owner(path)
        if owner is not None and owner.url is not None:
            self.session = RemoteSession.of_directory(owner.url, path, **names)
            return
        self._account = open_account(path, settings=settings)
        self.session = self._account.session(database=database, schema=schema)

    def __enter__(self) -> AnySession:
        return self.session

    def __exit__(self, *_: object) -> None:
        self.session.close()
        if self._account is not None:
            self._account.close()


def _ask_password(url: str) -> str:
    if not is_interactive():
        return ""
    return str(typer.prompt(f"Password of admin at {url}", hide_input=True))


def _read(file: Path | None) -> str:
    if file is None or str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SnowmeltError(CONFIGURATION_CODE, "F0000", f"{file} can't be read: {error.strerror}.") from None


def _open(data: Path, url: str | None) -> _Opened:
    return _Opened(data, url, settings_of(data, None), None, None)


app.add_typer(connector_commands(_open, guarded), name="connector")
app.add_typer(contract_commands(_open, guarded), name="contract")
app.add_typer(data_catalog_commands(_open, guarded), name="catalog")
app.add_typer(quality_commands(_open, guarded), name="quality")
app.add_typer(monitoring_commands(), name="monitoring")
app.add_typer(design_commands(guarded), name="design")
lint_command(app, Sessions(_open, guarded))
build_command(app, guarded)
app.add_typer(playbook_commands(_open, guarded), name="playbook")
backfill_command(app, _open, guarded)
