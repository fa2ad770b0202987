from __future__ import annotations

from tests.playbooks.conftest import database, snowmelt, url

__all__ = ["database", "snowmelt", "url"]
