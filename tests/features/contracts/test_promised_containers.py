"""DROP SCHEMA and DROP DATABASE: what is promised to somebody does not go with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.session import Session

_REMOVALS = (
    "DROP SCHEMA shop.sales", "DROP SCHEMA shop.sales CASCADE", "CREATE OR REPLACE SCHEMA shop.sales",
    "DROP DATABASE shop", "CREATE OR REPLACE DATABASE shop",
)  # fmt: skip


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with open_account(tmp_path) as account:
        found = account.session()
        for statement in (
            "CREATE DATABASE shop", "CREATE SCHEMA sales", "CREATE TABLE orders (order_id INT NOT NULL, amount INT)",
            "CREATE DATABASE promises",
        ):  # fmt: skip
            found.execute(statement)
        yield found


def _promised(session: Session, contract: str) -> None:
    session.execute(f"CREATE CONTRACT {contract} FROM TABLE shop.sales.orders")
    session.execute(f"ALTER TABLE shop.sales.orders SET CONTRACT = {contract}")


def test_consumers_are_named(session: Session) -> None:
    _promised(session, "shop.sales.c")
    session.execute("ALTER CONTRACT shop.sales.c ADD CONSUMER finance CONTACT = 'finance@example.com'")
    for statement in _REMOVALS:
        with pytest.raises(SnowmeltError, match=r"removes 'SHOP.SALES.ORDERS'.*FINANCE \(finance@") as refused:
            session.execute(statement)
        assert refused.value.code == "370012", statement
    session.execute("ALTER TABLE shop.sales.orders UNSET CONTRACT")
    session.execute("DROP SCHEMA shop.sales")


def test_a_contract_that_lies_elsewhere_holds(session: Session) -> None:
    _promised(session, "promises.public.c")
    for statement in _REMOVALS:
        with pytest.raises(SnowmeltError, match=r"PROMISES\.PUBLIC\.C"):
            session.execute(statement)


def test_a_contract_that_others_are_held_to_stays(session: Session) -> None:
    _promised(session, "promises.public.c")
    for statement in ("DROP SCHEMA promises.public", "DROP DATABASE promises"):
        with pytest.raises(SnowmeltError, match=r"attached to 'SHOP\.SALES\.ORDERS'"):
            session.execute(statement)


def test_what_is_promised_to_nobody_else_goes_along(session: Session) -> None:
    _promised(session, "shop.sales.c")
    session.execute("DROP SCHEMA shop.sales")
    session.execute("UNDROP SCHEMA shop.sales")
    session.execute("DROP DATABASE shop")
