"""`snowmelt serve`, which imports nothing that only other commands need: a server is to be back soon.

What the server itself needs is imported when Spark's process has been started, which takes as long.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.guarding import DATA, ConfigOption, DataOption, guarded, settings_of
from snowmelt.cli.imports import import_quickly
from snowmelt.serve.address import Address
from snowmelt.serve.beginning import begin


def serve(
    data: DataOption = DATA,
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8085,
    host: Annotated[str, typer.Option(help="Address to listen on. Other machines can't reach a loopback address.")] = (
        "127.0.0.1"
    ),
    certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="PEM file with the server's certificate.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", help="PEM file with the certificate's key.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen on a network without TLS: anybody on the way can read passwords.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Serve a data directory to Snowflake's clients until stopped with Ctrl-C."""
    address = Address(port, host, certificate, key, insecure)

    def work() -> int:
        settings = settings_of(data, config)
        address.check()
        begun = begin(data, settings)
        running = import_quickly("snowmelt.serve.run")
        mounts = import_quickly("snowmelt.assistants.at_server").mount_assistants
        announce = partial(print, flush=True)
        running.serve(begun, address, announce=announce, mounts=mounts, at_terminal=sys.stdout.isatty())
        return 0

    raise typer.Exit(guarded(work))


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command()(serve)
