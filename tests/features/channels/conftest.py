"""An account without Spark, and clients that reach it in both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.names import ObjectName
from snowmelt.ingest import Server as ServerAddress
from snowmelt.ingest import StreamingIngestClient
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.serve.address import Address
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import PASSWORD_VARIABLE, load_credentials
from snowmelt.serve.run import serving_beside
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.storage.schema import VARIANT
from snowmelt.storage.variant import decode

PASSWORD = "of the first start"


@dataclass
class Lake:
    """What tests ask: run SQL, see what is visible in a table, get a client."""

    account: Account
    session: Session
    clients: list[StreamingIngestClient] = field(default_factory=list)
    url: str | None = None

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        return self.session.execute(sql).rows()

    def client(self) -> StreamingIngestClient:
        if self.url is None:
            made = StreamingIngestClient("test", connection=self.session)
        else:
            made = StreamingIngestClient("test", server=ServerAddress(self.url, "admin", PASSWORD))
        self.clients.append(made)
        return made

    def table(self, name: str) -> CatalogObject:
        with self.account.state.read() as state:
            found = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", name), [ObjectKind.TABLE])
        assert found is not None, f"there is no table {name}"
        return found

    def version(self, name: str) -> int:
        with self.account.state.read() as state:
            visible = state.versions.visible(self.table(name).id)
        assert visible is not None
        return visible.version

    def location(self, name: str) -> str:
        definition = self.table(name).definition
        assert isinstance(definition, TableDefinition)
        return definition.location

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The visible rows, with VARIANT decoded, in the order of the first column."""
        data = self.account.store.read(self.location(name), self.version(name))
        documents = [entry.name for entry in data.schema if entry.type == VARIANT]
        found = data.to_pylist()
        for row in found:
            row |= {key: decode(**row[key]) for key in documents if row[key] is not None}
        return sorted(found, key=lambda row: str(next(iter(row.values()))).zfill(12))

    def column(self, name: str, column: str) -> list[Any]:
        return [row[column] for row in self.rows(name)]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)
    with open_account(tmp_path / "data") as account:
        opened = Lake(account, account.session())
        yield opened
        for client in opened.clients:
            _close(client.close)


@pytest.fixture(params=["in the process", "over HTTP"])
def both(lake: Lake, request: pytest.FixtureRequest) -> Iterator[Lake]:
    """The same lake, whose clients are in the process or come through a server."""
    if request.param == "in the process":
        yield lake
        return
    server = HttpServer(lake.account, load_credentials(lake.account.data_dir)[0])
    with serving_beside(server, Address(port=0)) as port:
        lake.url = f"http://127.0.0.1:{port}"
        yield lake
        for client in lake.clients:
            _close(client.close)


def _close(close: Callable[[], None]) -> None:
    """Tests leave channels behind that were taken or whose tables are gone."""
    try:
        close()
    except Exception as error:
        assert "hannel" in str(error), error
