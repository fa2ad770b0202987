"""A process whose Spark writes tables in S3, while answers get lost: `python -m tests.engine.spark_in_s3 DATA`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickMode, QuickSettings, Settings
from tests.support import s3_server
from tests.support.fault_proxy import Fault, FaultProxy, Plan
from tests.support.s3_server import S3Server

_SPARK = {
    "spark.master": "local[2]", "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2", "spark.hadoop.fs.s3a.retry.interval": "50ms",
}  # fmt: skip
_MANY = "SELECT SEQ4(), 'n' FROM TABLE(GENERATOR(ROWCOUNT => 2000))"


def main(data: Path) -> dict[str, Any]:
    os.environ.update(s3_server.ENVIRONMENT)
    with S3Server() as server, FaultProxy(server.port) as proxy:
        settings = Settings(
            spark=_SPARK, storage_root="s3://lake/spark", storage_options=s3_server.options(proxy.endpoint),
            quick=QuickSettings(mode=QuickMode.OFF), small_write_rows=5,
        )  # fmt: skip
        with open_account(data, settings=settings) as account:
            session = account.session()
            session.execute("CREATE TABLE t (id INT NOT NULL, name VARCHAR)")
            session.execute("CREATE TABLE tracked (id INT NOT NULL, name VARCHAR) CHANGE_TRACKING = TRUE")
            session.execute(f"INSERT INTO tracked {_MANY}")
            proxy.follow(Plan(faults=(Fault.LOST_ANSWER,), share=0.25, most=1, seed=11))
            session.execute(f"INSERT INTO t {_MANY}")
            session.execute("UPDATE tracked SET name = 'big' WHERE id % 2 = 0")
            session.execute(
                "MERGE INTO t USING (SELECT id FROM tracked WHERE id < 500 AND name = 'big') s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET name = 'm'"
            )
            session.execute("DELETE FROM t WHERE id % 3 = 0")
            session.execute("BEGIN")
            session.execute(f"INSERT INTO t {_MANY}")
            session.execute("ROLLBACK")
            counted = session.execute("SELECT COUNT(*), COUNT(DISTINCT id), COUNT_IF(name = 'm') FROM t").rows()
            explained = str(session.execute("EXPLAIN SELECT * FROM t WHERE id > 1").rows())
            requests, met = proxy.seen()
        secret_in = ["EXPLAIN"] if s3_server.SECRET in explained or s3_server.KEY in explained else []
        secret_in += [str(path) for path in data.rglob("*") if path.is_file() and _SECRET in path.read_bytes()]
    entries = [
        (request.get("if-none-match"), request.get("user-agent", "").partition(" ")[0])
        for request in requests
        if request["method"] == "PUT" and request["path"].endswith(".json") and "_delta_log" in request["path"]
    ]
    return {"counted": [list(row) for row in counted], "entries": entries, "met": met, "secret_in": secret_in}


_SECRET = s3_server.SECRET.encode()

if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
