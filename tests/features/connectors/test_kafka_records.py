"""Records of topics, with and without schemas, and what Kafka Connect is told; without Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.ingest.cdc.envelope import parse
from snowmelt.ingest.cdc.kafka.records import Records
from snowmelt.ingest.cdc.kafka.topics import Topics
from snowmelt.runtime.session import Session
from tests.features.connectors.envelopes import column, envelope, key_schema, value_schema

TOPIC = "shop.public.items"
_SOURCE = "TYPE = POSTGRES HOST = 'h' DATABASE = 'd' USER = 'u' TABLES = ('items') INITIALLY_PAUSED = TRUE"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder: Path = tmp_path_factory.mktemp("kafka")
    with open_account(folder, settings=Settings()) as account:
        yield account.session()


def written(schema: object, payload: object) -> str:
    """As Kafka Connect's converter writes it."""
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":"))


def test_a_schema_is_told_once() -> None:
    first = value_schema(column("id", "int32", "INT4"))
    other = value_schema(column("id", "int64", "INT8"))
    records = Records()
    key = written(key_schema("id"), {"id": 1})
    events = [
        records.event(TOPIC, key, written(schema, envelope("c", after={"id": number}, table="items")))
        for number, schema in enumerate((first, first, other, first))
    ]
    assert [event.schema for event in events] == [1, 1, 2, 1]
    told = records.new_schemas()
    assert [(schema.number, schema.topic, schema.value) for schema in told] == [(1, TOPIC, first), (2, TOPIC, other)]
    assert told[0].key == key_schema("id")
    assert records.new_schemas() == ()
    changes = [parse(event.key, event.value, event.schema) for event in events]
    assert [(change.key, change.after) for change in changes if change is not None] == [
        ({"id": 1}, {"id": number}) for number in range(4)
    ]


def test_a_truncate_does_not_take_the_key_from_its_table() -> None:
    schema = value_schema(column("id", "int32", "INT4"))
    records = Records()
    truncate = records.event(TOPIC, None, written(schema, envelope("t", table="items")))
    key = written(key_schema("id"), {"id": 1})
    insert = records.event(TOPIC, key, written(schema, envelope("c", after={"id": 1}, table="items")))
    keys = {schema.number: schema.key for schema in records.new_schemas()}
    assert (keys[truncate.schema], keys[insert.schema]) == (None, key_schema("id"))


@pytest.mark.parametrize(
    "value",
    [
        json.dumps(envelope("c", after={"id": 1}, table="items")),
        written(None, envelope("c", after={"id": 1}, table="items")),
        '{"schema":{"type"',
        "not json",
    ],
)
def test_without_a_schema_it_stays_as_it_is(value: str) -> None:
    records = Records()
    assert records.event(TOPIC, None, value).value == value
    assert records.new_schemas() == ()


def test_topics_are_named_exactly() -> None:
    topics = Topics("b:9092", "my.shop", ("public.a", "public.b$1"))
    assert topics.pattern == r"^(?:my\.shop\.public\.a|my\.shop\.public\.b\$1)$"


def test_secrets_of_clients_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# for the broker\nsecurity.protocol = SASL_SSL\nsasl.jaas.config=a b=c;\n")
    options = Topics("b:9092", "p", ("public.a",), str(file)).client_options()
    assert options == {
        "kafka.bootstrap.servers": "b:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.jaas.config": "a b=c;",
    }


def test_the_configuration_says_where_the_password_is(session: Session) -> None:
    session.execute(
        f"CREATE CONNECTOR shop {_SOURCE} ROUTE = KAFKA BOOTSTRAP_SERVERS = 'b:9092' PASSWORD_ENV = 'SHOP_PASSWORD'"
    )
    told = json.loads(session.execute("ALTER CONNECTOR shop CONFIG").rows()[0][0])
    assert told["name"] == "snowmelt_shop"
    config = told["config"]
    assert config["topic.prefix"] == "snowmelt_shop"
    assert config["database.password"] == "${env:SHOP_PASSWORD}"
    assert config["topic.creation.default.partitions"] == "1"
    assert config["signal.kafka.topic"] == "snowmelt_shop.signals"
    ddl = session.execute("SELECT GET_DDL('CONNECTOR', 'shop')").rows()[0][0]
    assert "ROUTE='KAFKA'" in ddl and "BOOTSTRAP_SERVERS='b:9092'" in ddl


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("ROUTE = KAFKA", "BOOTSTRAP_SERVERS"),
        ("BOOTSTRAP_SERVERS = 'b:9092'", "BOOTSTRAP_SERVERS"),
        ("TOPIC_PREFIX = 'shop'", "TOPIC_PREFIX"),
        ("ROUTE = KAFKA BOOTSTRAP_SERVERS = 'b' TOPIC_PREFIX = 'a b'", "TOPIC_PREFIX"),
        ("ROUTE = PIGEON", "PIGEON"),
    ],
)
def test_options_that_do_not_go_together(session: Session, options: str, message: str) -> None:
    with pytest.raises(SnowmeltError, match=message):
        session.execute(f"CREATE CONNECTOR refused {_SOURCE} {options}")


def test_an_embedded_connector_has_no_configuration(session: Session) -> None:
    session.execute(f"CREATE CONNECTOR embedded {_SOURCE}")
    with pytest.raises(SnowmeltError, match="ROUTE = KAFKA"):
        session.execute("ALTER CONNECTOR embedded CONFIG")
