"""How the suites reach the server. Runs in the clients' environments, so it knows nothing of Snowmelt's code."""

import os
from typing import Any

import snowflake.connector

PORT = int(os.environ["SNOWMELT_PORT"])
DATABASE = os.environ["SNOWMELT_DATABASE"]
CREDENTIALS: dict[str, Any] = {
    "user": "admin", "password": os.environ["SNOWMELT_ADMIN_PASSWORD"], "account": "snowmelt", "host": "127.0.0.1",
    "port": PORT, "protocol": "http",
}  # fmt: skip


def connect(**options: Any) -> Any:
    return snowflake.connector.connect(**{**CREDENTIALS, "database": DATABASE, "schema": "PUBLIC", **options})
