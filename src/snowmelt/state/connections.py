"""Database transactions for readers and writers, on connections that stay open between them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from sqlalchemy import Connection

from snowmelt.state.connect import Engines
from snowmelt.state.prepared import OpenedTransaction

_MOST_KEPT = 16


class Connections:
    """SQLite's transactions are begun and ended on the driver's own connection. Taking a connection from SQLAlchemy,
    beginning and giving it back takes longer than most of what is asked in between."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._is_sqlite = engines.read.dialect.name == "sqlite"
        self._kept: list[OpenedTransaction] = []

    @contextmanager
    def reading(self) -> Iterator[OpenedTransaction]:
        """One snapshot, taken by the first statement."""
        if self._is_sqlite:
            with self._transaction("BEGIN", commits=False) as opened:
                yield opened
        else:
            with self._engines.read.connect() as connection:
                yield OpenedTransaction(connection, None)

    @contextmanager
    def writing(self) -> Iterator[OpenedTransaction]:
        """One transaction that commits at the end of the block, and is undone when an exception leaves it."""
        if self._is_sqlite:
            with self._transaction("BEGIN IMMEDIATE", commits=True) as opened:
                yield opened
        else:
            with self._engines.write.begin() as connection:
                yield OpenedTransaction(connection, None)

    @contextmanager
    def locking(self) -> Iterator[OpenedTransaction]:
        """Waits for writers and keeps them out, and changes nothing."""
        if self._is_sqlite:
            with self._transaction("BEGIN IMMEDIATE", commits=False) as opened:
                yield opened
        else:
            with self._engines.write.connect() as connection:
                yield OpenedTransaction(connection, None)
                connection.rollback()

    def close(self) -> None:
        while self._kept:
            self._kept.pop().connection.close()

    @contextmanager
    def _transaction(self, begin: str, *, commits: bool) -> Iterator[OpenedTransaction]:
        opened = self._take()
        connection, driver = opened.connection, opened.driver
        assert driver is not None
        try:
            try:
                driver.execute(begin)
                yield opened
                if commits:
                    _commit(connection, driver)
            finally:
                # After a commit there is nothing to undo. SQLAlchemy takes part from its first statement on.
                connection.rollback()
                driver.rollback()
        except BaseException:
            connection.close()
            raise
        self._give_back(opened)

    def _take(self) -> OpenedTransaction:
        try:
            return self._kept.pop()
        except IndexError:
            connection = self._engines.read.connect()
            return OpenedTransaction(connection, cast(sqlite3.Connection, connection.connection.driver_connection))

    def _give_back(self, opened: OpenedTransaction) -> None:
        if len(self._kept) < _MOST_KEPT:
            self._kept.append(opened)
        else:
            opened.connection.close()


def _commit(connection: Connection, driver: sqlite3.Connection) -> None:
    if connection.in_transaction():
        connection.commit()
    else:
        driver.commit()
