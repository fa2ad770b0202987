"""Dynamic tables that a Python function computes with real Spark: pandas UDFs, nested values, errors, trust."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.projects.conftest import Project
from tests.support.slt import drop_database

SCORES = """
import pandas as pd
import snowmelt
from pyspark.sql import functions as F
from pyspark.sql.functions import pandas_udf

FACTOR = 10


@pandas_udf("double")
def scored(amounts: pd.Series) -> pd.Series:
    return amounts.fillna(0).astype("float64") * FACTOR


@snowmelt.dynamic_table(target_lag="1 hour")
def big():
    return "SELECT * FROM orders WHERE amount > 15"


@snowmelt.dynamic_table(target_lag="1 hour", spark=True, comment="Scores by a model")
def scores(spark):
    orders = spark.table("orders")
    rows = orders.join(spark.read.table("big").select("id", F.lit(True).alias("is_big")), "id", "left")
    return rows.select("id", scored(F.col("amount")).alias("score"), "is_big", F.array("id", "amount").alias("both"))
"""


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    return sorted(session.execute(query).rows(), key=repr)


@pytest.fixture
def trusting(account: Account) -> Iterator[Account]:
    settings = account.settings
    account.settings = settings.model_copy(update={"trust_python": True})
    yield account
    account.settings = settings


@pytest.fixture
def spark_project(account: Account, tmp_path: Path) -> Iterator[Project]:
    session = account.session()
    project = Project(tmp_path / "project", session, f"P{session.id}")
    yield project
    session.close()
    drop_database(account, project.database)


def test_a_pandas_udf_end_to_end(trusting: Account, spark_project: Project) -> None:
    project, session = spark_project, spark_project.session
    project.write("orders.sql", "CREATE TABLE orders (id INT, amount NUMBER(10, 2));")
    project.write("scores.py", SCORES)
    project.apply()
    assert project.steps() == []
    session.execute(f"USE SCHEMA {project.database}.PUBLIC")
    session.execute("INSERT INTO orders VALUES (1, 10.5), (2, 20), (3, NULL)")
    session.execute("ALTER DYNAMIC TABLE scores REFRESH")
    found = rows(session, "SELECT id, score, is_big, both FROM scores")
    assert [(id, score, big, json.loads(both)) for id, score, big, both in found] == [
        (1, 105.0, None, [1.0, 10.5]),
        (2, 200.0, True, [2.0, 20.0]),
        (3, 0.0, None, [3.0, None]),
    ]
    # Nothing changed: not even the function is called.
    session.execute("ALTER DYNAMIC TABLE scores REFRESH")
    history = session.execute(
        "SELECT refresh_action FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'scores'))"
        " WHERE refresh_trigger = 'MANUAL' ORDER BY data_timestamp"
    ).rows()
    assert history == [("FULL",), ("NO_DATA",)]
    session.execute("SHOW DYNAMIC TABLES LIKE 'SCORES'")
    [(mode, reason)] = session.execute(
        'SELECT "refresh_mode", "refresh_mode_reason" FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))'
    ).rows()
    assert mode == "FULL" and "the Python function scores" in reason and "(PYTHON)" in reason
    inputs = session.execute(
        "SELECT inputs FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_GRAPH_HISTORY()) WHERE name = 'SCORES'"
        f" AND database_name = '{project.database}'"
    ).rows()
    assert {item["kind"] for item in json.loads(inputs[0][0])} == {"TABLE", "DYNAMIC_TABLE"}
    verdict = json.loads(session.execute("SELECT SYSTEM$CHECK_DYNAMIC_TABLE('scores')").rows()[0][0])
    assert verdict["equal"] and verdict["actual_rows"] == 3


def create(code: str, reads: str = "t", options: str = "") -> str:
    return (
        f"CREATE DYNAMIC TABLE d TARGET_LAG = DOWNSTREAM WAREHOUSE = COMPUTE_WH {options} AS"
        f" SELECT * FROM TABLE(SPARK_FRAME(HANDLER => 'f', READS => '{reads}', CODE => $$\n{code}\n$$))"
    )


@pytest.mark.parametrize(
    ("code", "options", "code_of_error", "message"),
    [
        ("def f(spark):\n    return 1 / 0", "", "100357", 'line 3, in f\nZeroDivisionError: division by zero'),
        ("def f(spark:\n  pass", "", "100357", "SyntaxError"),
        ("def g(spark): pass", "", "100357", "The handler 'f' is not a function"),
        ("def f(spark): return 7", "", "391546", "f returned int"),
        ("def f(spark): return spark.table('u')", "", "002003", "The function asks for table 'u', but its reads=[…]"),
        ("def f(spark): return spark.sql('SELECT interval 1 day AS i')", "", "000002", "column 'i' of Spark's type"),
        ("def f(spark): return spark.table('t')", "REFRESH_MODE = INCREMENTAL", "002711", "the Python function f"),
    ],
)  # fmt: skip
def test_what_goes_wrong_says_where(
    trusting: Account, session: Session, code: str, options: str, code_of_error: str, message: str
) -> None:
    session.execute("CREATE TABLE t (id INT)")
    with pytest.raises(SnowmeltError) as caught:
        session.execute(create(code, options=options))
    assert (caught.value.code, message in str(caught.value)) == (code_of_error, True), str(caught.value)


def test_without_trust_nothing_runs(account: Account, session: Session) -> None:
    session.execute("CREATE TABLE t (id INT)")
    with pytest.raises(SnowmeltError, match="trust_python"):
        session.execute(create("def f(spark): return spark.table('t')"))


def test_types_and_names_of_spark(trusting: Account, session: Session) -> None:
    session.execute("CREATE TABLE t (id INT, at TIMESTAMP_NTZ)")
    session.execute("INSERT INTO t VALUES (1, '2024-01-01 10:00:00')")
    code = (
        "def f(spark):\n"
        "    return spark.table('T').selectExpr('ID as a', 'cast(id as short) b', 'at', 'cast(1.5 as decimal(4,2)) d',"
        " \"named_struct('x', id) s\", 'cast(id as float) f', 'date(at) day', 'id = 1 yes')"
    )
    session.execute(create(code))
    kinds = [row[:2] for row in session.execute("DESCRIBE TABLE d").rows()]
    assert kinds == [
        ("A", "NUMBER(38,0)"), ("B", "NUMBER(38,0)"), ("AT", "TIMESTAMP_NTZ(9)"), ("D", "NUMBER(4,2)"),
        ("S", "OBJECT"), ("F", "FLOAT"), ("DAY", "DATE"), ("YES", "BOOLEAN"),
    ]  # fmt: skip
    assert session.execute("SELECT s:x::INT, d, yes FROM d").rows()[0][0] == 1
