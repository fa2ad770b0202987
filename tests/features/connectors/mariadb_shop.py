"""A MariaDB that is captured: its connector's statement, its rows as the mirror should have them, and a load."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from snowmelt.core.errors import SnowmeltError
from tests.features.connectors.capture import Executes, mirrored, standing
from tests.support.mariadb_server import USER, MariaDbServer
from tests.support.waiting import DEADLINE, wait_until

ROWS = 500
PASSWORD_ENV = "SNOWMELT_TEST_MARIADB"


def create_statement(name: str, server: MariaDbServer, database: str, tables: list[str], options: str) -> str:
    listed = ", ".join(f"'{table}'" for table in tables)
    return (
        f"CREATE CONNECTOR {name} TYPE = MARIADB HOST = '127.0.0.1' PORT = {server.port} DATABASE = '{database}'"
        f" USER = '{USER}' PASSWORD_ENV = '{PASSWORD_ENV}' TABLES = ({listed}) {options}"
    )


def execute(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def present(connection: Any, table: str) -> list[tuple[Any, ...]]:
    """The source's rows, its columns in the order of their names."""
    found = execute(connection, f"SHOW COLUMNS FROM {table}")
    columns = ", ".join(sorted((row[0] for row in found), key=str.upper))
    return sorted(execute(connection, f"SELECT {columns} FROM {table}"), key=repr)


def settled(session: Executes, name: str, connection: Any, table: str, deadline: float = DEADLINE) -> None:
    """Until the mirror has what the source has."""
    wait_until(partial(_equal, session, connection, table), lambda: standing(session, name), deadline)


def _equal(session: Executes, connection: Any, table: str) -> bool:
    try:
        return mirrored(session, table) == present(connection, table)
    except SnowmeltError:
        # It is made with its first row.
        return False


def fill(connection: Any) -> None:
    execute(connection, "CREATE TABLE items (id int PRIMARY KEY, version int NOT NULL, body text)")
    rows = ", ".join(f"({id_}, 0, 'b{id_}')" for id_ in range(1, ROWS + 1))
    execute(connection, f"INSERT INTO items VALUES {rows}")


def change(pause: float) -> Callable[[Any, int], None]:
    """A transaction: updates, and now and then a row that comes or goes."""

    def work(connection: Any, turn: int) -> None:
        low = random.Random(turn).randint(1, ROWS)
        execute(connection, "START TRANSACTION")
        execute(connection, f"UPDATE items SET version = version + 1 WHERE id BETWEEN {low} AND {low + 20}")
        if turn % 5 == 0:
            execute(connection, f"DELETE FROM items WHERE id = {ROWS + turn - 5}")
            execute(connection, f"INSERT INTO items VALUES ({ROWS + turn}, 0, 'new')")
        execute(connection, "COMMIT")
        time.sleep(pause)

    return work
