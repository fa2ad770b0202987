"""What data engineers do with Snowpark: frames of local rows, reads, writes, aggregates."""

from connection import CREDENTIALS, DATABASE
from snowflake.snowpark import Session
from snowflake.snowpark.functions import col, count
from snowflake.snowpark.functions import sum as total

session = Session.builder.configs({**CREDENTIALS, "database": DATABASE, "schema": "PUBLIC"}).create()
frame = session.create_dataframe([[1, "ada", 1.5], [2, "grace", 2.5], [3, "ada", 4.0]], schema=["id", "who", "amount"])
frame.write.mode("overwrite").save_as_table("payments")
read = session.table("payments").filter(col("amount") > 2).select("id", "who").sort("id")
assert [tuple(row) for row in read.collect()] == [(2, "grace"), (3, "ada")], read.collect()
by_who = session.table("payments").group_by("who").agg(total("amount").alias("s"), count("id").alias("n")).sort("who")
assert [tuple(row) for row in by_who.collect()] == [("ada", 5.5, 2), ("grace", 2.5, 1)], by_who.collect()
session.table("payments").filter(col("id") == 1).write.mode("append").save_as_table("payments")
assert session.table("payments").count() == 4
assert session.sql("SELECT CURRENT_SCHEMA()").collect()[0][0] == "PUBLIC"
assert list(session.table("payments").sort("id").to_pandas()["ID"]) == [1, 1, 2, 3]
session.close()
print("frames")
