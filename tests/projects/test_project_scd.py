"""Slowly changing dimensions as definitions of a project, in SQL and in Python."""

from __future__ import annotations

from tests.projects.conftest import Project

EVENTS = "CREATE TABLE events (id INT, city VARCHAR, op VARCHAR, at TIMESTAMP_NTZ, seen INT);"
DIMENSION = (
    "CREATE SCD TYPE 2 TABLE customers KEY (id) SEQUENCE BY at DELETE WHEN op = 'd' TRACK EXCEPT (seen) "
    "INITIALIZE = ON_SCHEDULE FROM events;"
)
PYTHON = """import snowmelt

@snowmelt.scd_table(key=["id"], sequence_by=["at"], delete_when="op = 'd'", initialize="ON_SCHEDULE")
def in_python(tables):
    return tables.table("events").drop("seen")

@snowmelt.dynamic_table(target_lag="DOWNSTREAM", initialize="ON_SCHEDULE")
def living(tables):
    return tables.table("in_python").filter("is_current").drop("surrogate_key", "valid_to", "is_current")
"""


def columns(project: Project, table: str) -> list[str]:
    return [row[0] for row in project.session.execute(f"DESCRIBE TABLE {table}").rows()]


def test_a_dimension_in_sql(project: Project) -> None:
    project.write("tables.sql", EVENTS)
    project.write("customers.sql", DIMENSION)
    project.apply()
    assert project.steps() == []
    assert columns(project, "customers") == [
        "SURROGATE_KEY", "ID", "CITY", "SEEN", "VALID_FROM", "VALID_TO", "IS_CURRENT",
    ]  # fmt: skip
    project.write("customers.sql", DIMENSION.replace("op = 'd'", "OP='d'  /* gone */"))
    assert project.steps() == [], "layout is no difference"
    project.write("customers.sql", DIMENSION.replace("op = 'd'", "op = 'D'"))
    assert [(step.action.value, step.reasons) for step in project.plan().steps] == [
        ("re-initialise", ("the query changed",))
    ]
    project.apply()
    assert project.steps() == []


def test_a_dimension_in_python(project: Project) -> None:
    project.write("tables.sql", EVENTS)
    project.write("models.py", PYTHON)
    project.apply()
    assert project.steps() == []
    assert columns(project, "living") == ["ID", "CITY", "VALID_FROM"]


def test_what_reads_a_dimension_that_is_there_knows_its_columns(project: Project) -> None:
    project.session.execute(f"CREATE DATABASE {project.database}")
    project.session.execute_script(f"{EVENTS}\n{DIMENSION}")
    project.write(
        "v.py", "import snowmelt\n@snowmelt.view()\ndef v(tables):\n    return tables.table('customers').drop('seen')\n"
    )
    (step,) = project.plan().steps
    selected = " ".join(step.statement.split()).partition("SELECT ")[2].partition(" FROM")[0].replace("T1.", "")
    assert selected == "SURROGATE_KEY, ID, CITY, VALID_FROM, VALID_TO, IS_CURRENT"
