"""The ways in which a client of a server gets rows: each gives all that came back as one text."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pyarrow.ipc
import pyarrow.parquet

from snowmelt.serve.wire import result_from_json
from tests.clients.environments import client_environment, client_python
from tests.serve.api_client import ApiClient
from tests.serve.callers import OwnCaller, Serving, SnowflakeCaller
from tests.serve.console.test_api import Visitor
from tests.support.waiting import DEADLINE

PASSWORD = "correct horse battery"
READER = "PM_READER"
CLIENTS = Path(__file__).parents[2] / "clients" / "suites"
Door = Callable[[Serving, str, str, Sequence[list[str]]], list[str]]
"""Of a server, a token, the schema to work in, and ways of some statements each: what came back, for each way."""


def as_json(serving: Serving, token: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    """Snowflake's protocol: rows as text, then what its other addresses tell of the same statements."""
    return _by_protocol(serving, "test", schema, ways)


def as_arrow(serving: Serving, token: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    return _by_protocol(serving, "PythonConnector", schema, ways)


def _by_protocol(serving: Serving, program: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    caller = SnowflakeCaller(serving, READER, PASSWORD=PASSWORD, CLIENT_APP_ID=program)
    caller.http.timeout = DEADLINE
    assert caller.send(f"USE SCHEMA pm.{schema}")["success"]
    found = []
    for way in ways:
        told = []
        for sql in way:
            answer = caller.send(sql)
            while answer["code"] == "333333":
                answer = caller.get(answer["data"]["getResultUrl"])
            told.append(_shown(answer))
            if answer.get("data", {}).get("queryId"):
                query = answer["data"]["queryId"]
                told.append(_shown(caller.get(f"/queries/{query}/result")))
                told.append(json.dumps(caller.get(f"/monitoring/queries/{query}")))
        found.append("\n".join(told))
    caller.http.close()
    return found


def _shown(answer: dict[str, Any]) -> str:
    """An answer as text, with its Arrow rows read."""
    encoded = (answer.get("data") or {}).pop("rowsetBase64", None)
    rows = pyarrow.ipc.open_stream(base64.b64decode(encoded)).read_all().to_pylist() if encoded else []
    return json.dumps([answer, rows], default=str)


def own_api(serving: Serving, token: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    caller = OwnCaller(serving, READER, database="PM", schema=schema)
    caller.http.timeout = DEADLINE
    found = []
    for way in ways:
        answers = [caller.http.post("/api/v1/statements", json={"sql": sql}, headers=caller.headers) for sql in way]
        answers.append(caller.http.get("/api/v1/statements/current", headers=caller.headers))
        found.append("\n".join(_rows_shown(answer) for answer in answers))
    return found


def _rows_shown(answer: httpx.Response) -> str:
    result = answer.json().get("result")
    return answer.text + (json.dumps(result_from_json(result).rows(), default=str) if result is not None else "")


def sql_api(serving: Serving, token: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    """All statements of a way in one request, since requests share no session."""
    client = ApiClient(serving.url, token)
    client.http.timeout = DEADLINE
    found = []
    for way in ways:
        given = {"database": "PM", "schema": schema, "parameters": {"MULTI_STATEMENT_COUNT": str(len(way))}}
        answer = client.submit("; ".join(way), **given)
        told = [answer.text]
        body = answer.json()
        handles = [*body.get("statementHandles", []), *filter(None, [body.get("statementHandle")])]
        told += [client.look(handle).text for handle in handles]
        found.append("\n".join(told))
    client.http.close()
    return found


def console(serving: Serving, token: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    """A worksheet: the first rows, the others, and each format of a download."""
    visitor = Visitor(serving, READER, PASSWORD)
    visitor.http.timeout = DEADLINE
    visitor.run(f"USE SCHEMA pm.{schema}", worksheet="w", wait=25)
    found = []
    for way in ways:
        told = []
        for sql in way:
            ran = visitor.run(sql, worksheet="w", wait=25)
            while "waits" in ran:
                ran = visitor.get(f"/statements/{ran['id']}?wait=25")
            told += [json.dumps(ran), visitor.http.get(f"/statements/{ran['id']}/rows").text]
            for form in ("csv", "json", "parquet"):
                answer = visitor.http.get(f"/statements/{ran['id']}/download", params={"format": form})
                told.append(_downloaded(answer, form))
        found.append("\n".join(told))
    found[-1] += "\n".join(visitor.http.get(path).text for path in ("/graph", "/home", "/spark", "/session"))
    return found


def _downloaded(answer: httpx.Response, form: str) -> str:
    if form == "parquet" and answer.status_code == 200:
        return str(pyarrow.parquet.read_table(io.BytesIO(answer.content)).to_pylist())
    return answer.text


def assistants(serving: Serving, token: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    """The tool that runs SQL; each request is a session of its own."""
    found = []
    for way in ways:
        told = []
        for sql in way:
            answer = tool(serving, token, "sql", statement=sql)
            if "confirm=" in answer:
                code = answer.rpartition("confirm=")[2][:8]
                answer = tool(serving, token, "sql", statement=sql, confirm=code)
            told.append(answer)
        found.append("\n".join(told))
    found[-1] += "\n".join(
        tool(serving, token, name, **arguments)
        for name, arguments in {
            "check": {"table": "pm.s.dt"}, "history": {"table": "pm.s.dt"}, "lineage": {"name": "pm.s.dt"},
            "backfill_plan": {"table": "pm.s.t", "column": "ssn", "source": "pm.s.t"},
        }.items()
    )  # fmt: skip
    return found


def tool(serving: Serving, token: str, name: str, /, **arguments: Any) -> str:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return httpx.post(f"{serving.url}/mcp", json=body, headers=headers, timeout=DEADLINE).text


def connector(serving: Serving, token: str, schema: str, ways: Sequence[list[str]]) -> list[str]:
    """Snowflake's own connector, in an environment of its own."""
    given = {
        "SNOWMELT_PORT": str(serving.port), "SNOWMELT_ADMIN_PASSWORD": PASSWORD, "SNOWMELT_DATABASE": "PM",
        "POLICY_USER": READER, "POLICY_SCHEMA": schema, "POLICY_WAYS": json.dumps(list(ways)), "HOME": os.devnull,
    }  # fmt: skip
    done = subprocess.run(
        [str(client_python("python4")), str(CLIENTS / "policies_connector.py")], env=client_environment() | given,
        capture_output=True, text=True, timeout=DEADLINE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[str] = json.loads(done.stdout)
    return found


DOORS: dict[str, Door] = {
    "json": as_json, "arrow": as_arrow, "own": own_api, "sql api": sql_api, "console": console,
    "assistants": assistants, "connector": connector,
}  # fmt: skip


def schema_of(door: str) -> str:
    """The reader's own schema for what a door makes."""
    return f"MINE_{door.replace(' ', '_').upper()}_{uuid.uuid5(uuid.NAMESPACE_URL, door).hex[:4].upper()}"
