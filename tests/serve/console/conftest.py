"""A server with a small shop, without Spark: everything here is small enough for the quick lane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.accounts import open_account
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.serve.callers import ADMIN_PASSWORD, Serving, served
from tests.serve.console.pipeline import build


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with open_account(tmp_path_factory.mktemp("console")) as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        server = HttpServer(account, credentials, hosts=())
        # Behind the server, which counts the rows that come.
        build(account.session())
        with served(server) as serving:
            yield serving
