"""The source: a small shop in PostgreSQL, and people who buy, move, change their minds and leave."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, text

from snowmelt.core import errors
from snowmelt.demo.stopwatch import StopwatchMark

CITIES = ("Bergen", "Bern", "Ghent", "Graz", "Lyon", "Porto", "Turin", "Ulm")
TIERS = ("bronze", "silver", "gold")
PRODUCTS = {"Assam": 890, "Darjeeling": 1250, "Earl Grey": 790, "Matcha": 2190, "Oolong": 1490, "Rooibos": 650}
"""In cents."""
_NAMES = ("Ada", "Alan", "Barbara", "Donald", "Edsger", "Frances", "Grace", "Hedy", "John", "Katherine", "Niklaus")
_STATUSES = ("paid", "shipped", "delivered", "returned")
_FIRST_CUSTOMERS, _FIRST_ORDERS = 400, 600

Row = Mapping[str, Any]


class Shop:
    """The shop's database. One at a time may change it: whoever holds the `Clerk`."""

    def __init__(self, url: str) -> None:
        try:
            self._engine: Engine = create_engine(
                url.replace("postgresql:", "postgresql+psycopg:", 1),
                isolation_level="READ COMMITTED",
                poolclass=NullPool,
            )
        except ModuleNotFoundError as error:
            raise errors.configuration(
                f"The package {error.name} is not installed.", hint="Run: pip install 'snowmelt[demo]'."
            ) from None

    def connect(self) -> Connection:
        return self._engine.connect()

    def build(self) -> Clerk:
        """Makes the tables and what was in the shop before anybody captured it; whoever goes on from there."""
        clerk = Clerk(random.Random(2026))
        with self.connect() as connection, connection.begin():
            connection.exec_driver_sql(files("snowmelt.demo").joinpath("shop.sql").read_text(encoding="utf-8"))
            for _ in range(_FIRST_CUSTOMERS):
                clerk.registers(connection)
            for _ in range(_FIRST_ORDERS):
                clerk.sells(connection)
        return clerk

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]


@dataclass(slots=True)
class Clerk:
    """Knows who the customers are and which orders are open; each deed returns how many rows it changed."""

    random: random.Random
    customers: list[int] = field(default_factory=list)
    open_orders: dict[int, int] = field(default_factory=dict)
    """By order, the number of its lines."""
    last_customer: int = 0
    last_order: int = 0

    def acts(self, connection: Connection) -> int:
        deeds: Sequence[Callable[[Connection], int]] = (
            self.sells, self.processes, self.registers, self.moves, self.corrects, self.cancels, self.forgets,
        )  # fmt: skip
        (deed,) = self.random.choices(deeds, weights=(48, 22, 6, 10, 6, 6, 2))
        return deed(connection)

    def registers(self, connection: Connection) -> int:
        self.last_customer += 1
        name = f"{self.random.choice(_NAMES)} {self.last_customer}"
        row = {"id": self.last_customer, "name": name, "city": self.random.choice(CITIES)}
        self.customers.append(self.last_customer)
        return _run(connection, "INSERT INTO customers (id, name, city) VALUES (:id, :name, :city)", row)

    def sells(self, connection: Connection) -> int:
        """A new order with one to four lines."""
        self.last_order += 1
        order = self.last_order
        self.open_orders[order] = self.random.randint(1, 4)
        lines = [{"order": order, "line": line, **self._item()} for line in range(1, self.open_orders[order] + 1)]
        customer = self.random.choice(self.customers)
        return _run(
            connection, "INSERT INTO orders (id, customer_id) VALUES (:id, :customer)",
            {"id": order, "customer": customer},
        ) + _run(
            connection,
            "INSERT INTO order_lines VALUES (:order, :line, :product, :quantity, (:cents)::numeric / 100)",
            *lines,
        )  # fmt: skip

    def processes(self, connection: Connection) -> int:
        """Several orders go one step on, as the parcel service does it: in one transaction."""
        chosen = self.random.sample(sorted(self.open_orders), min(len(self.open_orders), self.random.randint(1, 5)))
        status = self.random.choice(_STATUSES)
        return _run(connection, "UPDATE orders SET status = :status WHERE id = :id",
                    *({"id": order, "status": status} for order in chosen))  # fmt: skip

    def moves(self, connection: Connection) -> int:
        """A customer gets another city, or another tier."""
        column, values = self.random.choice((("city", CITIES), ("tier", TIERS)))
        row = {"id": self.random.choice(self.customers), "value": self.random.choice(values)}
        return _run(connection, f"UPDATE customers SET {column} = :value WHERE id = :id", row)

    def corrects(self, connection: Connection) -> int:
        order = self.random.choice(list(self.open_orders))
        row = {"id": order, "line": self.random.randint(1, self.open_orders[order])}
        return _run(
            connection, "UPDATE order_lines SET quantity = quantity + 1 WHERE order_id = :id AND line = :line", row
        )

    def cancels(self, connection: Connection) -> int:
        order = self.random.choice(list(self.open_orders))
        del self.open_orders[order]
        row = {"id": order}
        return _run(connection, "DELETE FROM order_lines WHERE order_id = :id", row) + _run(
            connection, "DELETE FROM orders WHERE id = :id", row
        )

    def forgets(self, connection: Connection) -> int:
        """A customer asks to be deleted; the orders stay."""
        customer = self.customers.pop(self.random.randrange(len(self.customers)))
        return _run(connection, "DELETE FROM customers WHERE id = :id", {"id": customer})

    def _item(self) -> dict[str, Any]:
        product, cents = self.random.choice(list(PRODUCTS.items()))
        return {"product": product, "quantity": self.random.randint(1, 5), "cents": cents}


class WriteLoad:
    """Transactions at a steady rate in a thread of its own, until it is stopped."""

    def __init__(self, shop: Shop, clerk: Clerk, transactions_per_second: float) -> None:
        self._shop = shop
        self._clerk = clerk
        self._pause = 1 / transactions_per_second
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="snowmelt-demo-load", daemon=True)
        self.marks: list[StopwatchMark] = []
        """After each transaction, how many rows all of them have changed. Only ever appended to."""
        self.failure: Exception | None = None

    @property
    def changes(self) -> int:
        return self.marks[-1].count if self.marks else 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """When it returns, nothing is written any more."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            with self._shop.connect() as connection:
                due = time.monotonic()
                while not self._stopping.wait(max(0.0, due - time.monotonic())):
                    with connection.begin():
                        changed = self._clerk.acts(connection)
                    self.marks.append(StopwatchMark(self.changes + changed, datetime.now(UTC)))
                    # A machine that can't keep up sells less; it does not make up for it in one rush.
                    due = max(due + self._pause, time.monotonic() - 1)
        except Exception as error:
            self.failure = error


def _run(connection: Connection, statement: str, *rows: Row) -> int:
    """The statement for each row; how many rows of the table it changed."""
    return int(connection.execute(text(statement), list(rows)).rowcount) if rows else 0
