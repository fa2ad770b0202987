"""Where the server listens, and with what."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.service.account import Account
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


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
@pytest.mark.parametrize("environment", ["python4", "python5"])
def test_tls(client: Client, account: Account, tmp_path: Path, environment: str) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *names], check=True, capture_output=True)
    trusted = {"REQUESTS_CA_BUNDLE": str(certificate), "SSL_CERT_FILE": str(certificate)}
    with serving(account, tls=(certificate, key)) as port:
        done = client(environment, "python", str(SUITES / "encrypted.py"), SNOWMELT_PORT=str(port), **trusted)
    assert passed(done).strip() == "encrypted"
