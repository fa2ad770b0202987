"""How the suites reach the server through ADBC, whose driver is Snowflake's for Go."""

import os
from typing import Any

import adbc_driver_snowflake.dbapi

_DRIVER = "adbc.snowflake.sql."


def connect() -> Any:
    options = {
        "account": "snowmelt", "uri.host": "127.0.0.1", "uri.port": os.environ["SNOWMELT_PORT"], "uri.protocol": "http",
        "db": os.environ["SNOWMELT_DATABASE"], "schema": "PUBLIC", "auth_type": "auth_snowflake",
    }  # fmt: skip
    credentials = {"username": "admin", "password": os.environ["SNOWMELT_ADMIN_PASSWORD"]}
    return adbc_driver_snowflake.dbapi.connect(
        db_kwargs=credentials | {_DRIVER + name: value for name, value in options.items()}
    )
