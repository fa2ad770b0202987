"""`snowmelt quality …`: run the quality checks of tables, and report what they said."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import DataOption, FormatOption, Guard, Opener, SessionCommands, UrlOption
from snowmelt.cli.guarding import DATA, guarded
from snowmelt.cli.opening import open_session
from snowmelt.cli.output import Format, write_result
from snowmelt.core import errors
from snowmelt.govern.quality import documents, great_expectations, soda
from snowmelt.govern.quality.imported import Imported
from snowmelt.runtime.results import Executes, Result
from snowmelt.sql.statements.spelling import spelled

EXIT_FAILED = 1
_HISTORY = "SELECT * FROM TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY(RESULT_LIMIT => {limit}))"
TablesArgument = Annotated[
    list[str] | None,
    typer.Argument(help="TABLE, SCHEMA.TABLE or DATABASE.SCHEMA.TABLE; if not given, all with checks."),
]


def quality_commands(opened: Opener, guarded: Guard) -> typer.Typer:
    """The group of commands; what opens a session and what reports errors is the caller's."""
    group = typer.Typer(no_args_is_help=True, help="Check the quality of tables.")
    sessions = SessionCommands(opened, guarded)

    @group.command()
    def run(
        tables: TablesArgument = None,
        data: DataOption = DATA,
        url: UrlOption = None,
        form: FormatOption = Format.TABLE,
    ) -> None:
        """Run all checks over all rows; 1 when one fails whose severity is not WARN."""

        def work(session: Executes) -> int:
            failed = 0
            for table in tables or _checked(session.execute("SHOW QUALITY CHECKS IN ACCOUNT")):
                result = session.execute(f"EXECUTE QUALITY CHECKS ON {table}")
                write_result(result, form, output_console(soft_wrap=form.is_for_programs))
                failed += _failed(result)
            return EXIT_FAILED if failed else 0

        sessions.run(data, url, work)

    @group.command()
    def apply(
        file: Annotated[Path, typer.Argument(help="YAML file with the checks of tables.")],
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Declare the checks of a file; those of the same name are replaced, others stay."""

        def work(session: Executes) -> int:
            declared = documents.statements(_read(file))
            for statement in declared:
                session.execute(statement)
            output_console().print(f"{len(declared)} quality checks declared.")
            return 0

        sessions.run(data, url, work)

    @group.command(name="import")
    def import_(
        file: Annotated[Path, typer.Argument(help="A suite of Great Expectations (.json), or checks of Soda (YAML).")],
        table: Annotated[str | None, typer.Option(help="The table that a suite is about.")] = None,
        schema: Annotated[
            str | None, typer.Option(help="DATABASE.SCHEMA of the tables that a file of Soda names.")
        ] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the statements, and declare nothing.")] = False,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Declare checks of another tool; 1 when there are some, which are listed, that have no counterpart."""

        def work(session: Executes) -> int:
            found = _imported(file, table, schema)
            console = Console(soft_wrap=True, markup=False, highlight=False)
            for statement in found.statements:
                if dry_run:
                    console.print(f"{statement};")
                else:
                    session.execute(statement)
            if not dry_run:
                console.print(f"{len(found.statements)} quality checks declared.")
            for item in found.unmapped:
                console.print(f"-- not taken over: {item.name}: {item.why}")
            return EXIT_FAILED if found.unmapped else 0

        sessions.run(data, url, work)

    @group.command()
    def replay(
        table: Annotated[str, typer.Argument(help="TABLE, SCHEMA.TABLE or DATABASE.SCHEMA.TABLE.")],
        where: Annotated[str | None, typer.Option(help="A condition: only these quarantined rows.")] = None,
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Put quarantined rows into their table; those that fail still come back."""
        chosen = f" WHERE {where}" if where is not None else ""
        sessions.show(data, url, f"ALTER TABLE {table} REPLAY QUARANTINE{chosen}", Format.TABLE)

    @group.command()
    def report(
        limit: Annotated[int, typer.Option(help="The most results to show; the newest come first.")] = 100,
        data: DataOption = DATA,
        url: UrlOption = None,
        form: FormatOption = Format.TABLE,
    ) -> None:
        """Show the latest results of writes and runs; 1 when one of them failed whose severity is not WARN."""

        def work(session: Executes) -> int:
            result = session.execute(_HISTORY.format(limit=limit))
            write_result(result, form, output_console(soft_wrap=form.is_for_programs))
            return EXIT_FAILED if _failed(result) else 0

        sessions.run(data, url, work)

    @group.command(name="list")
    def show(data: DataOption = DATA, url: UrlOption = None, form: FormatOption = Format.TABLE) -> None:
        """List all checks of the account, each with its last result."""
        sessions.show(data, url, "SHOW QUALITY CHECKS IN ACCOUNT", form)

    return group


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise errors.configuration(f"{file} can't be read: {error.strerror}.") from None


def _imported(file: Path, table: str | None, schema: str | None) -> Imported:
    text = _read(file)
    if file.suffix.lower() != ".json":
        return soda.imported(text, schema)
    if table is None:
        raise errors.configuration("A suite of Great Expectations names no table.", hint="Say which: --table.")
    return great_expectations.imported(text, table)


def _checked(listed: Result) -> list[str]:
    """The tables that SHOW QUALITY CHECKS names, each once."""
    indexes = {column.name: index for index, column in enumerate(listed.columns)}
    parts = [indexes[name] for name in ("database_name", "schema_name", "table_name")]
    return list(dict.fromkeys(".".join(spelled(row[index]) for index in parts) for row in listed.rows()))


def _failed(result: Result) -> int:
    indexes = {column.name: index for index, column in enumerate(result.columns)}
    status, severity = indexes["STATUS"], indexes["SEVERITY"]
    return sum(row[status] != "PASSED" and row[severity] != "WARN" for row in result.rows())


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    app.add_typer(quality_commands(open_session, guarded), name="quality")
