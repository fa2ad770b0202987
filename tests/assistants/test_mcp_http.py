"""The tools at a server over HTTP, by the official SDK's own client, with the rights of a token's role."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from snowmelt.accounts import open_account
from snowmelt.assistants.at_server import mount_assistants
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.assistants.test_mcp import SENTENCE, value_of
from tests.serve.callers import ADMIN_PASSWORD, PASSWORD, OwnCaller, Serving, served, until


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with open_account(tmp_path_factory.mktemp("served")) as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        account.session().execute_script(
            f"CREATE ROLE analyst; CREATE USER ann PASSWORD = '{PASSWORD}' DEFAULT_ROLE = analyst;"
            "GRANT ROLE analyst TO USER ann; CREATE DATABASE sales; GRANT USAGE ON DATABASE sales TO ROLE analyst;"
            "GRANT USAGE, CREATE TABLE ON SCHEMA sales.public TO ROLE analyst; CREATE DATABASE secrets;"
            "CREATE TABLE sales.public.kept (a INT); INSERT INTO sales.public.kept VALUES (1), (2);"
            "GRANT SELECT, DELETE ON TABLE sales.public.kept TO ROLE analyst"
        )
        server = HttpServer(account, credentials)
        mount_assistants(server)
        with served(server) as answering:
            yield answering


@pytest.fixture(scope="module")
def token(serving: Serving) -> str:
    made = serving.admin().execute("ALTER USER ann ADD PROGRAMMATIC ACCESS TOKEN tools ROLE_RESTRICTION = 'ANALYST'")
    return str(dict(zip([column.name for column in made.columns], made.rows()[0], strict=True))["token_secret"])


def _with(serving: Serving, token: str, work: Callable[[Client], Any]) -> Any:
    async def inside() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{serving.url}/mcp", http_client=http)) as client,
        ):
            return await work(client)

    return anyio.run(inside)


def test_tools_have_the_rights_of_the_tokens_role(serving: Serving, token: str) -> None:
    async def work(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"design_begin", "sql", "lineage"} <= names
        assert not {"lint", "build_project"} & names, "they would use the server's files with the server's rights"
        who = await client.call_tool("sql", {"statement": "SELECT CURRENT_USER(), CURRENT_ROLE()"})
        assert value_of(who)["rows"] == [["ANN", "ANALYST"]]
        shown = value_of(await client.call_tool("sql", {"statement": "SHOW DATABASES"}))
        assert not any("SECRETS" in row for row in shown["rows"])
        begun = value_of(await client.call_tool("design_begin", {"description": SENTENCE}))
        assert begun["question"]

    _with(serving, token, work)


def test_what_changes_something_asks_and_is_done_once_it_was_answered(serving: Serving, token: str) -> None:
    statement = "CREATE TABLE sales.public.made (id INT)"

    async def work(client: Client) -> None:
        first = value_of(await client.call_tool("sql", {"statement": statement}))
        code = first["not_done"].rpartition("confirm=")[2].rstrip(".")
        assert serving.admin().execute("SHOW TABLES LIKE 'MADE' IN DATABASE sales").rows() == []
        value_of(await client.call_tool("sql", {"statement": statement, "confirm": code}))
        assert len(serving.admin().execute("SHOW TABLES LIKE 'MADE' IN DATABASE sales").rows()) == 1
        refused = "CREATE DATABASE mine"
        asked = value_of(await client.call_tool("sql", {"statement": refused}))["not_done"]
        code = asked.rpartition("confirm=")[2].rstrip(".")
        denied = await client.call_tool("sql", {"statement": refused, "confirm": code})
        assert denied.is_error and "privileges" in str(denied.content).lower()

    _with(serving, token, work)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic YTpi"}])
def test_without_a_token_that_holds_nothing_is_answered(serving: Serving, headers: dict[str, str]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx2.post(f"{serving.url}/mcp", json=body, headers=headers, timeout=60)
    assert answer.status_code == 401


def _call(serving: Serving, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """One request as it is on the wire."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    answer: dict[str, Any] = httpx2.post(f"{serving.url}/mcp", json=body, headers=headers, timeout=120).json()
    return answer


def _filled(schema: dict[str, Any], text: str) -> dict[str, Any]:
    """Arguments of a tool with the text wherever one has room for a text."""
    by_type = {"array": [text], "object": {"text": text}, "boolean": True, "integer": 1}
    return {name: by_type.get(kind.get("type", ""), text) for name, kind in schema.get("properties", {}).items()}


def test_no_tool_reads_a_file_of_the_server(serving: Serving, token: str) -> None:
    secret = (serving.account.data_dir / "owner.token", serving.account.data_dir / "admin.password")

    async def work(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            for file in secret:
                for said in (
                    str(file),
                    f"file://{file}",
                    f"../{file.name}",
                    f"name: {file}",
                    f"SELECT * FROM '{file}'",
                ):
                    answered = await client.call_tool(tool.name, _filled(tool.input_schema, said))
                    assert file.read_text() not in str(answered.content), (tool.name, said)
        assert (await client.list_resources()).resources == [] and (await client.list_prompts()).prompts == []

    _with(serving, token, work)


BOMB = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize("text", ["a: " + "[" * 200_000, "a: " + "{" * 200_000, "- " * 50_000, BOMB, "a: &a [*a]"])
def test_yaml_that_ends_processes_is_refused(serving: Serving, token: str, text: str) -> None:
    refused = _call(serving, token, "design_check", requirements=text)["result"]
    assert refused["isError"] and "this is not YAML: this " in str(refused["content"])


@pytest.mark.parametrize("text", ["a@" * 9_999, "every " * 3_300, "1 GB of the a an " * 1_100, "x" * 900_000])
def test_long_texts_are_read_in_time_or_refused(serving: Serving, token: str, text: str) -> None:
    """What took a minute and more of the processor takes a moment."""
    before = time.process_time()
    answer = _call(serving, token, "design_begin", description=text)["result"]
    assert answer["isError"] is (len(text) > 20_000)
    assert time.process_time() - before < 20


def test_nothing_is_changed_unasked(serving: Serving, token: str) -> None:
    change = "DELETE FROM sales.public.kept"
    for statement in (
        f"SHOW TABLES ->> {change}",
        f"SELECT 1 ->> {change}",
        f"DESC TABLE sales.public.kept ->> {change}",
    ):
        assert "not_done" in _call(serving, token, "sql", statement=statement)["result"]["structuredContent"]
    planned = _call(
        serving, token, "backfill_plan", table="sales.public.kept", column="a", query="SELECT SYSTEM$WAIT(1) AS a"
    )
    assert "may change something" in str(planned["result"]["content"])
    assert serving.admin().execute("SELECT COUNT(*) FROM sales.public.kept").rows() == [(2,)]


def _running(serving: Serving) -> int:
    return sum(session.running is not None and session.user == "ANN" for session in serving.account.sessions())


def test_statements_of_assistants_leave_others_their_threads_and_end_with_their_clients(
    serving: Serving, token: str
) -> None:  # fmt: skip
    slow = "CALL SYSTEM$WAIT(600)"
    asked = _call(serving, token, "sql", statement=slow)["result"]["structuredContent"]["not_done"]
    arguments = {"statement": slow, "confirm": asked.rpartition("confirm=")[2].rstrip(".")}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sql", "arguments": arguments}}
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}

    async def work() -> None:
        async with httpx2.AsyncClient(headers=headers, timeout=600) as http, anyio.create_task_group() as group:
            for _ in range(48):
                group.start_soon(lambda: http.post(f"{serving.url}/mcp", json=body))
            await anyio.to_thread.run_sync(until, lambda: _running(serving) >= 48)
            caller = await anyio.to_thread.run_sync(OwnCaller, serving)
            with anyio.fail_after(30):
                assert await anyio.to_thread.run_sync(caller.run, "SELECT 1") == [["1"]]
            group.cancel_scope.cancel()

    anyio.run(work)
    until(lambda: _running(serving) == 0)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_what_ends_is_answered(serving: Serving, token: str, method: str) -> None:
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    answer = httpx2.request(method, f"{serving.url}/mcp", headers=headers, timeout=60)
    assert answer.status_code == 405
