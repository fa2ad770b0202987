"""What an account has from the start, and what becomes of one that an older Snowmelt has made."""

from __future__ import annotations

from pathlib import Path

from snowmelt.accounts import open_account
from snowmelt.core.clock import SystemClock
from snowmelt.runtime.objects import create_database
from snowmelt.runtime.rights import founding
from snowmelt.runtime.rights.authority import AccessControl
from snowmelt.runtime.rights.privileges import SYSTEM_ROLES, account_privileges
from snowmelt.state.store import StateStore


def test_the_system_roles_have_snowflakes_hierarchy(tmp_path: Path) -> None:
    with open_account(tmp_path / "data") as account:
        assert account.access.available("ADMIN") == set(SYSTEM_ROLES)
        assert account.access.inherited("SECURITYADMIN") == {"SECURITYADMIN", "USERADMIN", "PUBLIC"}
        assert account.access.inherited("SYSADMIN") == {"SYSADMIN", "PUBLIC"}
        everything = account.access.of_role("ACCOUNTADMIN")
        assert all(everything.on_account(privilege) for privilege in account_privileges())
        assert not account.access.of_role("SYSADMIN").manages_grants


def test_objects_of_an_older_account_keep_their_owners(tmp_path: Path) -> None:
    store = StateStore.open(f"sqlite:///{tmp_path}/state.db", SystemClock())
    with store.begin() as state:
        create_database(state, "OLD", owner="ACCOUNTADMIN")
        create_database(state, "OF_A_TEAM", owner="TEAM")
        founding.found(state, "OLD", "COMPUTE_WH")
    access = AccessControl(store)
    assert "TEAM" in access.available("ADMIN")
    with store.read(access.of_role("TEAM").sight) as state:
        assert [database.name for database in state.catalog.databases()] == ["OF_A_TEAM"]
    with store.read() as state:
        assert {database.name: database.owner for database in state.catalog.databases()} == {
            "OLD": "ACCOUNTADMIN",
            "OF_A_TEAM": "TEAM",
        }
    store.close()


def test_founding_again_changes_nothing(tmp_path: Path) -> None:
    with open_account(tmp_path / "data") as account:
        account.session().execute("REVOKE ROLE useradmin FROM ROLE securityadmin")
    with open_account(tmp_path / "data") as account:
        assert account.access.inherited("SECURITYADMIN") == {"SECURITYADMIN", "PUBLIC"}
