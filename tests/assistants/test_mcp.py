"""`snowmelt mcp`, by the official SDK's own client."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult

from snowmelt.assistants.answers import changes_something
from snowmelt.assistants.server import server_of
from snowmelt.runtime.results import Executes, Result

SENTENCE = "Load orders.csv from a folder into a revenue table daily, 1 GB per day, no personal data, owned by finance"


class Recorded:
    """Stands where a session would: what reaches it is what is tested; answers of sessions are tested elsewhere."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, text: str, /) -> Result:
        self.statements.append(text)
        raise AssertionError("nobody said yes")


def no_session() -> Executes:
    raise AssertionError("a design needs no data")


def value_of(result: CallToolResult) -> Any:
    assert not result.is_error, result.content
    found = result.structured_content
    assert found is not None
    return found.get("result", found) if set(found) == {"result"} else found


def run(work: Callable[[Client], Any], server: Any, **options: Any) -> Any:
    async def inside() -> Any:
        async with Client(server, **options) as client:
            return await work(client)

    return anyio.run(inside)


def answering(yes: bool, asked: list[str]) -> Any:
    async def answer(_: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"yes": yes})

    return answer


async def designed(client: Client) -> dict[str, Any]:
    """The whole conversation, each question answered by its proposal."""
    found = value_of(await client.call_tool("design_begin", {"description": SENTENCE}))
    for _ in range(20):
        asked = found["question"]
        if asked["topic"] == "build":
            return dict(found)
        answer = "id, customer_id, amount" if asked["topic"].startswith("columns") else asked["proposal"]
        found = value_of(await client.call_tool("design_answer", {"state": found["state"], "answer": answer}))
    raise AssertionError(found["question"])


@pytest.mark.parametrize("yes", [True, False])
def test_an_assistant_holds_the_conversation_and_builds_when_a_person_says_yes(tmp_path: Path, yes: bool) -> None:
    asked: list[str] = []

    async def work(client: Client) -> str:
        found = await designed(client)
        assert len(found["summary"]) == 10 and found["question"]["text"] == "Shall I build it?"
        assert {"field": "latency", "value": "1 day", "words": "daily"} in found["understood"]
        built = await client.call_tool("build_project", {"design": found["design"], "folder": str(tmp_path / "p")})
        return str(value_of(built))

    told = run(work, server_of(no_session), elicitation_callback=answering(yes, asked))
    assert len(asked) == 1 and "files would be written" in asked[0]
    assert (tmp_path / "p" / "design.yaml").exists() is yes, told


def test_a_client_that_can_not_ask_gets_a_code_first() -> None:
    session = Recorded()

    async def work(client: Client) -> None:
        first = value_of(await client.call_tool("sql", {"statement": "DROP TABLE orders"}))["not_done"]
        assert "may change something: DROP TABLE orders" in first and session.statements == []
        code = first.rpartition("confirm=")[2].rstrip(".")
        # The code is that of this statement, and of no other.
        other = value_of(await client.call_tool("sql", {"statement": "DROP TABLE customers", "confirm": code}))
        assert "Not done yet" in other["not_done"] and session.statements == []
        await client.call_tool("sql", {"statement": "DROP TABLE orders", "confirm": code})
        assert session.statements == ["DROP TABLE orders"]

    run(work, server_of(lambda: session))


def test_tools_say_whether_they_change_something() -> None:
    async def work(client: Client) -> dict[str, bool]:
        tools = (await client.list_tools()).tools
        assert all(tool.description and tool.annotations is not None for tool in tools)
        return {tool.name: bool(tool.annotations and tool.annotations.read_only_hint) for tool in tools}

    found = run(work, server_of(no_session))
    assert {name for name, reads in found.items() if not reads} == {"sql", "build_project"}
    assert set(found) >= {
        "design_begin", "design_answer", "design_check", "lint", "playbooks", "playbook", "backfill_plan", "lineage",
        "check", "history",
    }  # fmt: skip


def test_a_wrong_answer_is_told_and_a_file_is_decided(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE TABLE t AS SELECT * FROM u;", encoding="utf-8")

    async def work(client: Client) -> None:
        begun = value_of(await client.call_tool("design_begin", {"description": SENTENCE}))
        wrong = await client.call_tool("design_answer", {"state": begun["state"], "answer": "1st"})
        assert wrong.is_error and "not a column's name" in str(wrong.content)
        given = yaml.safe_dump({"name": "x", "latency": "10 seconds"})
        found = value_of(await client.call_tool("design_check", {"requirements": given}))
        assert found["asks"][0]["rule"] == "ASK-LATENCY" and len(found["missing"]) >= 3
        assert value_of(await client.call_tool("playbooks"))[0]["objective"]
        shown = await client.call_tool("playbook", {"name": "backfill-a-table"})
        assert "##" in str(shown.content)
        assert isinstance(value_of(await client.call_tool("lint", {"paths": [str(tmp_path)]})), list)

    run(work, server_of(no_session))


def test_what_may_change_something() -> None:
    for text in ("SELECT 1", "show tables", "DESCRIBE TABLE t", "WITH a AS (SELECT 1 AS x) SELECT x FROM a"):
        assert not changes_something(text)
    for text in ("DELETE FROM t", "SELECT s.NEXTVAL", "SELECT SYSTEM$CANCEL_QUERY('x')", "nonsense", "DROP TABLE t",
                 "SELECT 1; DROP TABLE t", "CALL p()"):  # fmt: skip
        assert changes_something(text), text


@pytest.mark.slow
def test_over_stdio_with_data(tmp_path: Path) -> None:
    """The program itself, in a process of its own, over a directory of its own."""
    asked: list[str] = []
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "snowmelt", "mcp", "--data", str(tmp_path / "d")]
    )

    async def work(client: Client) -> None:
        async def sql(text: str) -> Any:
            return value_of(await client.call_tool("sql", {"statement": text}))

        await sql("CREATE TABLE orders (id INT, amount INT) CHANGE_TRACKING = TRUE")
        await sql("INSERT INTO orders VALUES (1, 10), (2, 20)")
        options = "TARGET_LAG = '1 hour' WAREHOUSE = compute_wh"
        await sql(f"CREATE DYNAMIC TABLE sums {options} AS SELECT SUM(amount) AS s FROM orders")
        assert (await sql("SELECT s FROM sums"))["rows"] == [[30]]
        assert len(asked) == 3
        assert value_of(await client.call_tool("check", {"table": "sums"}))["equal"] is True
        edges = value_of(await client.call_tool("lineage", {"name": "sums"}))["edges"]
        assert "ORDERS" in json.dumps(edges)
        assert value_of(await client.call_tool("history", {"table": "sums"}))["rows"]

    run(work, command, elicitation_callback=answering(True, asked))
