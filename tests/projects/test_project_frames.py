"""DataFrame code: the SQL that it becomes, and that this SQL is bound and refreshed incrementally."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal

import pytest

from snowmelt import Window
from snowmelt import functions as F
from snowmelt.core.errors import SnowmeltError
from snowmelt.projects.frames import DataFrame, Tables
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session

COLUMNS = {
    ("ORDERS",): ["ID", "CUSTOMER", "AMOUNT", "AT", "Odd Name"],
    ("CUSTOMERS",): ["ID", "NAME"],
}


@pytest.fixture(scope="module")
def shop(project_account: Account) -> Iterator[Session]:
    session = project_account.session()
    session.execute(f"CREATE DATABASE FRAMES_{session.id}")
    session.execute(
        'CREATE TABLE orders (id INT, customer INT, amount NUMBER(10,2), at TIMESTAMP_NTZ, "Odd Name" VARCHAR)'
    )
    session.execute("CREATE TABLE customers (id INT, name VARCHAR)")
    yield session
    session.execute(f"DROP DATABASE FRAMES_{session.id}")
    session.close()


def tables() -> Tables:
    return Tables(COLUMNS.get)


Code = Callable[[DataFrame, DataFrame], DataFrame]
newest = Window.partitionBy("customer").orderBy(F.col("at").desc())
running = Window.partitionBy("customer").orderBy("at").rowsBetween(Window.unboundedPreceding, Window.currentRow)

CASES: list[tuple[Code, str]] = [
    (
        lambda o, c: o.where(F.col("amount") > 10).groupBy("customer").agg(F.sum("amount").alias("total")),
        "SELECT CUSTOMER, SUM(AMOUNT) AS TOTAL FROM ORDERS AS T1 WHERE AMOUNT > 10 GROUP BY CUSTOMER",
    ),
    (
        lambda o, c: o.join(c, o.customer == c.id, "left").filter(o.amount.isNotNull()).select(c.name, o.id),
        "SELECT T2.NAME, T1.ID FROM ORDERS AS T1 LEFT JOIN CUSTOMERS AS T2 ON T1.CUSTOMER = T2.ID "
        "WHERE NOT ( T1.AMOUNT IS NULL )",
    ),
    (
        lambda o, c: o.withColumn("rn", F.row_number().over(newest)).filter("rn = 1").drop("rn", "at", "Odd Name"),
        "SELECT T3.ID, T3.CUSTOMER, T3.AMOUNT FROM ( SELECT T1.ID, T1.CUSTOMER, T1.AMOUNT, T1.AT, "
        'T1."Odd Name", ROW_NUMBER() OVER (PARTITION BY CUSTOMER ORDER BY AT DESC NULLS LAST) AS RN '
        "FROM ORDERS AS T1 ) AS T3 WHERE rn = 1",
    ),
    (
        lambda o, c: o.join(c, "id").select("id", "name"),
        "SELECT ID, NAME FROM ORDERS AS T1 JOIN CUSTOMERS AS T2 USING (ID)",
    ),
    (
        lambda o, c: o.join(c, "id", "left_anti").select("id"),
        "SELECT ID FROM ORDERS AS T1 WHERE NOT EXISTS( SELECT 1 FROM CUSTOMERS AS T2 WHERE T1.ID = T2.ID )",
    ),
    (
        lambda o, c: o.join(c, o.customer == c.id, "semi").groupBy("customer").count(),
        "SELECT CUSTOMER, COUNT(*) AS COUNT FROM ORDERS AS T1 "
        "WHERE EXISTS( SELECT 1 FROM CUSTOMERS AS T2 WHERE T1.CUSTOMER = T2.ID ) GROUP BY CUSTOMER",
    ),
    (
        lambda o, c: o.select("id").union(c.select("id")).distinct(),
        "SELECT DISTINCT T3.ID FROM ( SELECT ID FROM ORDERS AS T1 UNION ALL SELECT ID FROM CUSTOMERS AS T2 ) AS T3",
    ),
    (
        lambda o, c: o.alias("a").join(c.alias("b"), F.col("a.customer") == F.col("b.id")).select("a.id", "b.name"),
        "SELECT T1.ID, T2.NAME FROM ORDERS AS T1 JOIN CUSTOMERS AS T2 ON T1.CUSTOMER = T2.ID",
    ),
    (
        lambda o, c: o.filter((o.amount > 1) & ~(o.id == 2) | o.customer.isin(1, 2)).select(o.id),
        "SELECT T1.ID FROM ORDERS AS T1 "
        "WHERE ( ( T1.AMOUNT > 1 ) AND ( NOT ( T1.ID = 2 ) ) ) OR ( T1.CUSTOMER IN (1, 2) )",
    ),
    (
        lambda o, c: o.select(
            F.when(o.amount > 1, "big").when(o.amount > 0, "small").otherwise(None).alias("size"),
            F.sum("amount").over(running).alias("so_far"),
        ),
        "SELECT CASE WHEN T1.AMOUNT > 1 THEN 'big' WHEN T1.AMOUNT > 0 THEN 'small' ELSE NULL END AS SIZE, "
        "SUM(AMOUNT) OVER ( PARTITION BY CUSTOMER ORDER BY AT ASC NULLS FIRST "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW ) AS SO_FAR FROM ORDERS AS T1",
    ),
    (
        lambda o, c: o.select(
            F.date_format("at", "yyyy-MM").alias("month"), F.to_date("at").alias("day"),
            F.coalesce("amount", F.lit(0)).alias("paid"), F.round(o.amount / 3, 2).alias("third"),
        ),
        "SELECT TO_CHAR(CAST(AT AS TIMESTAMP), 'yyyy-mm') AS MONTH, TO_DATE(AT) AS DAY, COALESCE(AMOUNT, 0) AS PAID, "
        "ROUND(T1.AMOUNT / 3, 2) AS THIRD FROM ORDERS AS T1",
    ),
    (
        lambda o, c: o.groupBy(F.date_trunc("month", "at").alias("month")).agg({"amount": "max", "*": "count"}),
        "SELECT DATE_TRUNC('month', AT) AS MONTH, MAX(AMOUNT) AS MAX_AMOUNT, COUNT(*) AS COUNT_ALL "
        "FROM ORDERS AS T1 GROUP BY DATE_TRUNC('month', AT)",
    ),
    (
        lambda o, c: o.withColumnRenamed("Odd Name", "note").select("note", "id"),
        'SELECT NOTE, ID FROM ( SELECT T1.ID, T1.CUSTOMER, T1.AMOUNT, T1.AT, T1."Odd Name" AS NOTE '
        "FROM ORDERS AS T1 ) AS T3",
    ),
    (
        lambda o, c: o.select("id").subtract(c.select("id")),
        "SELECT ID FROM ORDERS AS T1 EXCEPT SELECT ID FROM CUSTOMERS AS T2",
    ),
    (
        lambda o, c: o.groupBy("customer").agg(F.countDistinct("id").alias("ids"), F.min_by("id", "at").alias("first")),
        "SELECT CUSTOMER, COUNT(DISTINCT ID) AS IDS, MIN_BY(ID, AT) AS FIRST FROM ORDERS AS T1 GROUP BY CUSTOMER",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_code_becomes_sql_that_is_incremental(shop: Session, code: Code, expected: str) -> None:
    source = tables()
    text = code(source.table("orders"), source.table("Customers")).sql()
    assert " ".join(text.split()) == expected
    steps = {row[0]: row[1] for row in shop.execute(f"EXPLAIN DYNAMIC TABLE AS {text}").rows()}
    assert steps["Refresh mode"] == "INCREMENTAL", steps.get("Reason")


def test_a_frame_of_frames_keeps_its_columns_apart(shop: Session) -> None:
    source = tables()
    orders = source.table("orders")
    last = orders.groupBy("customer").agg(F.max("at").alias("at")).alias("last")
    frame = orders.join(last, (orders.customer == last.customer) & (orders.at == last["at"])).select(orders.id, last.at)
    shop.execute(f"EXPLAIN DYNAMIC TABLE AS {frame.sql()}")
    assert frame.columns == ["ID", "AT"]


def test_order_and_limit(shop: Session) -> None:
    text = tables().table("orders").orderBy(F.desc("amount"), "id").limit(3).select("id").sql()
    shop.execute(f"EXPLAIN DYNAMIC TABLE AS {text}")
    assert "ORDER BY AMOUNT DESC NULLS LAST, ID ASC NULLS FIRST LIMIT 3" in " ".join(text.split())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "NULL"), (True, "TRUE"), (-2, "-2"), (Decimal("1.50"), "1.50"),
        ("it's", r"'it\'s'"), ("a\\b", r"'a\\b'"),
        (date(2024, 1, 31), "CAST('2024-01-31' AS DATE)"),
        (datetime(2024, 1, 31, 10), "CAST('2024-01-31 10:00:00' AS TIMESTAMPNTZ)"),
    ],
)  # fmt: skip
def test_literals(given: object, expected: str) -> None:
    assert F.lit(given).tree.sql(dialect="snowflake") == expected


def message(work: Callable[[], object]) -> str:
    with pytest.raises((SnowmeltError, AttributeError)) as caught:
        work()
    return str(caught.value)


def test_mistakes_are_told() -> None:
    source = tables()
    orders = source.table("orders")
    assert "neither the method nor the column 'amout'" in message(lambda: orders.amout)
    assert "needs to know the columns" in message(lambda: source.sql("SELECT 1 AS a").withColumn("b", F.lit(1)))
    assert "'sideways' is not a kind of join" in message(lambda: orders.join(orders, "id", "sideways"))
    assert "is not on both sides" in message(lambda: orders.join(source.table("customers"), "name"))
    assert "'&' for and" in message(lambda: bool(orders.id == 1))
    assert "Unsupported feature 'functions.udf" in message(lambda: F.udf)
    assert "is not an expression" in message(lambda: orders.filter("id = = 1"))


def test_columns_may_have_any_name_that_is_no_method() -> None:
    names = ["QUERY", "KNOWN", "CLOSED", "TABLES", "COUNT", "ORDER"]
    frame = Tables(lambda _: names).table("t")
    text = frame.filter(frame.closed & (frame.count > 1)).select(frame.query, frame.order, frame.known).sql()
    assert " ".join(text.split()) == (
        'SELECT T1.QUERY, T1."ORDER", T1.KNOWN FROM T AS T1 WHERE T1.CLOSED AND ( T1.COUNT > 1 )'
    )
