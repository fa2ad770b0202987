"""Accounts that never start Spark, as the tests of observing have them."""

from __future__ import annotations

from tests.features.observing.conftest import clock, opened

__all__ = ["clock", "opened"]
