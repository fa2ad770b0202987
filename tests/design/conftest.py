"""Nothing of the designer needs Spark."""

from __future__ import annotations

import pytest

from tests.support.postgres import postgres_url

__all__ = ["postgres_url"]


@pytest.fixture
def rewrite(pytestconfig: pytest.Config) -> bool:
    """Whether golden files are to be written anew."""
    return bool(pytestconfig.getoption("--rewrite"))
