"""One Spark application serves all tests that need one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from snowmelt.accounts import open_account
from snowmelt.core.config import QuickMode, QuickSettings, Settings
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support import on_s3
from tests.support.shared_account import SharedAccount
from tests.support.slt import drop_database

SHARED = pytest.StashKey[list[SharedAccount]]()

SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "3g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}
# No query of the tests is large enough to be worth Java's second compiler, which takes half of Java's time.
# With one compiler Java keeps 48 MB for compiled code, which thousands of tests in one process fill; with two it
# keeps 240. The programs that tests start have this from here too.
os.environ["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
# In processes that tests start, as in this one.
on_s3.apply()


# How long an example takes says how busy the machine is, and nothing of the code. What else the profile has (in CI no
# chance) stays.
_GIVEN = hypothesis_settings.get_profile(hypothesis_settings.get_current_profile_name())
hypothesis_settings.register_profile(
    "busy", _GIVEN, deadline=None, suppress_health_check=[*_GIVEN.suppress_health_check, HealthCheck.too_slow]
)
hypothesis_settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", default="on", choices=["on", "off", "all", "compared"],
        help="the quick lane: `all` takes inputs of every size, `compared` also lets Spark compute and compares",
    )  # fmt: skip
    parser.addoption("--store", default="disk", choices=["disk", "s3"], help="where the tables of accounts lie")
    parser.addoption("--rewrite", action="store_true", help="write what .slt queries return into the files")


def pytest_configure(config: pytest.Config) -> None:
    """Every account that a test opens in this process has the quick lane that the option asks for."""
    chosen = str(config.getoption("--quick"))
    compared = QuickSettings(mode=QuickMode.ALL, compared=1.0, strict=True)
    Settings.model_fields["quick"].default = compared if chosen == "compared" else QuickSettings(mode=QuickMode(chosen))
    Settings.model_rebuild(force=True)
    if config.getoption("--store") == "s3":
        config.add_cleanup(on_s3.start().close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of few tests first, which start servers and wait; scripts last. A long one at the end would run alone."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.suffix == ".slt", tests[item.path]))


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command sets logging up for its own standard error and its own level; the next test gets neither."""
    before = structlog.get_config() if structlog.is_configured() else None
    yield
    if before is None:
        structlog.reset_defaults()
    else:
        structlog.configure(**before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """After the last test of a file the shared account is as it was: no file sees roles of another."""
    yield
    if nextitem is None or nextitem.path != item.path:
        for shared in item.session.stash.get(SHARED, []):
            shared.sweep()


@pytest.fixture(scope="session")
def shared_account(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Account]:
    """An account in a temporary folder, shared: tests make databases of their own in it."""
    folder: Path = tmp_path_factory.mktemp("account")
    with open_account(folder, settings=Settings(spark=SPARK)) as opened:
        request.session.stash[SHARED] = [SharedAccount(opened)]
        yield opened
        request.session.stash[SHARED] = []


@pytest.fixture(scope="session")
def account(shared_account: Account) -> Account:
    """The same. Folders whose tests need an account of their own have another one under this name."""
    return shared_account


@pytest.fixture
def session(account: Account) -> Iterator[Session]:
    """A session in a fresh database."""
    opened = account.session()
    name = f"TEST_{opened.id}"
    opened.execute(f"CREATE DATABASE {name}")
    yield opened
    opened.close()
    drop_database(account, name)
