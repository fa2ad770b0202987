"""Records to an API: each version of each record once, whatever is killed, and what it rejects is kept."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import snowmelt
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import (
    Batch,
    DeadLetterLoader,
    Extractor,
    Flow,
    FlowResult,
    LoadStrategy,
    RestLoader,
    SourceRefusedError,
    endpoint_of,
    make_loader,
    run_flow,
)
from snowmelt.extract_load.sources.ordering import parts, whole_batches
from tests.extract_load.web import Web
from tests.support.waiting import DEADLINE

pytestmark = pytest.mark.slow


@pytest.fixture
def web() -> Iterator[Web]:
    opened = Web()
    yield opened
    opened.close()


class People(Extractor):
    def __init__(self, people: list[dict[str, Any]]) -> None:
        self.people = people

    def extract(self, after: str | None) -> Iterator[Batch]:
        return whole_batches(lambda: parts(self.people, 10), after, "people", ["id"])


def people(count: int) -> list[dict[str, Any]]:
    return [{"id": number, "tier": "Gold"} for number in range(count)]


def send(
    connection: snowmelt.Connection, web: Web, found: list[dict[str, Any]], *, kept: bool = True, **arguments: Any
) -> FlowResult:
    letters = DeadLetterLoader(connection, "letters", "people", "run")
    arguments = {"path": "people/{id}", "method": "PUT", "sleep": lambda _: None, **arguments}
    dead_letters = letters if kept else None
    loader = RestLoader(
        connection, web.address, "people", "people", "run", key=["id"], dead_letters=dead_letters, **arguments
    )
    with closing(letters), closing(loader):
        return run_flow(Flow("people", People(found), loader, dead_letters=dead_letters, attempts=1))


def bodies(web: Web) -> list[dict[str, Any]]:
    return [record for _, record in web.taken.values()]


def test_what_is_another_is_sent_and_nothing_else(connection: snowmelt.Connection, web: Web) -> None:
    found = people(25)
    send(connection, web, found)
    assert bodies(web) == found
    assert [path for path, _ in web.taken.values()] == [f"/people/{number}" for number in range(25)]
    send(connection, web, found)
    assert len(web.deliveries) == 25, "a second run sends nothing"
    found[3]["tier"] = "Silver"
    found.append({"id": 99, "tier": "Gold"})
    send(connection, web, found)
    assert bodies(web)[25:] == [{"id": 3, "tier": "Silver"}, {"id": 99, "tier": "Gold"}]
    for tier in ("Gold", "Silver"):
        # As it was before, and as it was then: each is a version of its own, and no repetition.
        found[3]["tier"] = tier
        send(connection, web, found)
    assert [record["tier"] for record in bodies(web)[27:]] == ["Gold", "Silver"]
    assert len(set(web.deliveries)) == len(web.deliveries) == 29


def test_rejected_records_are_kept_or_stop_the_run(connection: snowmelt.Connection, web: Web) -> None:
    found = people(5)
    web.judge = lambda record: 422 if record["id"] == 2 else 200
    with pytest.raises(SourceRefusedError, match="id=2: the sink answers 422: no such tier"):
        send(connection, web, found, kept=False)
    assert len(bodies(web)) == 2
    send(connection, web, found)
    send(connection, web, found)
    assert [record["id"] for record in bodies(web)] == [0, 1, 3, 4]
    assert len(web.deliveries) == 6, "what was taken before it stopped is not sent again, nor what was rejected"
    (letter,) = connection.execute("SELECT reason, record:id::INT, source_position FROM letters").fetchall()
    assert letter == ("the sink answers 422: no such tier", 2, "id=2")
    web.judge = lambda record: 200
    found[2]["tier"] = "Silver"
    send(connection, web, found)
    assert bodies(web)[-1] == {"id": 2, "tier": "Silver"}, "another version gets another try"


def test_a_busy_api_is_waited_for(connection: snowmelt.Connection, web: Web) -> None:
    waited: list[float] = []
    web.trouble = [(429, {"Retry-After": "7"}, b""), (503, {}, b"")]
    send(connection, web, people(3), sleep=waited.append, requests_per_second=100)
    assert bodies(web) == people(3)
    assert waited[0] == 7 and max(waited[2:]) <= 0.01
    web.trouble = [(503, {}, b"")] * 5
    with pytest.raises(SnowmeltError, match="is not available: it answers 503") as told:
        send(connection, web, people(4))
    assert told.value.transient
    send(connection, web, people(4))
    assert bodies(web) == people(4)


def test_an_api_is_made_from_configuration(connection: snowmelt.Connection, web: Web) -> None:
    web.allowed = lambda headers, _: headers.get("authorization") == "Bearer secret"
    entry = {"kind": "api", "address": web.address, "auth": "bearer", "token": "${TOKEN}", "requests_per_second": 1000}
    endpoint = endpoint_of("crm", entry, {"TOKEN": "secret"})
    made = make_loader(
        endpoint, "people", "flow", "run", strategy=LoadStrategy.UPSERT, key=["id"], connection=connection
    )
    with closing(made) as loader:
        run_flow(Flow("flow", People(people(2)), loader))
    assert list(web.taken.values()) == [("/people", record) for record in people(2)]
    with pytest.raises(SnowmeltError, match="can't be loaded by overwrite"):
        make_loader(endpoint, "people", "f", "run", strategy=LoadStrategy.OVERWRITE, connection=connection)


class DyingLoader(RestLoader):
    """Killed before it sends one of its records; nothing since the last commit is known then."""

    left = 0

    def _identity(self, *arguments: Any) -> str:
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGKILL)
        return super()._identity(*arguments)


def send_until_killed(data: Path, address: str, at: int) -> None:
    with snowmelt.connect(data) as connection:
        loader = DyingLoader(
            connection, address, "people", "people", "run", key=["id"], path="people/{id}", method="PUT"
        )
        loader.left = at
        with closing(loader):
            run_flow(Flow("people", People(people(25)), loader, attempts=1))


def test_killed_in_the_middle_nothing_is_lost_and_nothing_counts_twice(tmp_path: Path, web: Web) -> None:
    """What is repeated has the same keys: the API knows it."""
    context = multiprocessing.get_context("spawn")
    for at in (5, 14):
        process = context.Process(target=send_until_killed, args=(tmp_path / "data", web.address, at))
        process.start()
        process.join(DEADLINE)
        assert process.exitcode == -signal.SIGKILL
    process = context.Process(target=send_until_killed, args=(tmp_path / "data", web.address, 1000))
    process.start()
    process.join(DEADLINE)
    assert process.exitcode == 0
    assert bodies(web) == people(25), "each once, in order"
    repeated = len(web.deliveries) - len(set(web.deliveries))
    assert 0 < repeated <= 4 + 3, "only what was not committed"
