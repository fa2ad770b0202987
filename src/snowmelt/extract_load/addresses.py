"""Addresses of databases, as they stand in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchTableError, OperationalError

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load.problems import SourceRefusedError, SourceUnavailableError, not_installed

CONNECT_SECONDS = 10
_DETAILS = ("DETAIL:", "CONTEXT:", "Query was:")
"""What comes behind them may be values of rows."""
_REFUSALS = ("password", "authentication", "access denied", "does not exist", "unknown database", "no pg_hba.conf")


def engine_of(address: str, application: str) -> Engine:
    """Raises for an address that is not valid, and where the driver is not installed. Does not connect yet."""
    arguments = {"connect_timeout": CONNECT_SECONDS, "application_name": application}
    return _engine(address, "postgresql+psycopg", arguments, "postgres")


def mysql_engine_of(address: str) -> Engine:
    """Times are those of UTC, whatever the server's time zone is."""
    arguments = {"connect_timeout": CONNECT_SECONDS, "init_command": "SET time_zone = '+00:00'", "charset": "utf8mb4"}
    return _engine(address, "mysql+pymysql", arguments, "mysql")


def _engine(address: str, driver: str, arguments: dict[str, Any], extra: str) -> Engine:
    scheme = "mysql" if extra == "mysql" else "postgresql"
    try:
        return create_engine(make_url(address).set(drivername=driver), connect_args=arguments, poolclass=NullPool)
    except ArgumentError:
        raise errors.configuration(f"The address is not understood. It looks like {scheme}://user@host/name.") from None
    except ModuleNotFoundError as error:
        raise not_installed(error.name, extra) from None


@contextmanager
def database_errors(engine: Engine) -> Iterator[None]:
    """Errors of a database as ours: which may pass, without statements, values or passwords."""
    where = engine.url.set(query={}).render_as_string()
    try:
        yield
    except NoSuchTableError as error:
        raise errors.configuration(f"{where} has no table {error}.", hint="Check its name and schema.") from None
    except DBAPIError as error:
        operational = isinstance(error, OperationalError) or error.connection_invalidated
        raise problem(where, error.orig or error, operational=operational) from None
    except engine.dialect.loaded_dbapi.Error as error:
        # Of COPY, which the driver does by itself.
        operational = isinstance(error, engine.dialect.loaded_dbapi.OperationalError)
        raise problem(where, error, operational=operational) from None


def problem(where: str, error: BaseException, *, operational: bool) -> SnowmeltError:
    """What a database or its client said. Operational errors may pass, but for those that a person must see to."""
    message = str(error)
    for detail in _DETAILS:
        message = message.partition(detail)[0]
    detail = " ".join(message.split())[:300].rstrip(".")
    if operational and not any(word in detail.lower() for word in _REFUSALS):
        return SourceUnavailableError(where, detail)
    return SourceRefusedError(where, detail, "Check the user's rights, and the names of the table and its columns.")
