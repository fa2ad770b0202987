"""Public test suites of Snowflake's clients, run as their own continuous integration runs them on Snowflake.

Their code is not in this repository: SNOWMELT_SUITES names a folder with checkouts. A copy of a checkout is told where
this server is; a plugin for pytest (`suites/suite_plugin.py`) tells how each test ended. What is known to fail stands
with its reason in `known_failures/<name>.toml`.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

VARIABLE = "SNOWMELT_SUITES"
_KNOWN = Path(__file__).parent / "known_failures"
Outcomes = dict[str, tuple[str, str]]
"""By test: how it ended, and why."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A checkout, the environment that it needs, and how it is run and told where the server is."""

    name: str
    folder: str
    address: str
    commit: str
    environment: str
    arguments: tuple[str, ...]
    parameters: str
    """The module in which its tests look for the parameters of their connection."""
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def clone(self) -> str:
        return f"git clone {self.address} {self.folder} (tried with {self.commit})"


_SNOWFLAKE = "https://github.com/snowflakedb"
_NO_OPTIONS = ("-o", "addopts=")
SUITES = (
    Suite(
        "sqlalchemy", "snowflake-sqlalchemy", f"{_SNOWFLAKE}/snowflake-sqlalchemy", "be6dc6a", "suites_sqlalchemy",
        ("tests", "--ignore=tests/sqlalchemy_test_suite"), parameters="tests/parameters.py",
    ),
    Suite(
        "sqlalchemy-compliance", "snowflake-sqlalchemy", f"{_SNOWFLAKE}/snowflake-sqlalchemy", "be6dc6a",
        "suites_sqlalchemy", ("tests/sqlalchemy_test_suite",), parameters="tests/parameters.py",
    ),
    Suite(
        "connector", "snowflake-connector-python", f"{_SNOWFLAKE}/snowflake-connector-python", "50e7fc5",
        "suites_connector",
        # Without Snowflake's own log-ins, without hours of large files, and without what needs an account at a cloud.
        (
            *_NO_OPTIONS, "test/integ", "--ignore=test/integ/aio_it", "--ignore=test/integ/sso_it",
            "--ignore=test/integ/lambda_it", "--ignore=test/integ/test_large_put.py",
            "--ignore=test/integ/test_put_get_with_aws_token.py",
            "--ignore=test/integ/test_put_get_with_azure_token.py",
        ),
        parameters="test/parameters.py", variables={"USE_PASSWORD": "true"},
    ),
)  # fmt: skip


def checkout(suite: Suite) -> Path:
    """The folder with the checkout. Says what to do when it is missing."""
    folder = Path(os.environ.get(VARIABLE) or "") / suite.folder
    if VARIABLE not in os.environ or not folder.is_dir():
        pytest.skip(f"needs {VARIABLE}=<folder> with checkouts of the clients' suites. In the folder: {suite.clone}")
    return folder


def copy_suite(suite: Suite, into: Path, port: int, password: str, database: str) -> tuple[Path, dict[str, str]]:
    """A copy that runs against this server: where to run it, and the variables that it needs."""
    copied = into / suite.folder
    shutil.copytree(checkout(suite), copied, ignore=shutil.ignore_patterns(".git", "src", "*.jar"))
    login = {
        "account": "snowmelt", "user": "admin", "password": password, "database": database, "schema": "PUBLIC",
        "host": "127.0.0.1", "port": str(port), "protocol": "http", "warehouse": "COMPUTE_WH", "role": "ACCOUNTADMIN",
    }  # fmt: skip
    (copied / suite.parameters).write_text(f"CONNECTION_PARAMETERS = {login!r}\n", encoding="utf-8")
    return copied, {
        **suite.variables, "TZ": "UTC", "PYTHONPATH": str(Path(__file__).parent / "suites"),
        "SNOWMELT_OUTCOMES": str(into / "outcomes.jsonl"),
    }  # fmt: skip


def outcomes(path: Path) -> Outcomes:
    """How each test ended: the worst that was told of it."""
    found: Outcomes = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        before = found.get(told["test"])
        if before is None or before[0] != "failed":
            found[told["test"]] = told["outcome"], told["why"]
    return found


@dataclass(frozen=True, slots=True)
class KnownClass:
    """Tests that fail for one reason."""

    why: str
    message: str
    """Stands in what they fail with; empty where `tests` say all."""
    tests: tuple[str, ...]
    """What their names contain; empty where the message says all."""

    def explains(self, test: str, why: str) -> bool:
        return self.message in why and (not self.tests or any(part in test for part in self.tests))


def known_classes(suite: Suite) -> list[KnownClass]:
    path = _KNOWN / f"{suite.name}.toml"
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["class"]
    return [KnownClass(one["why"], one.get("message", ""), tuple(one.get("tests", ()))) for one in entries]


def judged(suite: Suite, found: Outcomes, tell: Callable[[str], None]) -> dict[str, str]:
    """Tells the share that passed and how many fail for which reason; gives what fails for no known one."""
    classes = known_classes(suite)
    counted = dict.fromkeys((one.why for one in classes), 0)
    unknown: dict[str, str] = {}
    ran = {test: told for test, told in found.items() if told[0] in ("passed", "failed")}
    for test, (outcome, why) in ran.items():
        if outcome == "passed":
            continue
        known = next((one for one in classes if one.explains(test, why)), None)
        if known is None:
            unknown[test] = why
        else:
            counted[known.why] += 1
    passed = sum(outcome == "passed" for outcome, _ in ran.values())
    tell(f"{suite.name}: {passed} of {len(ran)} pass, {sum(counted.values())} fail for known reasons")
    for reason, count in counted.items():
        tell(f"  {count:4} {reason}")
    return unknown
