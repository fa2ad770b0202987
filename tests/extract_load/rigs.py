"""Every source as the behaviour suite sees it: records are added to it, and an extractor reads them.

A record has `id`, `name`, `amount` and `changed_at`, or what a test makes of that.
"""

from __future__ import annotations

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pymysql
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from sqlalchemy import make_url

from snowmelt.extract_load import (
    Extractor,
    FilesExtractor,
    KafkaExtractor,
    MysqlExtractor,
    PageNumberPaging,
    PostgresExtractor,
    Record,
    RestExtractor,
)
from snowmelt.extract_load.stores.opening import open_store
from snowmelt.state.ids import new_id
from tests.extract_load.web import Web
from tests.support.postgres import empty_schema
from tests.support.waiting import DEADLINE

BATCH = 2
"""Rows of a batch: few, so that there are some."""


class Rig(ABC):
    """One source, empty at first."""

    @abstractmethod
    def add(self, *records: Record) -> None: ...

    @abstractmethod
    def add_bad(self) -> None:
        """One record that can't be understood; its name, if it has one, is NULL."""

    @abstractmethod
    def extractor(self) -> Extractor: ...

    def close(self) -> None:
        """A server of its own ends with it."""
        return


class FilesRig(Rig):
    """Each addition is another file."""

    def __init__(self, address: str | Path, settings: dict[str, str] | None = None, suffix: str = ".jsonl") -> None:
        self.address, self.settings, self.suffix = address, settings or {}, suffix
        self.files = 0

    def add(self, *records: Record) -> None:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        self.put(_csv(records) if self.suffix == ".csv" else lines)

    def add_bad(self) -> None:
        self.put("id,name\n1,2,3\n" if self.suffix == ".csv" else '{"id": \n')

    def put(self, text: str) -> None:
        self.files += 1
        with TemporaryDirectory() as folder, closing(open_store(self.address, self.settings)) as store:
            draft = Path(folder) / "draft"
            draft.write_text(text, encoding="utf-8")
            store.put(draft, f"in/orders_{self.files:03}{self.suffix}")

    def extractor(self) -> Extractor:
        return FilesExtractor(self.address, f"in/orders_*{self.suffix}", settings=self.settings, batch_rows=BATCH)


def _csv(records: tuple[Record, ...]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for record in records for name in record)))
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


class RestRig(Rig):
    def __init__(self, web: Web) -> None:
        self.web = web

    def add(self, *records: Record) -> None:
        self.web.items.extend(records)

    def add_bad(self) -> None:
        self.web.items.append("no object")

    def extractor(self) -> Extractor:
        return RestExtractor(
            self.web.address, "orders", paging=PageNumberPaging(size=3), key=["id"], change_column="changed_at",
            since_parameter="since", batch_rows=BATCH, sleep=lambda _: None,
        )  # fmt: skip

    def close(self) -> None:
        self.web.close()


class KafkaRig(Rig):
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap, self.topic = bootstrap, f"orders-{new_id()}"
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(self.topic, 3, 1)])[self.topic].result(DEADLINE)
        self.producer = Producer({"bootstrap.servers": bootstrap})

    def add(self, *records: Record) -> None:
        for record in records:
            self.send(json.dumps(record).encode(), str(record["id"]))

    def add_bad(self) -> None:
        self.send(b"\xff no JSON", "bad")

    def send(self, value: bytes | None, key: str) -> None:
        self.producer.produce(self.topic, value, key)
        assert self.producer.flush(60) == 0

    def extractor(self) -> Extractor:
        return KafkaExtractor(self.bootstrap, self.topic, batch_rows=BATCH)


class DatabaseRig(Rig):
    """Columns follow the records that are added: new ones appear, missing ones go, numbers become text."""

    times = "date"
    """The type of changed_at."""

    def __init__(self) -> None:
        self.columns = {"id": "int PRIMARY KEY", "name": "text", "amount": "numeric(12,2)", "changed_at": self.times}
        listed = ", ".join(f"{name} {kind}" for name, kind in self.columns.items())
        self.execute(f"CREATE TABLE orders ({listed})")

    @abstractmethod
    def execute(self, statement: str, values: list[Any] | None = None) -> None: ...

    def add(self, *records: Record) -> None:
        for record in records:
            self._follow(record)
            names = ", ".join(record)
            marks = ", ".join(["%s"] * len(record))
            self.execute(f"INSERT INTO orders ({names}) VALUES ({marks})", list(record.values()))

    def _follow(self, record: Record) -> None:
        for name in set(self.columns) - set(record):
            del self.columns[name]
            self.execute(f"ALTER TABLE orders DROP COLUMN {name}")
        for name in set(record) - set(self.columns):
            self.columns[name] = "text"
            self.execute(f"ALTER TABLE orders ADD COLUMN {name} text")
        if not str(record.get("amount", 0)).replace(".", "").isdigit():
            self.execute(self.retype)

    retype: str

    def add_bad(self) -> None:
        self.execute("INSERT INTO orders (id, changed_at) VALUES (99, '2024-01-01')")


class PostgresRig(DatabaseRig):
    retype = "ALTER TABLE orders ALTER COLUMN amount TYPE text"

    def __init__(self, url: str, parallel: int = 1) -> None:
        self.address, self.parallel = empty_schema(url), parallel
        super().__init__()

    def execute(self, statement: str, values: list[Any] | None = None) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(statement.encode(), values)

    def extractor(self) -> Extractor:
        return PostgresExtractor(
            self.address, "orders", key=["id"], change_column="changed_at", batch_rows=BATCH, parallel=self.parallel
        )


class MariadbRig(DatabaseRig):
    retype = "ALTER TABLE orders MODIFY amount text"

    def __init__(self, url: str, parallel: int = 1) -> None:
        self.address, self.parallel = url, parallel
        self.execute("DROP TABLE IF EXISTS orders")
        super().__init__()

    def execute(self, statement: str, values: list[Any] | None = None) -> None:
        url = make_url(self.address)
        with (
            pymysql.connect(
                host=url.host, port=url.port or 0, user=url.username, password=url.password or "",
                database=url.database, autocommit=True,
            ) as connection,
            connection.cursor() as cursor,
        ):  # fmt: skip
            cursor.execute(statement, values)

    def extractor(self) -> Extractor:
        return MysqlExtractor(
            self.address, "orders", key=["id"], change_column="changed_at", batch_rows=BATCH, parallel=self.parallel
        )


SLOW = ("csv", "postgres", "postgres-parallel", "mariadb", "mariadb-parallel", "s3", "sftp", "gcs", "kafka")


def make_rig(name: str, request: pytest.FixtureRequest, folder: Path) -> Rig:
    """The source of a name; its server is started when the first test asks for it."""
    bucket = f"bucket/{new_id()}"
    match name:
        case "csv" | "jsonl":
            return FilesRig(folder / "source", suffix=f".{name}")
        case "rest":
            return RestRig(Web())
        case "s3":
            return FilesRig(f"s3://{bucket}", request.getfixturevalue("s3_settings"))
        case "gcs":
            return FilesRig(f"gs://{bucket}", request.getfixturevalue("gcs_settings"))
        case "sftp":
            server = request.getfixturevalue("sftp_server")
            return FilesRig(f"{server.address}/{new_id()}", server.settings)
        case "kafka":
            return KafkaRig(request.getfixturevalue("kafka_servers"))
    kind, _, parallel = name.partition("-")
    connections = 3 if parallel else 1
    if kind == "postgres":
        return PostgresRig(request.getfixturevalue("postgres_url"), connections)
    return MariadbRig(request.getfixturevalue("mariadb_url"), connections)


def sources(*quick: str) -> pytest.MarkDecorator:
    """All of them, of which only those that are named are for every day."""
    slow = [pytest.param(name, marks=pytest.mark.slow) for name in ("jsonl", "rest", *SLOW) if name not in quick]
    return pytest.mark.parametrize("rig", [*quick, *slow], indirect=True)


@pytest.fixture
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    made = make_rig(request.param, request, tmp_path)
    yield made
    made.close()
