"""Accounts whose tables lie in S3: what is refused at the start and how it is told, and that all else works there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from tests.conftest import SPARK
from tests.support import s3_server
from tests.support.fault_proxy import FaultProxy, Plan
from tests.support.ports import free_port
from tests.support.s3_server import BUCKET, SECRET, S3Server


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3_server.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)


def settings(server: S3Server, **given: Any) -> Settings:
    chosen: dict[str, Any] = {
        "storage_root": f"s3://{BUCKET}/snow", "storage_options": dict(s3_server.options(server.endpoint)),
        "spark": SPARK, **given,
    }  # fmt: skip
    return Settings(**chosen)


def refusal(folder: Path, chosen: Settings) -> str:
    with pytest.raises(SnowmeltError) as caught:
        open_account(folder, settings=chosen)
    assert SECRET not in caught.value.text
    assert caught.value.code == "370001"
    return caught.value.message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"storage_root": "gs://b"}, "Tables can't be kept at 'gs://b': of object stores, only s3:// is supported."),
        ({"storage_root": "s3://"}, "The storage root 's3://' names no bucket."),
        ({"storage_root": "s3://nowhere/x"}, "The bucket 'nowhere' does not exist."),
        (
            {"storage_options": {"aws_secret_access_key": SECRET}},
            "'aws_secret_access_key' in storage_options is a secret.",
        ),
        (
            {"storage_options": {"aws_regoin": "x"}},
            "'aws_regoin' in storage_options is not known for a storage root in S3.",
        ),
        (
            {"storage_options": {"aws_endpoint": "http://h:1"}},
            "The object store's endpoint http://h:1 is not encrypted.",
        ),
        (
            {"spark": {"spark.master": "spark://h:7077"}},
            "Tables in an object store (s3://lake/snow) on a cluster (spark://h:7077) are not supported yet.",
        ),
    ],
)  # fmt: skip
def test_what_can_not_be(server: S3Server, tmp_path: Path, given: dict[str, Any], message: str) -> None:
    assert refusal(tmp_path, settings(server, **given)) == message


def test_keys_that_are_wrong(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    told = refusal(tmp_path, settings(server))
    assert told == "The keys that this machine has are not valid at the object store at s3://lake/snow."


def test_nobody_there(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snowmelt.storage.reaching._PATIENCE_SECONDS", 0.2)
    away = f"http://127.0.0.1:{free_port()}"
    told = refusal(tmp_path, settings(server, storage_options=s3_server.options(away)))
    assert told == f"{away} could not write files in the bucket 'lake': Connection refused."


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(refuse="AccessDenied"), "This machine may not write files at the object store at s3://lake/snow."),
        (
            Plan(refuse="RequestTimeTooSkewed"),
            "The clock of this machine differs from that of the object store at s3://lake/snow.",
        ),
        (
            Plan(conditions=False),
            "The object store at s3://lake/snow has no conditional writes: it let a second writer replace a file.",
        ),
    ],
)
def test_what_the_store_refuses(server: S3Server, tmp_path: Path, plan: Plan, message: str) -> None:
    with FaultProxy(server.port) as proxy:
        proxy.follow(plan)
        assert refusal(tmp_path, settings(server, storage_options=s3_server.options(proxy.endpoint))) == message


MAIN_WAYS = (
    ("CREATE TABLE t (id INT NOT NULL, name VARCHAR, v VARIANT) CHANGE_TRACKING = TRUE", None),
    ("INSERT INTO t (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')", [(3,)]),
    ("CREATE STREAM s ON TABLE t", None),
    ("UPDATE t SET name = 'z' WHERE id = 2", [(1, 0)]),
    ("DELETE FROM t WHERE id = 1", [(1,)]),
    ("SELECT id, name, metadata$action, metadata$isupdate FROM s ORDER BY 1, 3",
     [(1, "a", "DELETE", False), (2, "b", "DELETE", True), (2, "z", "INSERT", True)]),
    ("SELECT id, name FROM t WHERE id = 2", [(2, "z")]),
    ("SELECT COUNT(*) FROM t AT (OFFSET => -3600) WHERE FALSE", SnowmeltError),
    ("CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS "
     "SELECT name, COUNT(*) AS n FROM t GROUP BY name", None),
    ("MERGE INTO t USING (SELECT 3 AS id, 'm' AS name UNION ALL SELECT 4, 'n') g ON t.id = g.id "
     "WHEN MATCHED THEN UPDATE SET name = g.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (g.id, g.name)",
     [(1, 1)]),
    ("ALTER DYNAMIC TABLE d REFRESH", None),
    ("SELECT * FROM d ORDER BY 1", [("m", 1), ("n", 1), ("z", 1)]),
    ("BEGIN", None), ("INSERT INTO t (id) VALUES (9)", None), ("UPDATE d SET n = 1", SnowmeltError), ("ROLLBACK", None),
    ("SELECT COUNT(*) FROM t", [(3,)]),
    ("CREATE TABLE c CLONE t", None),
    ("ALTER TABLE c ADD COLUMN x INT", None), ("ALTER TABLE c DROP COLUMN name", None),
    ("SELECT COUNT(*), COUNT(x) FROM c", [(3, 0)]),
    ("DROP TABLE c", None), ("UNDROP TABLE c", None), ("TRUNCATE TABLE c", None), ("SELECT COUNT(*) FROM c", [(0,)]),
    ("CREATE TABLE copied AS SELECT id FROM t", None), ("INSERT OVERWRITE INTO copied SELECT 7", None),
    ("SELECT * FROM copied", [(7,)]),
)  # fmt: skip


def check(account: Account, statement: str, expected: Any) -> None:
    session = next(iter(account.sessions()))
    if expected is SnowmeltError:
        with pytest.raises(SnowmeltError):
            session.execute(statement)
        return
    rows = [tuple(row) for row in session.execute(statement).rows()]
    assert expected is None or rows == expected, statement


def test_the_main_ways(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the quick lane; and all of it is there for the next one who opens the account."""
    with open_account(tmp_path, settings=settings(server)) as account:
        account.session()
        for statement, expected in MAIN_WAYS:
            check(account, statement, expected)
        assert not account.engine.figures.refused
    assert not list((tmp_path / "tables").glob("*"))
    with open_account(tmp_path, settings=settings(server)) as account:
        assert account.recovered.undone == account.recovered.removed == account.recovered.broken == ()
        account.session()
        check(account, "SELECT id, name FROM t WHERE id = 2", [(2, "z")])
        check(account, "SELECT * FROM d ORDER BY 1", [("m", 1), ("n", 1), ("z", 1)])
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    other = tmp_path / "other"
    assert "The state store is new, but there are tables in s3://lake/snow already." in refusal(other, settings(server))


_KILLED = """
import os, signal, sys
from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
account = open_account(sys.argv[1], settings=Settings.model_validate_json(sys.argv[2]))
session = account.session()
session.execute("CREATE TABLE t (id INT)")
session.execute("INSERT INTO t VALUES (1)")
session.execute("CREATE TABLE u (id INT)")
session.execute("BEGIN")
session.execute("INSERT INTO t VALUES (2)")
session.execute("INSERT INTO u VALUES (3)")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_not_committed_is_undone(server: S3Server, tmp_path: Path) -> None:
    chosen = settings(server, storage_root=f"s3://{BUCKET}/killed")
    command = [sys.executable, "-c", _KILLED, str(tmp_path), chosen.model_dump_json()]
    assert subprocess.run(command, check=False, env=dict(os.environ)).returncode == -signal.SIGKILL
    with open_account(tmp_path, settings=chosen) as account:
        assert len(account.recovered.undone) == 2
        account.session()
        check(account, "SELECT * FROM t", [(1,)])
        check(account, "SELECT * FROM u", [])
