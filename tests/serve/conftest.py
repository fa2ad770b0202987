"""A server on an account of its own, without Spark: nothing here computes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.accounts import open_account
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from snowmelt.serve.limits import Limits
from tests.serve.callers import ADMIN_PASSWORD, PASSWORD, Serving, served

LIMITS = Limits(public_bytes=1 << 18, body_bytes=1 << 20, pause_seconds=1.0, public_seconds=2.0, linger_seconds=0.2)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with open_account(tmp_path_factory.mktemp("served")) as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        admin = account.session()
        admin.execute_script(
            f"CREATE ROLE analyst; CREATE ROLE narrow; CREATE USER ann PASSWORD = '{PASSWORD}' DEFAULT_ROLE = analyst;"
            "GRANT ROLE analyst TO USER ann; GRANT ROLE narrow TO USER ann; GRANT ROLE sysadmin TO USER ann"
        )
        with served(HttpServer(account, credentials, hosts=("snowmelt.example",), limits=LIMITS)) as answering:
            yield answering
