"""Snowflake's connector for Python, both generations: one suite, run in each one's own environment."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from snowmelt.runtime.account import Account
from snowmelt.serve.protocol.sessions import Lifetimes
from tests.clients.conftest import Client, passed
from tests.clients.server import serving

SUITES = Path(__file__).parent / "suites"
GENERATIONS = pytest.mark.parametrize("environment", ["python4", "python5"])


@GENERATIONS
def test_what_code_relies_on(client: Client, environment: str) -> None:
    passed(
        client(
            environment,
            "python",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(SUITES / "test_connector_behaviour.py"),
        )
    )


@GENERATIONS
def test_an_expired_token_is_renewed_without_the_users_help(client: Client, account: Account, environment: str) -> None:
    short = Lifetimes(session=timedelta(seconds=1), master=timedelta(minutes=5))
    with serving(account, short) as port:
        done = client(environment, "python", str(SUITES / "long_connection.py"), SNOWMELT_PORT=str(port))
    assert passed(done).strip() == "kept"


@GENERATIONS
def test_a_long_query_is_asked_for_again_and_again(client: Client, account: Account, environment: str) -> None:
    with serving(account, held=0.2) as port:
        done = client(environment, "python", str(SUITES / "slow_query.py"), SNOWMELT_PORT=str(port))
    assert passed(done).strip() == "waited 2 seconds"
