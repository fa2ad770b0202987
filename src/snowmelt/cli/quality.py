"""`snowmelt quality …`: run the quality checks of tables, and report what they said."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from snowmelt.cli.connectors import DataOption, FormatOption, Guard, Opener, UrlOption
from snowmelt.cli.output import Format, write_result
from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.govern.quality import documents
from snowmelt.service.results import Result

EXIT_FAILED = 1
_DATA = Path("snowmelt-data")
_HISTORY = "SELECT * FROM TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY(RESULT_LIMIT => {limit}))"
TablesArgument = Annotated[
    list[str] | None, typer.Argument(help="DATABASE.SCHEMA.TABLE, or less; without one, all tables that have checks.")
]


def quality_commands(opened: Opener, guarded: Guard) -> typer.Typer:
    """The group of commands; what opens a session and what reports errors is the caller's."""
    group = typer.Typer(no_args_is_help=True, help="Check the quality of tables.")

    @group.command()
    def run(
        tables: TablesArgument = None,
        data: DataOption = _DATA,
        url: UrlOption = None,
        form: FormatOption = Format.TABLE,
    ) -> None:
        """Run all checks over all rows; 1 when one fails whose severity is not WARN."""

        def work() -> int:
            failed = 0
            with opened(data, url) as session:
                for table in tables or _checked(session.execute("SHOW QUALITY CHECKS IN ACCOUNT")):
                    result = session.execute(f"EXECUTE QUALITY CHECKS ON {table}")
                    write_result(result, form, Console(soft_wrap=form is not Format.TABLE))
                    failed += _failed(result)
            return EXIT_FAILED if failed else 0

        raise typer.Exit(guarded(work))

    @group.command()
    def apply(
        file: Annotated[Path, typer.Argument(help="YAML file with the checks of tables.")],
        data: DataOption = _DATA,
        url: UrlOption = None,
    ) -> None:
        """Declare the checks of a file; those of the same name are replaced, others stay."""

        def work() -> int:
            declared = documents.statements(_read(file))
            with opened(data, url) as session:
                for statement in declared:
                    session.execute(statement)
            Console().print(f"{len(declared)} quality checks declared.")
            return 0

        raise typer.Exit(guarded(work))

    @group.command()
    def report(
        limit: Annotated[int, typer.Option(help="So many results, the latest first.")] = 100,
        data: DataOption = _DATA,
        url: UrlOption = None,
        form: FormatOption = Format.TABLE,
    ) -> None:
        """Show the latest results of writes and runs; 1 when one of them failed whose severity is not WARN."""

        def work() -> int:
            with opened(data, url) as session:
                result = session.execute(_HISTORY.format(limit=limit))
            write_result(result, form, Console(soft_wrap=form is not Format.TABLE))
            return EXIT_FAILED if _failed(result) else 0

        raise typer.Exit(guarded(work))

    @group.command(name="list")
    def show(data: DataOption = _DATA, url: UrlOption = None, form: FormatOption = Format.TABLE) -> None:
        """List all checks of the account, each with its last result."""

        def work() -> int:
            with opened(data, url) as session:
                result = session.execute("SHOW QUALITY CHECKS IN ACCOUNT")
            write_result(result, form, Console(soft_wrap=form is not Format.TABLE))
            return 0

        raise typer.Exit(guarded(work))

    return group


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise errors.configuration(f"{file} can't be read: {error.strerror}.") from None


def _checked(listed: Result) -> list[str]:
    """The tables that SHOW QUALITY CHECKS names, each once."""
    places = {column.name: index for index, column in enumerate(listed.columns)}
    parts = [places[name] for name in ("database_name", "schema_name", "table_name")]
    return list(dict.fromkeys(".".join(quote(row[index]) for index in parts) for row in listed.rows()))


def _failed(result: Result) -> int:
    places = {column.name: index for index, column in enumerate(result.columns)}
    status, severity = places["STATUS"], places["SEVERITY"]
    return sum(row[status] != "PASSED" and row[severity] != "WARN" for row in result.rows())
