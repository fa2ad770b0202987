"""`snowmelt forget`, with the destinations of a built project: real ones, each with the person and somebody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow.csv
import pyarrow.parquet
import pytest
import yaml
from deltalake import DeltaTable
from typer.testing import CliRunner, Result

import snowmelt
from snowmelt.cli.main import app
from snowmelt.extract_load import Endpoint, LoadStrategy, SnowmeltExtractor, make_loader
from snowmelt.extract_load.drift import Field
from tests.features.erasure.people import EMAIL, files_with
from tests.support.postgres import postgres_url

__all__ = ["postgres_url"]
FIELDS = [Field("id", "NUMBER(38,0)"), Field("email", "VARCHAR")]
SINKS = {"shop": "postgres", "lake": "delta", "files": "parquet", "texts": "csv"}


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    with snowmelt.connect(folder) as connection:
        connection.execute("CREATE TABLE customers (id INT, email VARCHAR)")
        connection.execute("INSERT INTO customers VALUES (42, 'ada@example.org'), (7, 'bob@example.org')")
    yield folder


@pytest.fixture
def project(data: Path, tmp_path: Path, postgres_url: str) -> Path:
    """What `snowmelt build` writes of sinks, and what a run has published there."""
    with psycopg.connect(postgres_url, autocommit=True) as opened:
        opened.execute("DROP SCHEMA IF EXISTS forgotten CASCADE")
        opened.execute("CREATE SCHEMA forgotten")
    places = {name: str(tmp_path / name) for name in SINKS} | {"shop": postgres_url}
    for name in ("files", "texts", "lake"):
        (tmp_path / name).mkdir()
    folder = tmp_path / "project"
    (folder / "config").mkdir(parents=True)
    connections = {name: {"kind": kind, "address": places[name]} for name, kind in SINKS.items()}
    connections["crm"] = {"kind": "api", "address": "https://crm.example.org"}
    (folder / "config/connections.yaml.example").write_text(yaml.safe_dump(connections))
    sinks = [
        {"name": name, "load": "append", "tables": [{"name": "customers", "target": _target(name), "key": ["id"]}]}
        for name in SINKS
    ]
    (folder / "config/pipeline_config.yaml").write_text(yaml.safe_dump({"pipeline": "p", "sinks": sinks}))
    with snowmelt.connect(data) as connection:
        for name, kind in SINKS.items():
            loader = make_loader(
                Endpoint(kind=kind, address=places[name]), _target(name), "p_customers", "run",
                strategy=LoadStrategy.APPEND, key=["id"], fields=FIELDS, connection=connection,
            )  # fmt: skip
            for batch in SnowmeltExtractor(connection, "customers", key=("id",)).extract(None):
                loader.load(batch, "2026-01-01T00:00:00+00:00")
            loader.close()
    return folder


def _target(sink: str) -> str:
    return "forgotten.customers" if sink == "shop" else "customers"


def forget(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "300"}).invoke(app, ["forget", *arguments])


def test_destinations_are_searched_and_cleaned(data: Path, project: Path, tmp_path: Path, postgres_url: str) -> None:
    asked = ("customers.id=42", "--data", str(data), "--project", str(project))
    looked = forget(*asked)
    assert looked.exit_code == 0, looked.output
    for name in SINKS:
        assert f"{name}.{_target(name)}" in looked.output
    assert "Nothing was changed" in looked.output
    done = forget(*asked, "--confirm", "--reason", "asked")
    assert done.exit_code == 0, done.output
    assert "Nothing of the person is found any more." in done.output
    with psycopg.connect(postgres_url) as opened:
        assert opened.execute("SELECT id FROM forgotten.customers").fetchall() == [(7,)]
    assert DeltaTable(str(tmp_path / "lake/customers")).to_pyarrow_table().column("id").to_pylist() == [7]
    (parquet,) = (tmp_path / "files/customers").glob("*.parquet")
    assert pyarrow.parquet.read_table(parquet).column("email").to_pylist() == ["bob@example.org"]
    (text,) = (tmp_path / "texts/customers").glob("*.csv")
    assert pyarrow.csv.read_csv(text).column("email").to_pylist() == ["bob@example.org"]
    for folder in ("data", "lake", "files", "texts"):
        assert list(files_with(tmp_path / folder, EMAIL)) == [], folder
    listed = forget("--list", "--data", str(data))
    assert listed.exit_code == 0
    assert "DONE" in listed.output
    assert EMAIL not in listed.output


def test_what_an_api_has_is_somebody_elses_to_remove(data: Path, project: Path) -> None:
    path = project / "config/pipeline_config.yaml"
    config = yaml.safe_load(path.read_text())
    config["sinks"] = [{"name": "crm", "tables": [{"name": "customers", "target": "contacts", "key": ["id"]}]}]
    path.write_text(yaml.safe_dump(config))
    with snowmelt.connect(data) as connection:
        connection.execute("CREATE TABLE sent_records (flow VARCHAR, record_key VARCHAR)")
        connection.execute("INSERT INTO sent_records VALUES ('crm_p_customers', '[42]'), ('crm_p_customers', '[7]')")
    done = forget("customers.id=42", "--data", str(data), "--project", str(project), "--confirm")
    assert done.exit_code == 1
    assert "crm.contacts: api has no request that removes a record: ask its owner to do it" in done.output
    with snowmelt.connect(data) as connection:
        assert connection.execute("SELECT record_key FROM sent_records").fetchall() == [("[7]",)]


def test_a_wrong_request_says_what_to_write(data: Path, tmp_path: Path) -> None:
    assert "is not of the form TABLE.COLUMN=VALUE." in forget("customers.id", "--data", str(data)).output
    missing = forget("customers.id=42", "--data", str(data), "--project", str(tmp_path))
    assert missing.exit_code != 0
    assert "has no config/pipeline_config.yaml" in missing.output
    assert json.dumps("Nothing of the person is found in")[1:-1] in forget("customers.id=8", "--data", str(data)).output
