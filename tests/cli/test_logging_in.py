"""`snowmelt sql --url`: who logs in, with what, and what is said when that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from typer.testing import CliRunner, Result

from snowmelt.accounts import open_account
from snowmelt.cli.main import app
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.cli.terminal import Terminal
from tests.crash.test_processes import small_spark
from tests.serve.callers import ADMIN_PASSWORD, PASSWORD, Serving, served
from tests.support.waiting import DEADLINE

WHO = "SELECT CURRENT_USER() AS u, CURRENT_ROLE() AS r, CURRENT_DATABASE() AS d, CURRENT_WAREHOUSE() AS w"
Call = Callable[..., Result]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with open_account(tmp_path_factory.mktemp("served")) as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        account.session().execute_script(
            f"CREATE ROLE analyst; CREATE USER ann PASSWORD = '{PASSWORD}' DEFAULT_ROLE = analyst;"
            "GRANT ROLE analyst TO USER ann; CREATE DATABASE sales; GRANT USAGE ON DATABASE sales TO ROLE analyst;"
            "CREATE WAREHOUSE small; GRANT USAGE ON WAREHOUSE small TO ROLE analyst"
        )
        with served(HttpServer(account, credentials)) as answering:
            yield answering


@pytest.fixture
def call(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> Call:
    for name in ("PASSWORD", "ADMIN_PASSWORD", "TOKEN", "USER", "URL"):
        monkeypatch.delenv(f"SNOWMELT_{name}", raising=False)

    def run(*arguments: str, query: str = WHO, **variables: str) -> Result:
        command = ["sql", "--url", serving.url, "--format", "csv", "-q", query, *arguments]
        return CliRunner().invoke(app, command, env={f"SNOWMELT_{key}": value for key, value in variables.items()})

    return run


def test_the_administrator_and_a_user_by_password(call: Call) -> None:
    assert call(ADMIN_PASSWORD=ADMIN_PASSWORD).stdout.splitlines()[1].startswith("ADMIN,ACCOUNTADMIN,")
    told = call("--user", "ann", "--database", "sales", "--warehouse", "Small", PASSWORD=PASSWORD)
    assert told.stdout.splitlines()[1] == "ANN,ANALYST,SALES,SMALL"


def test_a_user_by_token_and_by_key(call: Call, serving: Serving, tmp_path: Path) -> None:
    token = tmp_path / "token"
    made = serving.admin().execute("ALTER USER ann ADD PROGRAMMATIC ACCESS TOKEN prompt ROLE_RESTRICTION = 'ANALYST'")
    token.write_text(f"{dict(zip([c.name for c in made.columns], made.rows()[0], strict=True))['token_secret']}\n")
    assert call("--token-file", str(token)).stdout.splitlines()[1].startswith("ANN,ANALYST,")
    assert call(TOKEN=token.read_text()).stdout.splitlines()[1].startswith("ANN,ANALYST,")

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    public = key.public_key().public_bytes(serialization.Encoding.PEM, spki).decode()
    serving.admin().execute(f"ALTER USER ann SET RSA_PUBLIC_KEY = '{''.join(public.splitlines()[1:-1])}'")
    locked = serialization.BestAvailableEncryption(b"a phrase")
    pem = tmp_path / "key.pem"
    pem.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked))
    asked = ("--user", "ann", "--private-key", str(pem))
    assert call(*asked, PRIVATE_KEY_PASSPHRASE="a phrase").stdout.splitlines()[1].startswith("ANN,ANALYST,")
    for phrase in ({}, {"PRIVATE_KEY_PASSPHRASE": "another"}):
        refused = call(*asked, **phrase)
        assert refused.exit_code == 3
        assert "SNOWMELT_PRIVATE_KEY_PASSPHRASE is missing or wrong" in refused.stderr


def test_a_missing_and_a_wrong_password_are_told_apart(call: Call) -> None:
    missing = call("--user", "ann")
    assert missing.exit_code == 3
    assert "There is no password for ann" in missing.stderr and "SNOWMELT_PASSWORD" in missing.stderr
    wrong = call("--user", "ann", PASSWORD="guess")
    assert wrong.exit_code == 1
    assert "refused the password of ann" in wrong.stderr and "SNOWMELT_PASSWORD" in wrong.stderr
    assert "guess" not in wrong.stderr


def test_what_does_not_exist_is_refused_before_anything_runs(call: Call) -> None:
    refused = call("--database", "nowhere", query="CREATE TABLE sales.public.t (a INT)", ADMIN_PASSWORD=ADMIN_PASSWORD)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "NOWHERE" in refused.stderr


def test_nobody_logs_in_to_a_directory(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["sql", "--data", str(tmp_path / "d"), "--user", "ann", "-q", "SELECT 1"])
    assert told.exit_code == 3
    assert "everybody who can read its files" in told.stderr
    assert not (tmp_path / "d").exists()


def test_a_pipe_has_no_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    query = "SELECT REPEAT('x', 300) AS a, REPEAT('y', 300) AS b"
    told = CliRunner().invoke(app, ["sql", "--data", str(tmp_path / "d"), "-q", query])
    assert any("x" * 300 in line and "y" * 300 in line for line in told.stdout.splitlines())


def test_rows_that_are_shown(tmp_path: Path) -> None:
    query = "SELECT SEQ4() AS n FROM TABLE(GENERATOR(ROWCOUNT => 1005))"

    def lines(*arguments: str) -> list[str]:
        command = ["sql", "--data", str(tmp_path / "d"), "-q", query, *arguments]
        return [line.strip() for line in CliRunner().invoke(app, command).stdout.splitlines()]

    assert "5 more rows" in lines()[-1]
    assert [line for line in lines("--rows", "all") if line][-1] == "1004"
    assert "1,003 more rows" in lines("--rows", "2")[-1]
    assert len(lines("--format", "csv")) == 1006
    wrong = CliRunner().invoke(app, ["sql", "--data", str(tmp_path / "d"), "-q", "SELECT 1", "--rows", "x"])
    assert wrong.exit_code == 3


@pytest.mark.slow
def test_a_server_in_a_terminal_prints_an_address_that_logs_in_once(tmp_path: Path) -> None:
    config = small_spark(tmp_path / "snowmelt.toml")
    arguments = ("serve", "--data", str(tmp_path / "data"), "--port", "0", "--config", str(config))
    with Terminal(*arguments, home=tmp_path) as terminal:
        address, link = terminal.see(r"In a browser: (http://[\w.:]+)/#link=(\S+)").groups()
        path, sent = f"{address}/api/v1/console/session", {"link": link}
        opened = [httpx.post(path, json=sent, timeout=DEADLINE) for _ in range(2)]
        assert [answer.status_code for answer in opened] == [200, 401]
        assert opened[0].json()["user"] == "ADMIN"
        terminal.type("\x03")
        terminal.ended()
        assert "Traceback" not in terminal.text
