"""A PostgreSQL for the extractors."""

from __future__ import annotations

from tests.support.postgres import postgres_url

__all__ = ["postgres_url"]
