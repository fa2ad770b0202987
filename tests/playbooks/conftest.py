"""Playbooks against a server on the tests' own account."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.clients.server import PASSWORD, serving

Command = Callable[..., Result]


@pytest.fixture(scope="session")
def url(account: Account) -> Iterator[str]:
    with serving(account) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def database(session: Session) -> str:
    """The test's own; `session` is in it, too."""
    return str(session.database)


@pytest.fixture
def snowmelt(url: str, tmp_path: Path) -> Command:
    """Runs `snowmelt …` as a user does, with journals in a folder of the test."""

    def call(*arguments: str) -> Result:
        environment = {
            "SNOWMELT_ADMIN_PASSWORD": PASSWORD, "SNOWMELT_URL": url, "SNOWMELT_RUNS": str(tmp_path / "runs"),
            "COLUMNS": "200",
        }  # fmt: skip
        return CliRunner().invoke(app, arguments, env=environment, catch_exceptions=False)

    return call


@pytest.fixture
def playbook(snowmelt: Command, database: str) -> Command:
    """`snowmelt playbook run NAME` in the test's database, with inputs by name."""

    def run(name: str, *arguments: str, **inputs: str) -> Result:
        given = [part for key, value in inputs.items() for part in ("-i", f"{key}={value}")]
        return snowmelt("playbook", "run", name, *given, "--database", database, *arguments)

    return run
