"""The same DataFrame code in PySpark and in a project gives the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as spark_functions

from snowmelt import Window, functions
from snowmelt.projects.frames import Tables
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session

ORDERS = [
    (1, 1, 10, "a"), (2, 1, 20, None), (3, 2, 5, "b"), (4, 2, None, "b"), (5, None, 7, "c"), (6, 9, 7, "c"),
    (6, 9, 7, "c"),
]  # fmt: skip
CUSTOMERS = [(1, "Ada"), (2, "Blaise"), (3, "Carl"), (None, "Nobody")]
Code = Callable[[Any, Any, Any, Any], Any]
"""Functions, Window, orders, customers."""

CASES: dict[str, Code] = {
    "filter": lambda F, W, o, c: o.filter((F.col("amount") > 6) & ~F.col("tag").isin("a", "x")).select("id", "tag"),
    "aggregate": lambda F, W, o, c: o.groupBy("customer").agg(
        F.sum("amount").alias("s"), F.count("*").alias("n"), F.count("amount").alias("m"),
        F.countDistinct("tag").alias("d"), F.max("tag").alias("t"),
    ),
    "scalar aggregate": lambda F, W, o, c: o.filter("amount > 100").agg(
        F.sum("amount").alias("s"), F.count("*").alias("n")
    ),
    "inner join": lambda F, W, o, c: o.join(c, o.customer == c.id).select(o.id, c.name),
    "left join": lambda F, W, o, c: o.join(c, o.customer == c.id, "left").select(o.id, c.name),
    "full join by name": lambda F, W, o, c: o.join(c, "id", "full").select("id", "tag", "name"),
    "semi": lambda F, W, o, c: o.join(c, o.customer == c.id, "left_semi").select("id"),
    "anti": lambda F, W, o, c: o.join(c, o.customer == c.id, "left_anti").select("id"),
    "window": lambda F, W, o, c: o.select(
        "id", F.row_number().over(W.partitionBy("customer").orderBy(F.desc("amount"), "id", "tag")).alias("n"),
        F.sum("amount")
        .over(W.partitionBy("customer").orderBy("amount").rowsBetween(W.unboundedPreceding, 0))
        .alias("s"),
        F.lag("id", 1).over(W.orderBy("amount", "id")).alias("before"),
    ).distinct(),
    "newest": lambda F, W, o, c: o.withColumn(
        "place", F.row_number().over(W.partitionBy("customer").orderBy(F.col("id").desc()))
    ).filter("place = 1").drop("place"),
    "union": lambda F, W, o, c: o.select("id").union(c.select("id")),
    "distinct": lambda F, W, o, c: o.distinct(),
    "subtract": lambda F, W, o, c: o.select("id").subtract(c.select("id")),
    "intersect": lambda F, W, o, c: o.select("id").intersect(c.select("id")),
    "case": lambda F, W, o, c: o.select(
        "id", F.when(o.amount > 9, "big").when(o.amount > 6, "middle").otherwise(F.lit("small")).alias("size"),
        F.coalesce("amount", F.lit(0)).alias("paid"), F.upper("tag").alias("tag"), o.tag.isNull().alias("none"),
    ),
    "order and limit": lambda F, W, o, c: o.orderBy("amount", "id").limit(3).select("id"),
    "self join": lambda F, W, o, c: o.alias("a").join(
        o.groupBy("customer").agg(F.max("id").alias("last")).alias("b"), F.col("a.customer") == F.col("b.customer")
    ).select("a.id", "b.last"),
    "arithmetic": lambda F, W, o, c: o.select((o.amount * 2 - 1).alias("x"), (-o.id).alias("y"), (o.id % 4).alias("z")),
}  # fmt: skip


@pytest.fixture(scope="module")
def loaded(account: Account) -> Session:
    session = account.session()
    session.execute(f"CREATE DATABASE FRAMES_{session.id}")
    session.execute("CREATE TABLE orders (id INT, customer INT, amount INT, tag VARCHAR)")
    session.execute("CREATE TABLE customers (id INT, name VARCHAR)")
    for table, rows in (("orders", ORDERS), ("customers", CUSTOMERS)):
        for row in rows:
            session.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row))
    return session


def bag(rows: list[Any]) -> list[tuple[str, ...]]:
    return sorted(tuple(str(value) for value in row) for row in rows)


@pytest.mark.parametrize("name", CASES)
def test_the_same_rows_as_pyspark(account: Account, loaded: Session, name: str) -> None:
    code = CASES[name]
    spark: SparkSession = account.engine.session()
    orders = spark.createDataFrame(ORDERS, "id int, customer int, amount int, tag string")
    customers = spark.createDataFrame(CUSTOMERS, "id int, name string")
    expected = code(spark_functions, SparkWindow, orders, customers).collect()
    columns = {("ORDERS",): ["ID", "CUSTOMER", "AMOUNT", "TAG"], ("CUSTOMERS",): ["ID", "NAME"]}
    tables = Tables(columns.get)
    query = code(functions, Window, tables.table("orders"), tables.table("customers")).sql()
    assert bag(loaded.execute(query).rows()) == bag(expected), query
