"""SYSTEM$ functions are constants: no Spark, and errors that name what is wrong."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.metadata.clustering import Clustering
from snowmelt.runtime.session import Session
from tests.support.waiting import DEADLINE


def value(session: Session, sql: str) -> object:
    return session.execute(f"SELECT {sql}").rows()[0][0]


def refusal(session: Session, sql: str) -> str:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(f"SELECT {sql}")
    return str(caught.value).replace("SQL compilation error:\n", "")


def test_wait(meta: Session) -> None:
    assert value(meta, "SYSTEM$WAIT(0)") == "waited 0 seconds"
    assert value(meta, "SYSTEM$WAIT(1, 'MILLISECONDS')") == "waited 1 milliseconds"
    assert refusal(meta, "SYSTEM$WAIT(1, 'WEEKS')").startswith("001008 (22023)")
    assert refusal(meta, "SYSTEM$WAIT(-1)").startswith("001008 (22023)")


def test_last_change_moves_with_every_change(meta: Session) -> None:
    meta.execute("CREATE TABLE t (a INT)")
    first = value(meta, "SYSTEM$LAST_CHANGE_COMMIT_TIME('t')")
    assert value(meta, "SYSTEM$LAST_CHANGE_COMMIT_TIME('t')") == first
    meta.execute("INSERT INTO t VALUES (1)")
    second = value(meta, "SYSTEM$LAST_CHANGE_COMMIT_TIME('public.t')")
    assert isinstance(first, int)
    assert isinstance(second, int)
    assert second > first > 1_700_000_000_000_000_000


def test_clustering(meta: Session) -> None:
    meta.execute("CREATE TABLE t (a INT, b INT) CLUSTER BY (a)")
    for start in (0, 10, 15):
        meta.execute(f"INSERT INTO t VALUES ({start}, 1), ({start + 9}, 1)")
    information = json.loads(str(value(meta, "SYSTEM$CLUSTERING_INFORMATION('t')")))
    assert information["cluster_by_keys"] == "LINEAR(a)"
    assert information["total_partition_count"] == 3
    assert information["average_depth"] == pytest.approx(1.6667)
    assert information["partition_depth_histogram"]["00002"] == 2
    by_b = json.loads(str(value(meta, "SYSTEM$CLUSTERING_INFORMATION('t', '(b)')")))
    assert (by_b["total_constant_partition_count"], by_b["average_depth"]) == (3, 3.0)
    assert refusal(meta, "SYSTEM$CLUSTERING_DEPTH('t', '(nosuch)')").startswith("000904")
    meta.execute("CREATE TABLE u (a INT)")
    assert refusal(meta, "SYSTEM$CLUSTERING_DEPTH('u')").startswith("002262")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12), st.integers(0, 2))
def test_depth_and_overlap_by_their_definitions(pairs: list[tuple[int, int]], unknown: int) -> None:
    ranges = tuple((min(pair), max(pair)) for pair in pairs)
    clustering = Clustering("LINEAR(A)", ranges, unknown)
    overlaps = [
        sum(1 for other in ranges if other[0] <= high and low <= other[1]) - 1 + unknown for low, high in ranges
    ]
    depths = [
        max(sum(1 for other in ranges if other[0] <= point <= other[1]) for point in range(low, high + 1)) + unknown
        for low, high in ranges
    ]
    assert clustering.overlaps() == overlaps
    assert clustering.depths() == depths + [len(pairs) + unknown] * unknown
    assert sum(clustering.information()["partition_depth_histogram"].values()) == len(pairs) + unknown


def test_cancelling_another_session(meta: Session) -> None:
    other = meta.account.session()
    failures: list[SnowmeltError] = []

    def wait() -> None:
        try:
            other.execute("SELECT SYSTEM$WAIT(60)")
        except SnowmeltError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while other.running is None:
        thread.join(0.01)
    query_id = other.running.query_id
    assert value(meta, f"SYSTEM$CANCEL_QUERY('{query_id}')") == f"query [{query_id}] terminated."
    thread.join(DEADLINE)
    assert [error.code for error in failures] == ["000604"]
    assert refusal(meta, f"SYSTEM$CANCEL_QUERY('{query_id}')").startswith("000605")
    assert value(meta, f"SYSTEM$CANCEL_ALL_QUERIES({other.id})") == "0 statements canceled"
    assert value(meta, f"SYSTEM$ABORT_SESSION({other.id})") == f"session [{other.id}] terminated."
    assert other.closed


def test_unknown_names_get_the_nearest(meta: Session) -> None:
    assert refusal(meta, "SYSTEM$WAITT(1)") == (
        "002140 (42601): Unknown function SYSTEM$WAITT\nThe nearest function that exists here is SYSTEM$WAIT."
    )
    assert refusal(meta, "SYSTEM$LAST_CHANGE_COMMIT_TIME('nosuch')").startswith("002003 (42S02): Table")
