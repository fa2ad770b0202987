"""`snowmelt catalog …`: what an account offers, searched and as pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import DataOption, FormatOption, Guard, Opener, SessionCommands, UrlOption
from snowmelt.cli.guarding import DATA, guarded
from snowmelt.cli.opening import open_session
from snowmelt.cli.output import Format
from snowmelt.govern.data_catalog.model import CatalogSnapshot
from snowmelt.govern.data_catalog.searching import search as search_snapshot
from snowmelt.govern.data_catalog.site import pages
from snowmelt.runtime.results import Executes

EXIT_NOTHING = 1


def data_catalog_commands(opened: Opener, guarded: Guard) -> typer.Typer:
    """The group of commands; what opens a session and what reports errors is the caller's."""
    group = typer.Typer(no_args_is_help=True, help="Find data products, contracts, tables and columns.")

    sessions = SessionCommands(opened, guarded)

    @group.command()
    def search(
        words: Annotated[list[str], typer.Argument(help="Words to search for; all of them must occur.")],
        data: DataOption = DATA,
        url: UrlOption = None,
        limit: Annotated[int, typer.Option(help="The most results to show.")] = 30,
    ) -> None:
        """Search names, columns and descriptions. The exit code is 1 when nothing is found."""
        sessions.run(data, url, lambda session: _search(_snapshot(session), " ".join(words), limit))

    @group.command()
    def build(
        output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.")],
        data: DataOption = DATA,
        url: UrlOption = None,
    ) -> None:
        """Write the data catalog as a site of static pages."""
        sessions.run(data, url, lambda session: _build(_snapshot(session), output))

    @group.command()
    def products(data: DataOption = DATA, url: UrlOption = None, form: FormatOption = Format.TABLE) -> None:
        """List all data products of the account."""
        sessions.show(data, url, "SHOW DATA PRODUCTS IN ACCOUNT", form)

    return group


def _snapshot(session: Executes) -> CatalogSnapshot:
    return CatalogSnapshot.from_json(session.execute("SELECT SYSTEM$CATALOG_SNAPSHOT()").rows()[0][0])


def _search(snapshot: CatalogSnapshot, words: str, limit: int) -> int:
    found = search_snapshot(snapshot, words)
    table = Table("kind", "name", "column", "found in", box=SIMPLE_HEAD, pad_edge=False)
    for hit in found[:limit]:
        table.add_row(hit.kind.lower(), hit.item.full_name, hit.column or "", hit.text)
    output_console().print(table if found else f"Nothing has '{words}'.", markup=False)
    return 0 if found else EXIT_NOTHING


def _build(snapshot: CatalogSnapshot, folder: Path) -> int:
    written = pages(snapshot)
    for name, text in written.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    typer.echo(f"{len(written)} files in {folder}")
    return 0


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    app.add_typer(data_catalog_commands(open_session, guarded), name="catalog")
