"""Where the server listens, and with what."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.runtime.account import Account
from tests.clients.certificates import make_certificate
from tests.clients.conftest import Client, passed
from tests.clients.server import serving

SUITES = Path(__file__).parent / "suites"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--tls-certificate"),
        (["--host", "192.0.2.1", "--tls-certificate", "here.pem"], "both files"),
        (["--tls-certificate", "no.pem", "--tls-key", "no.pem"], "does not exist"),
    ],
)
def test_nothing_listens_where_passwords_could_be_read(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["serve", "--data", str(tmp_path / "data"), *arguments])
    assert done.exit_code == 3
    assert said in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("environment", ["python4", "python5"])
def test_tls(client: Client, account: Account, tmp_path: Path, environment: str) -> None:
    certificate, key, authority = make_certificate(tmp_path)
    trusted = {"REQUESTS_CA_BUNDLE": str(authority), "SSL_CERT_FILE": str(authority)}
    with serving(account, tls=(certificate, key)) as port:
        done = client(environment, "python", str(SUITES / "encrypted.py"), SNOWMELT_PORT=str(port), **trusted)
    assert passed(done).strip() == "encrypted"
