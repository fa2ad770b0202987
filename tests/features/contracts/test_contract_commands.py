"""`snowmelt contract` and `snowmelt catalog`, as somebody types them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from snowmelt.cli.contracts import contract_commands
from snowmelt.cli.data_catalog import data_catalog_commands
from snowmelt.cli.guarding import guarded
from snowmelt.runtime.session import Session
from tests.features.contracts.documents import column, text

ID, AMOUNT = column("id", "INT", primaryKey=True), column("amount", "NUMBER(10,2)")
LIMITED = column("amount", "NUMBER(10,2)", logicalType="number", logicalTypeOptions={"minimum": 0})


class Commands:
    """The two groups, over a session that is open already."""

    def __init__(self, session: Session | None, folder: Path) -> None:
        self.folder = folder
        self._app = typer.Typer()
        self._app.add_typer(contract_commands(lambda data, url: nullcontext(self._session), guarded), name="contract")
        self._app.add_typer(
            data_catalog_commands(lambda data, url: nullcontext(self._session), guarded), name="catalog"
        )
        self._given = session

    @property
    def _session(self) -> Session:
        assert self._given is not None
        return self._given

    def file(self, name: str, content: str) -> str:
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(self._app, list(words))


@pytest.fixture
def files(tmp_path: Path) -> Commands:
    return Commands(None, tmp_path)


@pytest.fixture
def commands(session: Session, tmp_path: Path) -> Iterator[Commands]:
    yield Commands(session, tmp_path)


def test_lint_says_what_is_wrong_and_where(files: Commands) -> None:
    good = files.run("contract", "lint", files.file("good.yaml", text(ID)))
    assert good.exit_code == 0 and "0 errors" in good.output
    bad = files.run("contract", "lint", files.file("bad.yaml", text(column("a", "NOTHING"))))
    assert bad.exit_code == 1 and "schema[0].properties[0].physicalType" in bad.output
    assert files.run("contract", "lint", str(files.folder / "none.yaml")).exit_code == 3


def test_diff_tells_breaking_changes_and_the_version_they_need(files: Commands) -> None:
    old = files.file("old.yaml", text(ID, AMOUNT))
    new = files.file("new.yaml", text(ID, version="1.1.0"))
    shown = files.run("contract", "diff", old, new)
    assert shown.exit_code == 1
    assert "BREAKING column removed: ORDERS.AMOUNT" in shown.output and "at least 2.0.0 is needed" in shown.output
    assert files.run("contract", "diff", old, new, "--mode", "forward").exit_code == 0
    found = json.loads(files.run("contract", "diff", old, new, "--format", "json").output)
    assert found["least"] == "2.0.0" and not found["allowed"] and found["changes"][0]["breaking"]


@pytest.mark.parametrize(("target", "said"), [("avro", '"record"'), ("sql", "CREATE TABLE"), ("dbt", "enforced: true")])
def test_export_writes_a_file_or_prints(files: Commands, target: str, said: str) -> None:
    source = files.file("c.yaml", text(ID))
    assert said in files.run("contract", "export", source, "--to", target).output
    output = files.folder / "out"
    assert files.run("contract", "export", source, "--to", target, "-o", str(output)).exit_code == 0
    assert said in output.read_text(encoding="utf-8")


def test_import_makes_a_contract_from_avro(files: Commands) -> None:
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    made = files.run("contract", "import", files.file("order.avsc", json.dumps(schema)))
    assert yaml.safe_load(made.output)["schema"][0]["properties"][0]["name"] == "id"
    assert files.run("contract", "import", files.file("not.avsc", "{")).exit_code == 1


def test_a_contract_from_a_table_is_applied_attached_and_raised(commands: Commands, session: Session) -> None:
    session.execute("CREATE TABLE orders (id INT PRIMARY KEY, amount NUMBER(10,2))")
    made = commands.folder / "orders.yaml"
    assert commands.run("contract", "create", "--table", "orders", "-o", str(made)).exit_code == 0
    applied = commands.run("contract", "apply", str(made), "--name", "orders_c", "--attach", "orders")
    assert applied.exit_code == 0, applied.output
    assert "is there already" in commands.run("contract", "apply", str(made), "--name", "orders_c").output
    assert commands.run("contract", "consumer", "orders_c", "bi", "--column", "amount").exit_code == 0
    smaller = made.read_text(encoding="utf-8").replace("version: 1.0.0", "version: 1.1.0")
    refused = commands.run(
        "contract", "apply", commands.file("v2.yaml", _without_amount(smaller)), "--name", "orders_c"
    )
    assert refused.exit_code == 1 and "370013" in refused.output and "Consumers: BI" in refused.output
    listed = commands.run("contract", "check", "orders_c", "--format", "json")
    assert json.loads(listed.output)[0]["status"] == "OK"


def _without_amount(document: str) -> str:
    data = yaml.safe_load(document)
    data["schema"][0]["properties"].pop()
    return str(yaml.safe_dump(data))


def test_a_document_comes_from_a_stage(commands: Commands, session: Session) -> None:
    session.execute("CREATE STAGE documents")
    for name, version in (("first.yaml", "1.0.0"), ("second.yaml", "1.0.1")):
        file = commands.file(name, text(column("id", description=name), version=version))
        session.execute(f"PUT file://{file} @documents AUTO_COMPRESS = FALSE")
    session.execute("CREATE CONTRACT staged FROM @documents/first.yaml")
    session.execute("ALTER CONTRACT staged ADD VERSION FROM @documents/second.yaml")
    versions = [row[0] for row in session.execute("DESCRIBE CONTRACT staged").rows()]
    assert versions == ["1.0.0", "1.0.1"]


def test_test_looks_at_columns_and_rows(commands: Commands, session: Session) -> None:
    session.execute("CREATE TABLE orders (id INT NOT NULL, amount NUMBER(10,2))")
    session.execute("INSERT INTO orders VALUES (1, 5), (1, -5)")
    file = commands.file("c.yaml", text(ID, LIMITED))
    found = commands.run("contract", "test", file, "--table", "orders")
    assert found.exit_code == 1
    assert "column ID is not unique in 1 of 2 rows" in found.output
    assert "column AMOUNT is not minimum 0 in 1 of 2 rows" in found.output
    assert commands.run("contract", "test", file, "--table", "orders", "--no-rows").exit_code == 0
    wider = commands.file("wider.yaml", text(ID, LIMITED, column("more")))
    assert "column MORE is missing" in commands.run("contract", "test", wider, "--table", "orders", "--no-rows").output


def test_the_data_catalog_is_searched_and_written(commands: Commands, session: Session) -> None:
    session.execute("CREATE TABLE parcels_of_a_kind (weight INT COMMENT 'in grams')")
    session.execute("CREATE DATA PRODUCT shipping OBJECTS = (parcels_of_a_kind) COMMENT = 'all parcels'")
    assert "WEIGHT" in commands.run("catalog", "search", "parcels_of_a_kind", "grams").output
    assert commands.run("catalog", "search", "nothing", "like", "this").exit_code == 1
    site = commands.folder / "site"
    assert commands.run("catalog", "build", "-o", str(site)).exit_code == 0
    assert "SHIPPING" in (site / "index.html").read_text(encoding="utf-8")
    assert "SHIPPING" in commands.run("catalog", "products", "--format", "json").output
