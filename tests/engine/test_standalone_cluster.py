"""The same engine on a real Spark standalone cluster: a master and a worker in processes of their own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.support.ports import free_port
from tests.support.waiting import DEADLINE

pytestmark = pytest.mark.slow
HOME = Path(pyspark.__file__).parent


def wait_for(port: int, deadline: float = DEADLINE) -> None:
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise TimeoutError(f"nothing answers on port {port}")


def started(*arguments: str, log: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as output:
        command = [str(HOME / "bin" / "spark-class"), *arguments]
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment)


@pytest.fixture
def master_url(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    master = started(
        "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port),
        "--webui-port", str(free_port()),
        log=tmp_path / "master.log",
    )  # fmt: skip
    worker: subprocess.Popen[bytes] | None = None
    try:
        wait_for(port)
        url = f"spark://127.0.0.1:{port}"
        worker = started(
            "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "2g",
            "--webui-port", str(free_port()), "--work-dir", str(tmp_path / "work"), url, log=tmp_path / "worker.log",
        )  # fmt: skip
        yield url
    finally:
        for process in (worker, master):
            if process is not None:
                process.terminate()
                process.wait(DEADLINE)


STATEMENTS = """
import json, sys
from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account

with open_account(sys.argv[1], settings=Settings(spark=json.loads(sys.argv[2]))) as account:
    session = account.session()
    session.execute("CREATE TABLE t (id INT, v VARIANT)")
    session.execute(
        "INSERT INTO t SELECT SEQ4(), OBJECT_CONSTRUCT('n', SEQ4()) FROM TABLE(GENERATOR(ROWCOUNT => 200000))"
    )
    session.execute("INSERT INTO t (id) VALUES (-1)")
    session.execute("UPDATE t SET v = OBJECT_CONSTRUCT('n', 0) WHERE id = 7")
    session.execute("DELETE FROM t WHERE id >= 100000")
    rows = session.execute("SELECT COUNT(*), MIN(id), SUM(v:n::INT) FROM t").rows()
    print(json.dumps({"rows": rows, "master": account.engine.session().conf.get("spark.master")}))
"""

HIDDEN = """
import json, os, sys
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account

with open_account(sys.argv[1], settings=Settings(spark=json.loads(sys.argv[2]))) as account:
    account.engine.spark._storage_uri = "file:/proc/self/cwd/tables"
    try:
        account.engine.session()
    except SnowmeltError as error:
        print(json.dumps({"error": error.message}))
"""


def answer(script: str, url: str, folder: Path) -> Any:
    """What a process of its own prints last: the tests' own process may have a Spark of another kind already."""
    spark = {"spark.master": url, "spark.executor.memory": "1g", "spark.driver.memory": "1g"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder / "data"), json.dumps(spark)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_statements_run_on_a_cluster(master_url: str, tmp_path: Path) -> None:
    found = answer(STATEMENTS, master_url, tmp_path)
    assert found == {"rows": [[100_001, -1, 99_999 * 100_000 // 2 - 7]], "master": master_url}


def test_storage_that_executors_do_not_share_is_refused(master_url: str, tmp_path: Path) -> None:
    """A relative trick stands in for a second machine: the executors' working folder is not the driver's."""
    found = answer(HIDDEN, master_url, tmp_path)
    assert "do not share the storage root" in found["error"]
