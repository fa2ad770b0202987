"""Addresses of PostgreSQL databases, as they stand in the environment."""

from __future__ import annotations

from sqlalchemy import Engine, NullPool, create_engine, make_url
from sqlalchemy.exc import ArgumentError

from snowmelt.core import errors

_CONNECT_SECONDS = 10


def engine_of(address: str, application: str) -> Engine:
    """Raises for an address that is none, and where the driver is not installed; connects to nothing yet."""
    arguments = {"connect_timeout": _CONNECT_SECONDS, "application_name": application}
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
        return create_engine(url, connect_args=arguments, poolclass=NullPool)
    except ArgumentError:
        raise errors.configuration("The address is none that is understood: postgresql://user@host/name.") from None
    except ModuleNotFoundError as error:
        raise errors.configuration(
            f"The package {error.name} is not installed.", hint="Install it: pip install 'snowmelt[postgres]'."
        ) from None
