"""The newest order of every customer, as DataFrame code."""

import snowmelt
from snowmelt import Window
from snowmelt import functions as F


@snowmelt.dynamic_table(target_lag="1 minute", comment="The newest order of every customer")
def latest_orders(tables):
    orders = tables.table("orders")
    newest = Window.partitionBy("customer").orderBy(F.col("placed_at").desc(), F.col("id").desc())
    return (
        orders.withColumn("place", F.row_number().over(newest))
        .filter("place = 1")
        .select("customer", "id", "amount", "placed_at")
    )
