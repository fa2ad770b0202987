"""Which of Spark's jobs a statement made."""

from __future__ import annotations

import json

from snowmelt.runtime.session import Session


def _jobs(session: Session, query_id: str) -> list[int]:
    history = "TABLE(information_schema.query_history_by_session())"
    found = session.execute(f"SELECT spark_job_ids FROM {history} WHERE query_id = '{query_id}'").rows()
    return list(json.loads(found[0][0]))


def test_history_has_the_jobs_that_spark_ran_for_a_statement(session: Session) -> None:
    session.execute("CREATE TABLE t (a INT)")
    session.execute("INSERT INTO t VALUES (1), (2)")
    first, second = (session.execute(f"SELECT a, UUID_STRING() FROM t WHERE a < {n}").query_id for n in (5, 6))
    shown = _jobs(session, first), _jobs(session, second)
    assert shown[0] and shown[1] and not set(shown[0]) & set(shown[1])
    tracker = session.account.engine.session().sparkContext.statusTracker()
    for job in (*shown[0], *shown[1]):
        known = tracker.getJobInfo(job)
        assert known is not None and known.status == "SUCCEEDED"
    session.account.journal.flush()
    assert (_jobs(session, first), _jobs(session, second)) == shown, "they are kept"


def test_what_needs_no_spark_has_no_jobs(session: Session) -> None:
    assert _jobs(session, session.execute("SHOW TABLES").query_id) == []
