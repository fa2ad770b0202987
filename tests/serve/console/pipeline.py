"""A small shop with everything that pages show: fresh, late, failed and suspended tables, tasks, checks, a product."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session

DATABASE = "SHOP"
SETUP = Path(__file__).with_name("shop.sql").read_text(encoding="utf-8")
ROUNDS = (
    "INSERT INTO shop.raw.orders VALUES (5, 2, 'it', 44, '2026-11-18'), (6, 3, 'nl', 8.75, '2026-11-18 09:21:00')",
    "INSERT INTO shop.raw.customers VALUES (4, 'Barbara', 'silver', 'barbara@example.com')",
    "INSERT INTO shop.raw.orders VALUES (7, 1, 'de', 31.2, '2026-11-18'), (8, 2, 'es', 65, '2026-11-18 10:02:00')",
    "INSERT INTO shop.raw.orders VALUES (10, 4, 'de', 19.00, '2026-11-18 10:02:30')",
)


def build(session: Session) -> None:
    session.execute_script(SETUP)
    for change in ROUNDS:
        session.execute(change)
        for table in ("revenue", "customer_360"):
            session.execute(f"ALTER DYNAMIC TABLE shop.marts.{table} REFRESH")
    # From here on this one can't be computed.
    session.execute("DROP TABLE shop.raw.prices")
    with suppress(SnowmeltError):
        session.execute("ALTER DYNAMIC TABLE shop.marts.price_list REFRESH")
