"""Incremental maintenance as a good engineer writes it by hand for Spark and Delta: change feeds and MERGE INTO.

A query has a table of its own with what the next MERGE needs (sums, and the number of rows behind each, so that a group
whose last row goes away is deleted), and a view that readers select from. A signed change is a row of the change feed
with 1 where it came and -1 where it went. What a hand-written job gets for free here, and would have to care for:

- the versions up to which it has read are kept in memory; a job keeps them where no crash parts them from the MERGE;
- values are known not to be NULL, and customers not to change: q03 looks at neither, and refuses changed customers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Row

from benchmarks.workbench import Workbench


@dataclass(frozen=True, slots=True)
class Maintained:
    """How one query is maintained, in Spark's SQL. `<table>_changes` are views of signed changes."""

    state: str
    """Computes the table once, at first."""
    result: str
    """What readers see of the table, which is called `state`."""
    merge: str
    """The changes to merge into `state`, and how."""
    changing: tuple[str, ...]
    """The tables whose changes it reads."""
    unchanging: tuple[str, ...] = ()
    """The tables it reads and takes to stay as they are."""


_Q01_SUMS = """
    SUM({sign} * l_quantity) AS sum_qty,
    SUM({sign} * l_extendedprice) AS sum_base_price,
    SUM({sign} * l_extendedprice * (1 - l_discount)) AS sum_disc_price,
    SUM({sign} * l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
    SUM({sign} * l_discount) AS sum_disc,
    SUM({sign}) AS count_order"""
_Q01 = """
    SELECT l_returnflag, l_linestatus, {sums}
    FROM {lines}
    WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90 days'
    GROUP BY l_returnflag, l_linestatus"""

_Q03_OF_LINES = "l_shipdate > DATE '1995-03-15'"
_Q03_OF_ORDERS = "o_orderdate < DATE '1995-03-15'"
_Q03_COLUMNS = "l_orderkey, o_orderdate, o_shippriority"
_Q03_REVENUE = "l_extendedprice * (1 - l_discount)"

_Q06 = """
    SELECT COALESCE(SUM({sign} * l_extendedprice * l_discount), 0) AS revenue, COALESCE(SUM({sign}), 0) AS line_count
    FROM {lines}
    WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1 year'
      AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24"""

_Q12_OF_LINES = """
    l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
    AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1 year'"""
_Q12_HIGH = "o_orderpriority IN ('1-URGENT', '2-HIGH')"
_Q12_COUNTS = f"""
    SUM(IF({_Q12_HIGH}, sign, 0)) AS high_line_count,
    SUM(IF({_Q12_HIGH}, 0, sign)) AS low_line_count,
    SUM(sign) AS line_count"""


def _joined_changes(line_columns: str, of_lines: str, order_columns: str, of_orders: str) -> str:
    """Signed changes of lineitem JOIN orders: changed lines with the orders there are now, and changed orders with the
    lines there were before, which are those there are now less their changes. So nothing is read at an old version.

    Spark knows no size of a change feed: the hints say what is small.
    """
    return f"""
    SELECT /*+ BROADCAST(c) */ {line_columns}, {order_columns}, c.sign
    FROM (SELECT * FROM lineitem_changes WHERE {of_lines}) c JOIN orders ON l_orderkey = o_orderkey
    WHERE {of_orders}
    UNION ALL
    SELECT /*+ BROADCAST(c) */ {line_columns}, {order_columns}, c.sign * before.sign
    FROM (SELECT * FROM orders_changes WHERE {of_orders}) c JOIN (
        SELECT l_orderkey, {line_columns}, 1 AS sign FROM lineitem WHERE {of_lines}
        UNION ALL
        SELECT l_orderkey, {line_columns}, -sign FROM lineitem_changes WHERE {of_lines}
    ) before ON l_orderkey = o_orderkey"""


MAINTAINED = {
    "q01": Maintained(
        state=_Q01.format(sums=_Q01_SUMS.format(sign="1"), lines="lineitem"),
        result="""
            SELECT l_returnflag, l_linestatus, sum_qty, sum_base_price, sum_disc_price, sum_charge,
                CAST(sum_qty / count_order AS DECIMAL(19, 6)) AS avg_qty,
                CAST(sum_base_price / count_order AS DECIMAL(19, 6)) AS avg_price,
                CAST(sum_disc / count_order AS DECIMAL(19, 6)) AS avg_disc,
                count_order
            FROM {state}""",
        merge=f"""
            MERGE INTO {{state}} AS t USING ({_Q01.format(sums=_Q01_SUMS.format(sign="sign"), lines="lineitem_changes")}
            ) AS c ON t.l_returnflag = c.l_returnflag AND t.l_linestatus = c.l_linestatus
            WHEN MATCHED AND t.count_order + c.count_order = 0 THEN DELETE
            WHEN MATCHED THEN UPDATE SET
                sum_qty = t.sum_qty + c.sum_qty,
                sum_base_price = t.sum_base_price + c.sum_base_price,
                sum_disc_price = t.sum_disc_price + c.sum_disc_price,
                sum_charge = t.sum_charge + c.sum_charge,
                sum_disc = t.sum_disc + c.sum_disc,
                count_order = t.count_order + c.count_order
            WHEN NOT MATCHED THEN INSERT *""",
        changing=("lineitem",),
    ),
    # The ten orders with the most revenue can't be maintained from themselves: when one goes, the eleventh is wanted.
    # So the revenue of every order is kept, and the view sorts it.
    "q03": Maintained(
        state=f"""
            SELECT {_Q03_COLUMNS}, SUM({_Q03_REVENUE}) AS revenue, COUNT(*) AS line_count
            FROM customer, orders, lineitem
            WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
              AND {_Q03_OF_ORDERS} AND {_Q03_OF_LINES}
            GROUP BY {_Q03_COLUMNS}""",
        result="""
            SELECT l_orderkey, revenue, o_orderdate, o_shippriority
            FROM {state} ORDER BY revenue DESC, o_orderdate LIMIT 10""",
        merge=f"""
            MERGE INTO {{state}} AS t USING (
                SELECT o_orderkey AS l_orderkey, o_orderdate, o_shippriority,
                    SUM(sign * {_Q03_REVENUE}) AS revenue, SUM(sign) AS line_count
                FROM ({_joined_changes(
                    "l_extendedprice, l_discount", _Q03_OF_LINES,
                    "o_orderkey, o_custkey, o_orderdate, o_shippriority", _Q03_OF_ORDERS
                )}
                ) JOIN customer ON c_custkey = o_custkey
                WHERE c_mktsegment = 'BUILDING'
                GROUP BY o_orderkey, o_orderdate, o_shippriority
            ) AS c
            ON t.l_orderkey = c.l_orderkey AND t.o_orderdate = c.o_orderdate AND t.o_shippriority = c.o_shippriority
            WHEN MATCHED AND t.line_count + c.line_count = 0 THEN DELETE
            WHEN MATCHED THEN UPDATE SET revenue = t.revenue + c.revenue, line_count = t.line_count + c.line_count
            WHEN NOT MATCHED AND c.line_count <> 0 THEN INSERT *""",
        changing=("lineitem", "orders"),
        unchanging=("customer",),
    ),
    "q06": Maintained(
        state=_Q06.format(sign="1", lines="lineitem"),
        result="SELECT IF(line_count = 0, NULL, revenue) AS revenue FROM {state}",
        merge=f"""
            MERGE INTO {{state}} AS t USING ({_Q06.format(sign="sign", lines="lineitem_changes")}) AS c ON TRUE
            WHEN MATCHED THEN UPDATE SET revenue = t.revenue + c.revenue, line_count = t.line_count + c.line_count""",
        changing=("lineitem",),
    ),
    "q12": Maintained(
        state=f"""
            SELECT l_shipmode, {_Q12_COUNTS}
            FROM (SELECT *, 1 AS sign FROM lineitem WHERE {_Q12_OF_LINES}) JOIN orders ON l_orderkey = o_orderkey
            GROUP BY l_shipmode""",
        result="SELECT l_shipmode, high_line_count, low_line_count FROM {state}",
        merge=f"""
            MERGE INTO {{state}} AS t USING (
                SELECT l_shipmode, {_Q12_COUNTS}
                FROM ({_joined_changes("l_shipmode", _Q12_OF_LINES, "o_orderpriority", "TRUE")})
                GROUP BY l_shipmode
            ) AS c ON t.l_shipmode = c.l_shipmode
            WHEN MATCHED AND t.line_count + c.line_count = 0 THEN DELETE
            WHEN MATCHED THEN UPDATE SET
                high_line_count = t.high_line_count + c.high_line_count,
                low_line_count = t.low_line_count + c.low_line_count,
                line_count = t.line_count + c.line_count
            WHEN NOT MATCHED AND c.line_count <> 0 THEN INSERT *""",
        changing=("lineitem", "orders"),
    ),
}  # fmt: skip


class ByHand:
    """The queries' tables in plain Spark, over the Delta tables that Snowmelt writes."""

    def __init__(self, bench: Workbench, names: Sequence[str]) -> None:
        self._bench = bench
        self._read: dict[tuple[str, str], int] = {}
        """For each query and source table: the version up to which its changes are in."""
        for name in names:
            maintained = MAINTAINED[name]
            bench.step(f"creating {name}, by hand")
            for table in (*maintained.changing, *maintained.unchanging):
                self._read[name, table] = self._version(table)
            bench.plain.sql(f"CREATE TABLE {_state(name)} USING delta AS {maintained.state}")

    def update(self, name: str) -> None:
        """Merges what has changed since the last time."""
        maintained = MAINTAINED[name]
        now = {table: self._version(table) for table in (*maintained.changing, *maintained.unchanging)}
        for table in maintained.unchanging:
            assert now[table] == self._read[name, table], f"{name} by hand takes {table} to stay as it is"
        for table in maintained.changing:
            self._show_changes(table, self._read[name, table] + 1, now[table])
        self._bench.plain.sql(maintained.merge.format(state=_state(name)))
        self._read |= {(name, table): version for table, version in now.items()}

    def rows(self, name: str) -> list[tuple[object, ...]]:
        return self._bench.plain_rows(MAINTAINED[name].result.format(state=_state(name)))

    def _version(self, table: str) -> int:
        path = self._bench.snowmelt_path(table)
        newest: Row = self._bench.plain.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").collect()[0]
        return int(newest["version"])

    def _show_changes(self, table: str, first: int, last: int) -> None:
        feed = (
            self._bench.plain.read.format("delta")
            .option("readChangeFeed", "true")
            .option("startingVersion", first)
            .option("endingVersion", last)
            .load(self._bench.snowmelt_path(table))
        )
        signed = feed.selectExpr("*", "IF(_change_type IN ('insert', 'update_postimage'), 1, -1) AS sign")
        signed.createOrReplaceTempView(f"{table}_changes")


def _state(name: str) -> str:
    return f"by_hand_{name}"
