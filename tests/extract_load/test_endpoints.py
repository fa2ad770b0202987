"""connections.yaml: secrets come from the environment only, and are shown nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import LoadStrategy, SourceUnavailableError, make_extractor, make_loader, read_endpoints
from tests.features.connectors.kafka_stack import free_port

FILE = """
shop: {kind: postgres, address: "${SHOP_URL}"}
partner: {kind: sftp, address: "sftp://me@host/out", password: "${PASSWORD}", port: 22}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "connections.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_references_are_filled_in_and_not_shown(tmp_path: Path) -> None:
    found = read_endpoints(write(tmp_path, FILE), {"SHOP_URL": "postgresql://u:s3cr3t@h/d", "PASSWORD": "s3cr3t"})
    assert found["shop"].where() == "postgresql://u:s3cr3t@h/d"
    assert found["partner"].settings() == {"password": "s3cr3t", "port": "22"}
    assert "s3cr3t" not in f"{found!r} {found}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [(FILE, "SHOP_URL"), ("a: {kind: sftp, address: x, password: s3cr3t}", "secret in the file: password"),
     ("a: {kind: postgres, address: 'postgresql://u:s3cr3t@h/d'}", "secret in the file: address"),
     ("a: {kind: api, address: x, token: s3cr3t}", "secret in the file: token"), ("a: {kind: files}", "address"),
     ("a: 1", "must have a kind"), ("- a", "one entry"), ("a: [", "not valid YAML")],
)  # fmt: skip
def test_what_is_wrong_is_told_without_the_secret(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(SnowmeltError, match=problem) as told:
        read_endpoints(write(tmp_path, text), {})
    assert "s3cr3t" not in str(told.value)


def test_a_database_that_is_away_may_come_back(tmp_path: Path) -> None:
    for kind, scheme in (("postgres", "postgresql"), ("mysql", "mysql")):
        entry = f'shop: {{kind: {kind}, address: "${{URL}}"}}'
        address = f"{scheme}://me:s3cr3t@127.0.0.1:{free_port()}/shop"
        endpoint = read_endpoints(write(tmp_path, entry), {"URL": address})["shop"]
        with pytest.raises(SourceUnavailableError) as away:
            list(make_extractor(endpoint, "orders").extract(None))
        assert away.value.transient and "s3cr3t" not in str(away.value)


def test_kinds_that_are_none_are_refused(tmp_path: Path) -> None:
    endpoint = read_endpoints(write(tmp_path, "a: {kind: fax, address: x}"), {})["a"]
    with pytest.raises(SnowmeltError, match="no source of kind fax"):
        make_extractor(endpoint, "orders")
    with pytest.raises(SnowmeltError, match="no destination of kind fax"):
        make_loader(endpoint, "orders", "flow", "run", strategy=LoadStrategy.APPEND)
