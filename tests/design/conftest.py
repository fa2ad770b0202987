"""Nothing of the designer needs Spark."""

from __future__ import annotations

import pytest

from tests.support.postgres import postgres_url
from tests.support.promtool import promtool

__all__ = ["postgres_url", "promtool"]


@pytest.fixture(autouse=True)
def always_the_same_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the same person: change logs name both."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767312000")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "the tests")


@pytest.fixture
def rewrite(pytestconfig: pytest.Config) -> bool:
    """Whether golden files are to be written anew."""
    return bool(pytestconfig.getoption("--rewrite"))
