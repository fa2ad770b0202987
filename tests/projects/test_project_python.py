"""Definitions in .py files: decorated functions that give SQL text or a DataFrame."""

from __future__ import annotations

import pytest

from snowmelt.core.errors import SnowmeltError
from tests.projects.conftest import Project

HEAD = "import snowmelt\nfrom snowmelt import functions as F\n"
LATER = 'target_lag="DOWNSTREAM", initialize="ON_SCHEDULE"'
ORDERS = "CREATE TABLE orders (id INT, customer INT, amount NUMBER(10, 2));"


def failure(project: Project) -> str:
    with pytest.raises(SnowmeltError) as caught:
        project.plan()
    return str(caught.value)


def test_functions_are_definitions(project: Project) -> None:
    project.write("orders.sql", ORDERS)
    project.write(
        "models.py",
        f"""{HEAD}
@snowmelt.dynamic_table({LATER}, refresh_mode="INCREMENTAL", comment="it's big")
def big(tables):
    # The columns of `totals` come from a function that is defined below, those of `orders` from a .sql file.
    return tables.table("totals").withColumn("twice", F.col("total") * 2).join(tables.table("orders"), "customer")

@snowmelt.view(name="totals")
def summed():
    return "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;"
""",
    )
    plan = project.plan()
    assert [step.name.rpartition(".")[2] for step in plan.steps][1:] == ["ORDERS", "TOTALS", "BIG"]
    assert plan.steps[-1].location == "models.py:4"
    assert "INCREMENTAL" in plan.steps[-1].statement and "COMMENT = 'it''s big'" in plan.steps[-1].statement
    project.apply()
    assert project.steps() == []


def test_a_project_reads_what_the_catalog_has(project: Project) -> None:
    project.session.execute(f"CREATE DATABASE {project.database}")
    project.session.execute("CREATE TABLE theirs (a INT, b INT)")
    project.write("v.py", f"{HEAD}\n@snowmelt.view()\ndef seen(tables):\n    return tables.table('theirs').drop('b')\n")
    project.apply()
    assert [row[0] for row in project.session.execute("DESCRIBE VIEW seen").rows()] == ["A"]


def test_neighbours_can_be_imported(project: Project) -> None:
    project.write("orders.sql", ORDERS)
    project.write("marts/_shared.py", "LIMIT = 7\n")
    project.write(
        "marts/v.py",
        f"{HEAD}from _shared import LIMIT\n@snowmelt.view()\ndef v():\n    return f'SELECT 1 AS a, {{LIMIT}} AS b'\n",
    )
    assert project.plan().steps[-1].statement.endswith("7 AS b")


def test_a_decorated_function_can_still_be_called(project: Project) -> None:
    project.write(
        "v.py",
        f"{HEAD}@snowmelt.view()\ndef one():\n    return 'SELECT 1 AS a'\n\n"
        "@snowmelt.view()\ndef two():\n    return one()\n",
    )
    assert [step.name.rpartition(".")[2] for step in project.plan().steps][1:] == ["ONE", "TWO"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1 / 0", "v.py:3: ZeroDivisionError: division by zero (line 5)"),
        ("return 5", "v.py:3: v returned int; it must return SQL text or a DataFrame."),
        ("return tables.table('orders').nothing()", "neither the method nor the column 'nothing'"),
        ("return tables.table('v').select('id')", "Definitions can't form a circle."),
        ("return 'SELEC 1'", "v.py:3: "),
    ],
)
def test_errors_say_where_in_python(project: Project, body: str, message: str) -> None:
    project.write("orders.sql", ORDERS)
    project.write("v.py", f"{HEAD}@snowmelt.view()\ndef v(tables):\n    {body}\n")
    assert message in failure(project)


def test_a_file_that_can_not_be_imported(project: Project) -> None:
    project.write("v.py", "import nowhere_to_be_found\n")
    assert "v.py: ModuleNotFoundError: No module named 'nowhere_to_be_found' (line 1)" in failure(project)


def test_a_function_for_spark_goes_to_the_server_with_its_module(project: Project) -> None:
    project.write("orders.sql", ORDERS)
    project.write(
        "v.py",
        f"""{HEAD}
HELPER = 1

@snowmelt.dynamic_table({LATER}, spark=True, reads=["a.theirs"])
def scores(spark):
    raise AssertionError("planning calls nothing")
    return spark.table("orders").union(spark.read.table("b.others"))
""",
    )
    step = project.plan().steps[-1]
    assert "HANDLER => 'scores', READS => 'a.theirs, b.others, orders', CODE => $$\n" in step.statement
    assert "HELPER = 1" in step.statement
    assert step.cost.endswith("later refreshes are full: a Python function over Spark DataFrames (PYTHON)")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("def v():\n    return None", "v must take an argument: the Spark session"),
        ("def v(spark):\n    return '$$'", "can't have $$ in it"),
    ],
)
def test_functions_that_spark_could_not_run(project: Project, function: str, message: str) -> None:
    project.write("v.py", f"{HEAD}@snowmelt.dynamic_table({LATER}, spark=True)\n{function}\n")
    assert message in failure(project)
