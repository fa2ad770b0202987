"""The public suites of Snowflake's clients: what fails has a reason that is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.conftest import Client
from tests.clients.public_suites import SUITES, Suite, copy_suite, judged, known_classes, outcomes
from tests.clients.server import PASSWORD


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_what_fails_of_a_suite_is_known(
    suite: Suite, tmp_path: Path, client: Client, door: int, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    home, variables = copy_suite(suite, tmp_path, door, PASSWORD, database)
    done = client(
        suite.environment, "python", "-m", "pytest", "-q", "-p", "suite_plugin", "-p", "no:cacheprovider",
        "--timeout=600", *suite.arguments, cwd=home, deadline=3.5 * 3600, **variables,
    )  # fmt: skip
    told = Path(variables["SNOWMELT_OUTCOMES"])
    assert told.exists(), done.stdout[-3000:] + done.stderr[-3000:]

    def tell(line: str) -> None:
        with capsys.disabled():
            print(line)

    unknown = judged(suite, outcomes(told), tell)
    assert not unknown, json.dumps(unknown, indent=1)


def test_each_known_failure_can_be_recognised() -> None:
    for suite in SUITES:
        for known in known_classes(suite):
            assert known.why
            assert known.message or known.tests, known.why


def test_a_failure_is_known_by_its_message_and_its_name(tmp_path: Path) -> None:
    told = tmp_path / "outcomes.jsonl"
    lines = [
        {"test": "a", "outcome": "passed", "when": "call", "why": ""},
        {"test": "a", "outcome": "failed", "when": "teardown", "why": "Unsupported feature 'the type VECTOR(INT)'"},
        {"test": "b", "outcome": "failed", "when": "call", "why": "something new"},
        {"test": "c", "outcome": "skipped", "when": "setup", "why": "not here"},
    ]
    told.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    said: list[str] = []
    assert judged(SUITES[0], outcomes(told), said.append) == {"b": "something new"}
    assert said[0] == "sqlalchemy: 0 of 2 pass, 1 fail for known reasons"
