"""What the server answers to requests that no client of ours would send."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from snowmelt.features.channels.service import Channels
from snowmelt.ingest.channels import wire
from snowmelt.ingest.channels.ports import BatchPart
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.features.channels.conftest import Lake

CHANNELS = "/api/v1/channels"


class Caller:
    def __init__(self, lake: Lake) -> None:
        server = HttpServer(lake.account, load_credentials(lake.account.data_dir)[0])
        self.http = TestClient(server.app)
        login = {"local_token": server.credentials.local_token}
        self.token = self.http.post("/api/v1/sessions", json=login).json()["token"]
        self.other = self.http.post("/api/v1/sessions", json=login).json()["token"]

    def post(self, path: str, *, token: str | None = None, **request: Any) -> Any:
        headers = {"Authorization": f"Bearer {token or self.token}", **request.pop("headers", {})}
        return self.http.post(f"{CHANNELS}{path}", headers=headers, **request)


@pytest.fixture
def caller(lake: Lake) -> Iterator[Caller]:
    lake.run("CREATE TABLE t (id INT, v VARIANT)")
    yield Caller(lake)


@pytest.fixture
def rows_at(caller: Caller) -> str:
    """Where the rows of an open channel go."""
    opened = caller.post("", json={"channel": "c", "table": "t"}).json()
    return f"/{opened['channel_id']}/rows?sequencer={opened['client_sequencer']}"


def test_json_rows_from_any_client(lake: Lake, caller: Caller, rows_at: str) -> None:
    lines = caller.post(f"{rows_at}&number=1&end=5", content=b'{"id": 1, "v": {"a": 1.10}}\n{"id": 2}\n')
    assert lines.json() == {"rows": 2, "rejected": 0, "errors": []}
    array = caller.post(f"{rows_at}&number=2&end=6", content=b'[{"id": "3"}, {"id": null}]')
    assert array.json()["rows"] == 2
    again = caller.post(f"{rows_at}&number=2&end=6", content=b'[{"id": "3"}, {"id": null}]')
    assert again.json()["rows"] == 2, "a request that is repeated counts once"
    lake.account.services[Channels].stop(60)
    assert sorted(str(value) for value in lake.column("T", "ID")) == ["1", "2", "3", "None"]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]x", b"{", b"[1]", b'"text"', b"\xff\xfe", b"[" * 100_000, b'{"id": 1}{"id": 2}', b"\x1f\x8b broken"],
)
def test_bodies_that_are_no_rows(caller: Caller, rows_at: str, body: bytes) -> None:
    answer = caller.post(f"{rows_at}&number=1", content=body)
    assert answer.status_code == (200 if body == b"" else 400), answer.text


def test_broken_arrow_is_refused_wherever_it_breaks(caller: Caller, rows_at: str) -> None:
    good = wire.parts_to_arrow((BatchPart(pa.table({"id": [1, 2, 3], "v": ["1", "2", "3"]})),))
    chance = random.Random(7)
    for _ in range(60):
        body = bytearray(good)
        if chance.random() < 0.5:
            body = body[: chance.randrange(len(body))]
        for _ in range(chance.randint(1, 4)):
            if body:
                body[chance.randrange(len(body))] = chance.randrange(256)
        answer = caller.post(f"{rows_at}&number=1", content=bytes(body), headers={"content-type": wire.ARROW})
        if answer.status_code == 200:
            # Only bytes that do not matter, or values, were hit: then it is a batch like any other.
            rows_at = caller.post("", json={"channel": "c", "table": "t"}).json()
            rows_at = f"/{rows_at['channel_id']}/rows?sequencer={rows_at['client_sequencer']}"
        else:
            assert answer.status_code in (400, 409, 422), answer.text


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("values", [pa.array(["0" * 1_000] * 1_000), pa.array(["0" * 9_000] * 9).dictionary_encode()])
def test_compressed_arrow_is_refused_before_it_is_unpacked(
    caller: Caller, rows_at: str, compression: str, values: pa.Array
) -> None:
    sink = pa.BufferOutputStream()
    rows = pa.table({"v": values})
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(rows)
    body = sink.getvalue().to_pybytes()
    answer = caller.post(f"{rows_at}&number=1", content=body, headers={"content-type": wire.ARROW})
    assert answer.status_code == 400
    assert "compressed" in answer.text


def test_more_rows_than_a_batch_may_have(caller: Caller, rows_at: str) -> None:
    body = wire.parts_to_arrow((BatchPart(pa.table({"id": pa.nulls(wire.MOST_ROWS + 1)})),))
    answer = caller.post(f"{rows_at}&number=1", content=body, headers={"content-type": wire.ARROW})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "query",
    [
        "",
        "&number=x",
        "&number=-1",
        "&number=1e9",
        "&number=9999999999999999999",
        "&number=٣",
        "&number=7",
        "&number=0",
    ],
)
def test_numbers_that_are_none(caller: Caller, rows_at: str, query: str) -> None:
    assert caller.post(f"{rows_at}{query}", content=b'{"id": 1}').status_code in (400, 409)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("", {}, 400), ("", {"channel": "c"}, 400), ("", {"channel": 1, "table": "t"}, 400),
        ("", {"channel": "c", "table": "missing"}, 404), ("", {"channel": "c" * 300, "table": "t"}, 422),
        ("", {"channel": "c", "table": "t", "on_error": "perhaps"}, 400),
        ("", {"channel": "c", "table": "t", "offset_token": 5}, 400),
        ("", {"channel": "c", "table": "t", "offset_token": "x" * 10_000}, 422),
        ("", {"channel": "c", "table": "t; DROP TABLE t"}, 422),
        ("/statuses", {"table": "t"}, 400), ("/statuses", {"table": "t", "channels": [1]}, 400),
        ("/drop", {"table": "t", "channel": "none"}, 404),
        ("/none/wait?sequencer=1&number=1&seconds=1", None, 409), ("/none/flush", None, 400),
        ("/none/wait?sequencer=1&number=1&seconds=nan", None, 409),
    ],
)  # fmt: skip
def test_requests_that_make_no_sense(caller: Caller, path: str, body: Any, status: int) -> None:
    answer = caller.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert set(answer.json()["error"]) == {"code", "sqlstate", "message", "hint", "transient"}


def test_a_ticket_is_of_no_use_to_another_session(caller: Caller, rows_at: str) -> None:
    assert caller.post(f"{rows_at}&number=1", token=caller.other, content=b'{"id": 1}').status_code == 409
    assert caller.post(f"{rows_at}&number=1", token="stolen", content=b'{"id": 1}').status_code == 401
    assert caller.post(f"{rows_at}&number=1", content=b'{"id": 1}').status_code == 200
