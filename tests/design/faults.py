"""Sources of built projects, each with the trouble that it can make: late commits, new columns, bad records.

A record has `id`, `name`, `amount` and `changed_at`; none is without a name.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from sqlalchemy import create_engine, make_url, text

from snowmelt.design.making.stages import plain_name
from snowmelt.ingest.cdc.embedded_postgres import LOGICAL_REPLICATION, EmbeddedPostgres
from snowmelt.state.ids import new_id
from tests.extract_load.rigs import DatabaseRig, FilesRig, KafkaRig, MariadbRig, PostgresRig, RestRig, Rig
from tests.extract_load.web import Web

FIRST = datetime(2024, 1, 1)
ROWS = "SELECT id, name, amount, changed_at FROM {} ORDER BY id"
Row = tuple[str | None, ...]


def order(number: int, minute: int | None = None, **changes: Any) -> dict[str, Any]:
    moment = FIRST + timedelta(minutes=number if minute is None else minute)
    return {
        "id": number, "name": f"n{number % 7}", "amount": f"{number % 50}.25",
        "changed_at": moment.isoformat(sep=" "), **changes,
    }  # fmt: skip


class FaultySource:
    """What is asked of each. Records are given through a rig of the behaviour suite, and remembered."""

    kind: str
    event = "batch"
    """What a run logs for each batch."""
    batches = 3
    """Of so many, and more, the first run is killed."""
    first = 600
    """Records that are there before the first run."""
    whole = False
    """Whether each reading has all of it."""
    clean = "stg_orders"

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.given: dict[int, dict[str, Any]] = {}

    def source(self) -> dict[str, Any]:
        """Its entry in the requirements, without the columns of its table."""
        return {"kind": self.kind, "connection": "SHOP_URL"}

    def table(self) -> dict[str, Any]:
        return {"name": "orders", "change_column": "changed_at", "options": {"batch_rows": 50}}

    def variables(self) -> dict[str, str]:
        raise NotImplementedError

    def fill(self) -> None:
        self.add(*[order(number) for number in range(1, self.first + 1)])

    def add(self, *records: dict[str, Any]) -> None:
        self.rig.add(*records)
        for record in records:
            before = self.given.get(record["id"])
            if before is None or before["changed_at"] <= record["changed_at"]:
                self.given[record["id"]] = record

    def change(self, record: dict[str, Any]) -> None:
        """A record that is there already."""
        self.add(record)

    def begin_late(self) -> None:
        """Something begins that is committed later than what comes meanwhile."""

    def end_late(self) -> None:
        """Records older than what was read already."""
        self.add(order(9001, minute=3), order(9002, minute=self.first - 4))

    def add_bad(self) -> None:
        self.rig.add_bad()

    def mend(self) -> None:
        """What was bad, where that can be."""

    def rows(self) -> list[Row]:
        """What the clean table has to hold."""
        return [
            tuple(str(record[name]) for name in ("id", "name", "amount", "changed_at"))
            for _, record in sorted(self.given.items())
        ]

    def close(self) -> None:
        self.rig.close()


class FaultyFiles(FaultySource):
    def __init__(self, kind: str, rig: FilesRig) -> None:
        super().__init__(rig)
        self.kind, self.files = kind, rig

    def source(self) -> dict[str, Any]:
        """Secrets and all else of the store by the environment."""
        return {**super().source(), "options": {name: f"${{SHOP_{name.upper()}}}" for name in self.files.settings}}

    def table(self) -> dict[str, Any]:
        return {**super().table(), "name": f"in/orders_*{self.files.suffix}"}

    def variables(self) -> dict[str, str]:
        settings = {f"SHOP_{name.upper()}": value for name, value in self.files.settings.items()}
        return {"SHOP_URL": str(self.files.address), **settings}

    def fill(self) -> None:
        for start in range(1, self.first, 150):
            self.add(*[order(number) for number in range(start, start + 150)])


class FaultyApi(FaultySource):
    kind = "api"

    def __init__(self, *, whole: bool) -> None:
        self.web = Web()
        super().__init__(RestRig(self.web))
        self.whole = whole
        self.web.allowed = lambda headers, _: headers.get("authorization") == "Bearer hush"

    def source(self) -> dict[str, Any]:
        return {**super().source(), "options": {"auth": "bearer", "token": "${SHOP_TOKEN}"}}

    def table(self) -> dict[str, Any]:
        options = {"paging": "page", "page_size": 100, "batch_rows": 50}
        if self.whole:
            return {"name": "orders", "options": options}
        return {"name": "orders", "change_column": "changed_at", "options": {**options, "since_parameter": "since"}}

    def variables(self) -> dict[str, str]:
        return {"SHOP_URL": self.web.address, "SHOP_TOKEN": "hush"}

    def change(self, record: dict[str, Any]) -> None:
        self.web.items = [item for item in self.web.items if item["id"] != record["id"]]
        self.add(record)

    def mend(self) -> None:
        self.web.items = [item for item in self.web.items if isinstance(item, dict)]


class FaultyKafka(FaultySource):
    """What is late is a transaction that began before what was read meanwhile, and is committed behind it."""

    kind = "kafka"

    def __init__(self, bootstrap: str) -> None:
        self.topic = KafkaRig(bootstrap)
        super().__init__(self.topic)
        self.clean = f"stg_{plain_name(self.topic.topic)}"
        self._late = Producer({"bootstrap.servers": bootstrap, "transactional.id": new_id()})

    def table(self) -> dict[str, Any]:
        return {**super().table(), "name": self.topic.topic}

    def variables(self) -> dict[str, str]:
        return {"SHOP_URL": self.topic.bootstrap}

    def begin_late(self) -> None:
        self._late.init_transactions(60)
        self._late.begin_transaction()
        for number, minute in ((9001, 3), (9002, self.first - 4)):
            record = order(number, minute=minute)
            self.given[number] = record
            self._late.produce(self.topic.topic, json.dumps(record).encode(), str(number))
        assert self._late.flush(60) == 0

    def end_late(self) -> None:
        self._late.commit_transaction(60)


class FaultyDatabase(FaultySource):
    """The clean table has to hold what the database itself says it has."""

    driver: str

    def __init__(self, rig: PostgresRig | MariadbRig, *, whole: bool = False) -> None:
        super().__init__(rig)
        self.address, self.whole = rig.address, whole
        self._engine = create_engine(make_url(rig.address).set(drivername=self.driver))

    def table(self) -> dict[str, Any]:
        made = super().table()
        return {"name": "orders", "options": made["options"]} if self.whole else made

    def variables(self) -> dict[str, str]:
        return {"SHOP_URL": self.address}

    def execute(self, statement: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(text(statement))

    def fill(self) -> None:
        values = ", ".join(
            f"({item['id']}, '{item['name']}', {item['amount']}, '{item['changed_at']}')"
            for item in (order(number) for number in range(1, self.first + 1))
        )
        self.execute(f"INSERT INTO orders (id, name, amount, changed_at) VALUES {values}")

    def change(self, record: dict[str, Any]) -> None:
        self.execute(
            f"UPDATE orders SET name = '{record['name']}', changed_at = '{record['changed_at']}' "
            f"WHERE id = {record['id']}"
        )

    def begin_late(self) -> None:
        """In a transaction of its own, whose rows nobody sees before it ends."""
        self._late = self._engine.connect()
        for number, minute in ((9001, 3), (9002, self.first - 4)):
            moment = order(number, minute=minute)["changed_at"]
            self._late.execute(
                text(
                    f"INSERT INTO orders (id, name, amount, changed_at) VALUES ({number}, 'late', {number}, '{moment}')"
                )
            )

    def end_late(self) -> None:
        self._late.commit()
        self._late.close()

    def add_bad(self) -> None:
        moment = order(0, minute=self.first + 50)["changed_at"]
        self.execute(f"INSERT INTO orders (id, amount, changed_at) VALUES (99999, 1, '{moment}')")

    def mend(self) -> None:
        moment = order(0, minute=self.first + 60)["changed_at"]
        self.execute(f"UPDATE orders SET name = 'mended', changed_at = '{moment}' WHERE id = 99999")

    def rows(self) -> list[Row]:
        with self._engine.connect() as connection:
            return [
                tuple(None if value is None else str(value) for value in row)
                for row in connection.execute(text(ROWS.format("orders")))
            ]

    def close(self) -> None:
        self._engine.dispose()
        super().close()


class _Postgres(PostgresRig):
    times = "timestamp"


class _Captured(_Postgres):
    """In the schema public, as a connector wants it."""

    def __init__(self, url: str) -> None:
        self.address, self.parallel = url, 1
        DatabaseRig.__init__(self)


class _Mariadb(MariadbRig):
    times = "datetime"


class FaultyPostgres(FaultyDatabase):
    kind, driver = "postgres", "postgresql+psycopg"


class FaultyMariadb(FaultyDatabase):
    kind, driver = "mysql", "mysql+pymysql"


class FaultyLog(FaultyPostgres):
    """PostgreSQL by its log: what is bad is a word in a column that was a number."""

    event = "changes landed"
    batches = 1
    first = 6_000

    def __init__(self) -> None:
        self.server = EmbeddedPostgres(LOGICAL_REPLICATION)
        self.server.start()
        super().__init__(_Captured(self.server.url()))
        self.execute("ALTER TABLE orders REPLICA IDENTITY FULL")

    def table(self) -> dict[str, Any]:
        return {"name": "orders", "change_column": "changed_at", "replica_identity": "full", "deletes": True}

    def add_bad(self) -> None:
        self.execute("ALTER TABLE orders ALTER COLUMN amount TYPE text")
        self.execute("INSERT INTO orders (id, name, amount, changed_at) VALUES (99999, 'n', 'many', now())")

    def mend(self) -> None:
        self.execute("UPDATE orders SET amount = '1.00' WHERE id = 99999")

    def close(self) -> None:
        super().close()
        self.server.stop()


SOURCES = (
    "csv", "jsonl", "s3", "gcs", "sftp", "api", "api-whole", "kafka", "postgres", "postgres-whole", "postgres-log",
    "mariadb", "mariadb-whole",
)  # fmt: skip


def faulty_source(name: str, request: pytest.FixtureRequest, folder: Path) -> FaultySource:
    """The source of a name; its server is started when the first test asks for it."""
    bucket = f"bucket/{new_id()}"
    whole = name.endswith("-whole")
    match name.partition("-")[0]:
        case "csv" | "jsonl":
            return FaultyFiles("files", FilesRig(folder / "source", suffix=f".{name}"))
        case "s3":
            return FaultyFiles("s3", FilesRig(f"s3://{bucket}", request.getfixturevalue("s3_settings")))
        case "gcs":
            return FaultyFiles("gcs", FilesRig(f"gs://{bucket}", request.getfixturevalue("gcs_settings")))
        case "sftp":
            server = request.getfixturevalue("sftp_server")
            return FaultyFiles("sftp", FilesRig(f"{server.address}/{new_id()}", server.settings))
        case "api":
            return FaultyApi(whole=whole)
        case "kafka":
            return FaultyKafka(request.getfixturevalue("kafka_servers"))
        case "mariadb":
            return FaultyMariadb(_Mariadb(request.getfixturevalue("mariadb_url")), whole=whole)
    if name == "postgres-log":
        return FaultyLog()
    return FaultyPostgres(_Postgres(request.getfixturevalue("postgres_url")), whole=whole)
