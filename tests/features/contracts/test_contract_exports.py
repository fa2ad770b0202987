"""Contracts in the words of others, and back."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.contracts import making
from snowmelt.govern.contracts.changes import changes
from snowmelt.govern.contracts.conformance import breaches
from snowmelt.govern.contracts.exporting import ExportTarget, export
from snowmelt.govern.contracts.model import Contract, TableColumn
from snowmelt.govern.contracts.reading import examine, read
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.tables import CreateTable
from tests.features.contracts.documents import column, contract

VALUES = [{"type": "library", "metric": "invalidValues", "mustBe": 0, "arguments": {"validValues": ["placed", "sent"]}}]


def shop() -> Contract:
    return contract(
        column("order_id", "INT", logicalType="integer", logicalTypeOptions={"format": "i64"}, primaryKey=True),
        column("amount", "NUMBER(10,2)", logicalType="number", logicalTypeOptions={"minimum": 0}, description="it's"),
        column("status", "VARCHAR(9)", quality=VALUES, required=True),
        column("ordered_at", "TIMESTAMP_NTZ", tags=["time"]),
        column("address", "OBJECT", logicalType="object", properties=[column("city", "VARCHAR", required=True)]),
        column("tags", "ARRAY", logicalType="array", items={"logicalType": "string"}),
        column('"odd name"', "BINARY"),
    )


def test_avro_takes_rows_of_the_contract() -> None:
    schema = json.loads(export(shop(), ExportTarget.AVRO))
    row = {
        "ORDER_ID": 1, "AMOUNT": None, "STATUS": "sent", "ORDERED_AT": None, "ADDRESS": {"city": "Bern"},
        "TAGS": ["a", None], "odd_name": b"x",
    }  # fmt: skip
    written = io.BytesIO()
    fastavro.writer(written, fastavro.parse_schema(schema), [row])
    written.seek(0)
    assert list(fastavro.reader(written)) == [row]
    fields = {field["name"]: field["type"] for field in schema["fields"]}
    assert fields["ORDER_ID"] == "long"
    assert fields["STATUS"] == {"type": "enum", "name": "ORDERS_STATUS", "symbols": ["placed", "sent"]}
    assert fields["AMOUNT"][1]["logicalType"] == "decimal"


def test_json_schema_takes_and_refuses_rows() -> None:
    schema = json.loads(export(shop(), ExportTarget.JSON_SCHEMA))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good: dict[str, Any] = {"ORDER_ID": 1, "STATUS": "sent", "AMOUNT": 1.5, "ADDRESS": {"city": "Bern"}, "TAGS": None}
    assert list(validator.iter_errors(good)) == []
    wrong = ({"STATUS": "lost"}, {"ORDER_ID": None}, {"AMOUNT": -1}, {"more": 1}, {"STATUS": "much too long"})
    for change in wrong:
        assert list(validator.iter_errors(good | change)), change


def test_dbt_yaml_has_contract_constraints_and_tests() -> None:
    model = yaml.safe_load(export(shop(), ExportTarget.DBT))["models"][0]
    assert model["config"]["contract"] == {"enforced": True}
    columns = {item["name"]: item for item in model["columns"]}
    assert columns["order_id"]["constraints"] == [{"type": "primary_key"}, {"type": "not_null"}]
    assert columns["order_id"]["data_tests"] == ["unique", "not_null"]
    assert columns["status"]["data_tests"][1] == {"accepted_values": {"arguments": {"values": ["placed", "sent"]}}}
    assert columns["odd name"]["quote"] is True
    assert columns["amount"]["data_type"] == "number(10,2)"


def test_sql_is_a_statement_that_makes_such_a_table() -> None:
    text = export(shop(), ExportTarget.SQL)
    statement = parse_statement(text)
    assert isinstance(statement, CreateTable)
    assert [item.name for item in statement.columns] == [item.name for item in shop().tables[0].columns]
    assert statement.columns[1].comment == "it's"
    assert statement.columns[0].type is not None and statement.columns[0].type.text == "INT"


AVRO = {
    "type": "record", "name": "Order", "namespace": "shop", "doc": "an order",
    "fields": [
        {"name": "id", "type": "long", "doc": "the key"},
        {"name": "amount", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "DONE"]}},
        {"name": "before", "type": ["null", "State"]},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
            {"name": "sku", "type": "string"}]}}},
        {"name": "extra", "type": {"type": "map", "values": "string"}},
        {"name": "any", "type": ["null", "string", "long"]},
        {"name": "ratio", "type": "float"},
    ],
}  # fmt: skip


def test_a_contract_from_avro() -> None:
    found = read(making.text_of(making.from_avro(AVRO)))
    assert found.tables[0].name == "ORDER" and found.tables[0].description == "an order"
    columns = {item.name: item for item in found.tables[0].columns}
    shown = {name: (str(item.type), item.required) for name, item in columns.items()}
    assert shown == {
        "ID": ("NUMBER(38,0)", True), "AMOUNT": ("NUMBER(12,2)", False), "AT": ("TIMESTAMP_LTZ(9)", True),
        "LOCAL": ("TIMESTAMP_NTZ(9)", True), "DAY": ("DATE", True), "STATE": ("VARCHAR(16777216)", True),
        "BEFORE": ("VARCHAR(16777216)", False), "LINES": ("ARRAY", True), "EXTRA": ("OBJECT", True),
        "ANY": ("VARIANT", False), "RATIO": ("FLOAT", True),
    }  # fmt: skip
    assert columns["STATE"].values == columns["BEFORE"].values == ("OPEN", "DONE")
    assert columns["LINES"].element is not None and columns["LINES"].element.children[0].name == "sku"


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"type": "record", "name": "x", "fields": [{"name": "a"}]}])
def test_what_is_no_avro_record_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(SnowmeltError, match="Avro"):
        making.from_avro(schema)


_TYPES = st.sampled_from(
    [types.INTEGER, types.number(12, 2), types.number(20, 0), types.VARCHAR, types.BOOLEAN, types.DATE, types.FLOAT,
     types.TIMESTAMP_NTZ, types.TIMESTAMP_LTZ, types.BINARY]
)  # fmt: skip


@st.composite
def _columns(draw: st.DrawFn) -> list[TableColumn]:
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))
    comments = st.none() | st.just("x")
    return [TableColumn(name.upper(), draw(_TYPES), draw(st.booleans()), draw(comments)) for name in names]


@settings(deadline=None, max_examples=40)
@given(_columns())
def test_a_table_satisfies_what_is_made_from_it_and_avro_brings_it_back(columns: list[TableColumn]) -> None:
    text = making.text_of(making.from_table("D.S.T", columns))
    assert examine(text).errors == ()
    made = read(text)
    assert breaches(made, made.tables[0], columns) == ()
    back = read(making.text_of(making.from_avro(json.loads(export(made, ExportTarget.AVRO)))))
    assert [change for change in changes(made, back) if change.column is not None] == []
