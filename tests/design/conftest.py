"""Nothing of the designer needs Spark."""

from __future__ import annotations

import pytest

from tests.support.postgres import postgres_url
from tests.support.promtool import promtool

__all__ = ["postgres_url", "promtool"]


@pytest.fixture
def rewrite(pytestconfig: pytest.Config) -> bool:
    """Whether golden files are to be written anew."""
    return bool(pytestconfig.getoption("--rewrite"))
