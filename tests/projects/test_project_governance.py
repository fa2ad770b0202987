"""Contracts, data products, alerts and connectors as definitions of a project."""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from tests.projects.conftest import Project

_DOCUMENT = """apiVersion: v3.1.0
kind: DataContract
id: orders
name: orders
version: {version}
status: active
schema:
  - name: orders
    properties:
      - {{name: id, physicalType: INT, required: true}}
      - {{name: amount, physicalType: INT{more}}}
"""


def _contract(version: str, more: str = "") -> str:
    return f"CREATE CONTRACT promise AS $${_DOCUMENT.format(version=version, more=more)}$$;"


def _governed(project: Project) -> None:
    """In files that are in no helpful order."""
    project.write("a.sql", "CREATE DATA PRODUCT sales OBJECTS = (orders) CONTRACT = promise OWNER = 'shop team';")
    project.write("b.sql", "CREATE TABLE orders (id INT NOT NULL, amount INT) CONTRACT = promise;")
    project.write("c.sql", _contract("1.0.0"))
    project.write(
        "d.sql", "CREATE ALERT late SCHEDULE = '1 MINUTE' IF (EXISTS (SHOW TABLES LIKE 'X')) THEN SHOW TABLES;"
    )
    project.write(
        "e.sql", "CREATE CONNECTOR c TYPE = POSTGRES HOST = 'h' DATABASE = 'd' USER = 'u' TABLES = ('public.a')"
        " INITIALLY_PAUSED = TRUE;",
    )  # fmt: skip


def _shown(project: Project, query: str, column: str) -> object:
    result = project.session.execute(query)
    return dict(zip([each.name for each in result.columns], result.rows()[0], strict=True))[column]


def test_all_of_it_is_made_in_order_and_changed(project: Project) -> None:
    _governed(project)
    names = [name for _, name in project.steps()]
    assert names.index("PROMISE") < names.index("ORDERS") < names.index("SALES")
    project.apply()
    assert project.steps() == []
    with pytest.raises(SnowmeltError, match="breaks contract"):
        project.session.execute("ALTER TABLE orders DROP COLUMN amount")

    project.session.execute("ALTER ALERT late RESUME")
    project.write("a.sql", "CREATE DATA PRODUCT sales OBJECTS = (orders) CONTRACT = promise OWNER = 'other team';")
    project.write("c.sql", _contract("1.1.0", ", description: In cents"))
    project.write(
        "d.sql", "CREATE ALERT late SCHEDULE = '2 MINUTES' IF (EXISTS (SHOW TABLES LIKE 'X')) THEN SHOW TABLES;"
    )
    assert sorted(project.steps()) == [("alter", "LATE"), ("alter", "PROMISE"), ("replace", "SALES")]
    project.apply()
    assert project.steps() == []
    assert _shown(project, "SHOW CONTRACTS", "versions") == "1.0.0, 1.1.0"
    assert _shown(project, "SHOW DATA PRODUCTS", "product_owner") == "other team"
    assert (_shown(project, "SHOW ALERTS", "schedule"), _shown(project, "SHOW ALERTS", "state")) == (
        "2 MINUTES", "started",
    )  # fmt: skip


def test_a_version_with_too_small_a_number_is_refused(project: Project) -> None:
    project.write("c.sql", _contract("1.0.0"))
    project.apply()
    project.write("c.sql", _contract("1.0.1").replace("amount", "price"))
    with pytest.raises(SnowmeltError, match=r"2\.0\.0"):
        project.apply()


def test_a_connector_keeps_its_place(project: Project) -> None:
    _governed(project)
    project.apply()
    project.write(
        "e.sql", "CREATE CONNECTOR c TYPE = POSTGRES HOST = 'other' DATABASE = 'd' USER = 'u' TABLES = ('public.a');"
    )
    with pytest.raises(SnowmeltError, match="without losing what it holds"):
        project.plan()


def test_what_is_defined_no_longer_is_dropped_in_order(project: Project) -> None:
    _governed(project)
    project.apply()
    project.write("b.sql", "CREATE TABLE orders (id INT NOT NULL, amount INT);")
    for name in ("a", "c", "d", "e"):
        project.remove(f"{name}.sql")
    project.session.execute("ALTER TABLE orders UNSET CONTRACT")
    assert [name for _, name in project.steps()] == ["C", "LATE", "SALES", "PROMISE"]
    project.apply(allow_drop=True)
    assert project.steps() == []
