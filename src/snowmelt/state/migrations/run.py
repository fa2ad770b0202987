"""Applying the steps, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Engine

from snowmelt.core import errors
from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    from snowmelt.state.migrations.v0001_initial import apply as v0001_initial
    from snowmelt.state.migrations.v0002_dynamic_tables import apply as v0002_dynamic_tables
    from snowmelt.state.migrations.v0003_projects import apply as v0003_projects
    from snowmelt.state.migrations.v0004_streams import apply as v0004_streams
    from snowmelt.state.migrations.v0005_tasks import apply as v0005_tasks
    from snowmelt.state.migrations.v0006_access import apply as v0006_access
    from snowmelt.state.migrations.v0007_channels import apply as v0007_channels
    from snowmelt.state.migrations.v0008_connectors import apply as v0008_connectors
    from snowmelt.state.migrations.v0009_contracts import apply as v0009_contracts
    from snowmelt.state.migrations.v0010_lineage import apply as v0010_lineage
    from snowmelt.state.migrations.v0011_quality import apply as v0011_quality
    from snowmelt.state.migrations.v0012_observing import apply as v0012_observing
    from snowmelt.state.migrations.v0013_foreign_versions import apply as v0013_foreign_versions
    from snowmelt.state.migrations.v0014_policies import apply as v0014_policies
    from snowmelt.state.migrations.v0015_network_policies import apply as v0015_network_policies

Migration = Callable[[Connection], None]

MIGRATIONS: tuple[Migration, ...] = (
    v0001_initial,
    v0002_dynamic_tables,
    v0003_projects,
    v0004_streams,
    v0005_tasks,
    v0006_access,
    v0007_channels,
    v0008_connectors,
    v0009_contracts,
    v0010_lineage,
    v0011_quality,
    v0012_observing,
    v0013_foreign_versions,
    v0014_policies,
    v0015_network_policies,
)
"""The step at index n leads from version n to version n + 1."""

_POSTGRES_LOCK = 7_095_120_913
"""Any number of our own: names the advisory lock that keeps two processes from migrating at once."""


def migrate(engine: Engine, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Bring the store to the newest version, and return it.

    A step and its version number commit together, so that a crash between steps resumes with the next one.
    Raises a configuration error when the store was written by a newer Snowmelt: nothing is changed then.
    `engine` must begin write transactions.
    """
    with engine.begin() as connection:
        version = _locked_version(connection)
    if version > len(migrations):
        raise errors.configuration(
            f"The state store has schema version {version}, and this Snowmelt knows versions up to {len(migrations)}.",
            hint="It was written by a newer Snowmelt: install that version, or use another state store.",
        )
    while version < len(migrations):
        with engine.begin() as connection:
            version = _locked_version(connection)
            # Another process may have taken the step since.
            if version < len(migrations):
                migrations[version](connection)
                version += 1
                connection.exec_driver_sql(f"INSERT INTO schema_version (version) VALUES ({version})")
    return version


def _locked_version(connection: Connection) -> int:
    """The store's version (0 if empty), with the right to change it until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_POSTGRES_LOCK})")
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL PRIMARY KEY)")
    version = connection.exec_driver_sql("SELECT max(version) FROM schema_version").scalar()
    return int(version) if version is not None else 0
