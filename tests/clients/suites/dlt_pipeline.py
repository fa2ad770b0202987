"""A pipeline of dlt by its defaults: merged, appended and replaced tables with nested rows, loaded twice."""

import datetime as dt
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"

import dlt

PASSWORD, PORT, DATABASE = (os.environ[f"SNOWMELT_{name}"] for name in ("ADMIN_PASSWORD", "PORT", "DATABASE"))
ADDRESS = f"snowflake://admin:{PASSWORD}@snowmelt/{DATABASE}?host=127.0.0.1&port={PORT}&protocol=http"
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


@dlt.resource(primary_key="id", write_disposition="merge")
def orders(amount: str) -> Iterator[Any]:
    yield [{"id": i, "amount": Decimal(amount), "at": NOON, "items": [{"sku": "a"}, {"sku": "b"}]} for i in range(10)]


pipeline = dlt.pipeline(
    "shop",
    destination=dlt.destinations.snowflake(credentials=ADDRESS),
    dataset_name="landing",
    pipelines_dir=os.environ["HOME"],
)
for amount in ("1.5", "2.5"):
    pipeline.run(orders(amount)).raise_on_failed_jobs()
for disposition in ("append", "append", "replace", "replace"):
    pipeline.run([{"a": 1}], table_name=disposition, write_disposition=disposition).raise_on_failed_jobs()
with pipeline.sql_client() as client:
    counts = {
        table: client.execute_sql(f"SELECT COUNT(*) FROM {table}")[0][0]
        for table in ("orders", "orders__items", "append", "replace", "_dlt_loads")
    }
    sums = client.execute_sql("SELECT SUM(amount), MIN(at), MAX(at) FROM orders")[0]
assert counts == {"orders": 10, "orders__items": 20, "append": 2, "replace": 1, "_dlt_loads": 6}, counts
assert sums == (Decimal("25"), NOON, NOON), sums
print("loaded")
