"""The eight tables, with Snowflake's types."""

from __future__ import annotations

_KEY, _TEXT, _MONEY, _DATE = "INTEGER", "VARCHAR", "NUMBER(15, 2)", "DATE"

TABLES: dict[str, dict[str, str]] = {
    "region": {"r_regionkey": _KEY, "r_name": _TEXT, "r_comment": _TEXT},
    "nation": {"n_nationkey": _KEY, "n_name": _TEXT, "n_regionkey": _KEY, "n_comment": _TEXT},
    "supplier": {
        "s_suppkey": _KEY, "s_name": _TEXT, "s_address": _TEXT, "s_nationkey": _KEY, "s_phone": _TEXT,
        "s_acctbal": _MONEY, "s_comment": _TEXT,
    },
    "customer": {
        "c_custkey": _KEY, "c_name": _TEXT, "c_address": _TEXT, "c_nationkey": _KEY, "c_phone": _TEXT,
        "c_acctbal": _MONEY, "c_mktsegment": _TEXT, "c_comment": _TEXT,
    },
    "part": {
        "p_partkey": _KEY, "p_name": _TEXT, "p_mfgr": _TEXT, "p_brand": _TEXT, "p_type": _TEXT, "p_size": _KEY,
        "p_container": _TEXT, "p_retailprice": _MONEY, "p_comment": _TEXT,
    },
    "partsupp": {
        "ps_partkey": _KEY, "ps_suppkey": _KEY, "ps_availqty": _KEY, "ps_supplycost": _MONEY, "ps_comment": _TEXT,
    },
    "orders": {
        "o_orderkey": _KEY, "o_custkey": _KEY, "o_orderstatus": _TEXT, "o_totalprice": _MONEY, "o_orderdate": _DATE,
        "o_orderpriority": _TEXT, "o_clerk": _TEXT, "o_shippriority": _KEY, "o_comment": _TEXT,
    },
    "lineitem": {
        "l_orderkey": _KEY, "l_partkey": _KEY, "l_suppkey": _KEY, "l_linenumber": _KEY, "l_quantity": _MONEY,
        "l_extendedprice": _MONEY, "l_discount": _MONEY, "l_tax": _MONEY, "l_returnflag": _TEXT,
        "l_linestatus": _TEXT, "l_shipdate": _DATE, "l_commitdate": _DATE, "l_receiptdate": _DATE,
        "l_shipinstruct": _TEXT, "l_shipmode": _TEXT, "l_comment": _TEXT,
    },
}  # fmt: skip


def create_table(name: str) -> str:
    """The table's CREATE TABLE statement."""
    columns = ", ".join(f"{column} {kind}" for column, kind in TABLES[name].items())
    return f"CREATE TABLE {name} ({columns})"
