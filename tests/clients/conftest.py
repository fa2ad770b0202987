"""Clients with their real packages, each in a process of its own, against one server in this process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snowmelt.runtime.account import Account
from tests.clients.environments import client_command, client_environment, node_modules
from tests.clients.server import PASSWORD, serving
from tests.support.slt import drop_database
from tests.support.waiting import DEADLINE

collect_ignore_glob = ["suites/*"]
"""They run in the clients' own environments."""
Client = Callable[..., subprocess.CompletedProcess[str]]
Snow = Callable[..., str]
NODE = Path(__file__).parent / "node"


@pytest.fixture(scope="session")
def door(account: Account) -> Iterator[int]:
    """The port of the server."""
    with serving(account) as port:
        yield port


@pytest.fixture
def database(account: Account, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database for one test."""
    name = f"CLIENT_{abs(hash(request.node.nodeid)) % 10**9}"
    session = account.session()
    session.execute(f"CREATE DATABASE {name}")
    session.close()
    yield name
    drop_database(account, name)


@pytest.fixture
def client(door: int, database: str, tmp_path: Path) -> Client:
    """Runs a client's command: the environment's name, the program in it, its arguments."""

    def run(
        environment: str, program: str, *arguments: str, cwd: Path = tmp_path, deadline: float = DEADLINE,
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        command = [str(client_command(environment, program)), *arguments]
        given = client_environment() | {
            "HOME": str(tmp_path),
            "SNOWMELT_PORT": str(door),
            "SNOWMELT_ADMIN_PASSWORD": PASSWORD,
            "SNOWMELT_DATABASE": database,
            **variables,
        }
        return subprocess.run(
            command,
            cwd=cwd,
            env=given,
            capture_output=True,
            text=True,
            timeout=deadline,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.fixture
def snow(client: Client, door: int, database: str, tmp_path: Path) -> Snow:
    """Runs Snowflake's command line with a connection to the server, and gives the JSON that it prints."""
    config = tmp_path / "config.toml"
    settings = {
        "account": "snowmelt", "host": "127.0.0.1", "port": door, "protocol": "http", "user": "admin",
        "password": PASSWORD, "database": database, "schema": "PUBLIC", "warehouse": "COMPUTE_WH",
    }  # fmt: skip
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    config.write_text("\n".join(["[connections.local]", *lines]), encoding="utf-8")
    config.chmod(0o600)

    def run(*arguments: str) -> str:
        return passed(
            client("snow", "snow", "--config-file", str(config), *arguments, "-c", "local", "--format", "json")
        )

    return run


def node(program: str, port: int, database: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs one of the programs for Node.js."""
    given = {"SNOWMELT_PORT": str(port), "SNOWMELT_ADMIN_PASSWORD": PASSWORD, "SNOWMELT_DATABASE": database}
    return subprocess.run(
        ["node", str(node_modules(NODE) / program)], env=client_environment() | given | variables, capture_output=True,
        text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip


def passed(done: subprocess.CompletedProcess[str]) -> str:
    """The client's output, once it says that all went well."""
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout
