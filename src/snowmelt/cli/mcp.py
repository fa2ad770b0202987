"""`snowmelt mcp`: the tools for assistants, over standard input and output."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache

import typer

from snowmelt.cli.groups import DataOption, UrlOption
from snowmelt.cli.guarding import DATA, guarded
from snowmelt.cli.opening import open_session
from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports
from snowmelt.runtime.results import Executes

with lazy_imports():
    from snowmelt.assistants.server import server_of


def mcp(data: DataOption = DATA, url: UrlOption = None) -> None:
    """Serve design, lint, playbooks, lineage and SQL as tools of the Model Context Protocol, over stdio."""

    def work() -> int:
        with ExitStack() as opened:

            @cache
            def session() -> Executes:
                """Opened by the first tool that needs it: a design needs no data."""
                return opened.enter_context(open_session(data, url))

            try:
                server = server_of(session)
            except ImportError as error:
                raise errors.configuration(
                    f"The package {error.name} is missing.", hint="pip install 'snowmelt[mcp]'"
                ) from None
            server.run("stdio")
        return 0

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(mcp)
