"""Every kind of check, with data that passes, fails and is empty, and every action: one table of them all."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.govern.quality.kinds import RULES, CheckLevel
from snowmelt.runtime.session import Session
from snowmelt.state.quality_model import CheckKind, FailureAction

NOW = "CURRENT_TIMESTAMP()"
GOOD = f"(1, 5, 'abc', {NOW})"
OTHER = f"(2, 5, 'abc', {NOW})"


@dataclass(frozen=True)
class Case:
    check: str
    bad: tuple[str, ...]
    """Rows that replace those that are there; of row checks the last one fails."""
    before_bad: str | None = None
    empty_passes: bool = True

    @property
    def kind(self) -> CheckKind:
        return CheckKind(self.check.split()[0])

    @property
    def per_row(self) -> bool:
        return RULES[self.kind].level is CheckLevel.ROW


LARGE = f"(3, 50, 'abc', {NOW})"
CASES = (
    Case("NOT_NULL (v)", (OTHER, f"(3, NULL, 'abc', {NOW})")),
    Case("ACCEPTED_VALUES (s) VALUES = ('abc')", (OTHER, f"(3, 5, 'x', {NOW})")),
    Case("RANGE (v) MIN = 0 MAX = 9", (OTHER, LARGE)),
    Case("PATTERN (s) PATTERN = 'a.*'", (OTHER, f"(3, 5, 'xa', {NOW})")),
    Case("LENGTH (s) MAX = 3", (OTHER, f"(3, 5, 'abcd', {NOW})")),
    Case("EXPRESSION (v < 10)", (OTHER, LARGE)),
    Case("UNIQUE (id)", (OTHER, OTHER)),
    Case("REFERENCES (id) TABLE = parents KEY = (id)", (OTHER, LARGE)),
    Case("ROW_COUNT MIN = 1 MAX = 1", (GOOD, OTHER), empty_passes=False),
    Case("FRESHNESS (at) MAX_AGE = '1 hour'", ("(2, 5, 'abc', '2020-01-01')",), empty_passes=False),
    Case("COMPLETENESS (v) MIN = 90", (OTHER, f"(3, NULL, 'abc', {NOW})")),
    Case("DUPLICATES (id)", (OTHER, OTHER)),
    Case("SCHEMA VALUES = ('s VARCHAR')", (OTHER,), before_bad="ALTER TABLE t RENAME COLUMN s TO renamed"),
    Case("MEAN (v) MAX = 9", (OTHER, LARGE)),
    Case("STDDEV (v) MAX = 9", (OTHER, LARGE)),
    Case("QUANTILE (v) QUANTILE = 0.9 MAX = 9", (LARGE, LARGE)),
    Case("DRIFT (v) MAX = 0.2", (LARGE, LARGE)),
    Case("DRIFT (v) METHOD = KS MAX = 0.2", (LARGE, LARGE)),
    Case("VOLUME", (OTHER,) * 40),
    Case("SQL (SELECT MAX(v) FROM t) MAX = 9", (OTHER, LARGE)),
)


def combinations() -> list[tuple[Case, FailureAction]]:
    return [
        (case, action)
        for case in CASES
        for action in FailureAction
        if case.per_row or action is not FailureAction.QUARANTINE
    ]


def test_every_kind_is_in_the_table() -> None:
    assert {case.kind for case in CASES} == set(CheckKind)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "action"), combinations(), ids=lambda value: getattr(value, "check", value))
def test_a_kind_with_an_action(session: Session, case: Case, action: FailureAction) -> None:
    session.execute("CREATE TABLE parents (id INT)")
    session.execute("INSERT INTO parents VALUES (1), (2)")
    session.execute("CREATE TABLE t (id INT, v INT, s VARCHAR, at TIMESTAMP_LTZ)")
    session.execute(f"ALTER TABLE t ADD QUALITY CHECK c AS {case.check} ON_FAILURE = {action}")
    stops = action in (FailureAction.FAIL, FailureAction.SUSPEND)

    session.execute(f"INSERT INTO t VALUES {GOOD}")
    assert (ids(session), last_result(session)) == ([1], "PASSED")

    written(session, "DELETE FROM t", refused=stops and not case.empty_passes)
    empties = not stops or case.empty_passes
    assert ids(session) == ([] if empties else [1])
    if not case.per_row:
        assert last_result(session) == ("PASSED" if case.empty_passes else "FAILED")
    if empties:
        session.execute(f"INSERT INTO t VALUES {GOOD}")
    assert (ids(session), last_result(session)) == ([1], "PASSED" if empties else "FAILED")

    if case.before_bad is not None:
        session.execute(case.before_bad)
    written(session, f"INSERT OVERWRITE INTO t VALUES {', '.join(case.bad)}", refused=stops)
    assert last_result(session) == "FAILED"
    new = sorted(int(row[1 : row.index(",")]) for row in case.bad)
    if stops:
        assert ids(session) == [1]
    elif action is FailureAction.WARN:
        assert ids(session) == new
    else:
        assert (ids(session), ids(session, "t_quarantine")) == (new[:-1], new[-1:])


def written(session: Session, statement: str, *, refused: bool) -> None:
    if refused:
        with pytest.raises(SnowmeltError) as failed:
            session.execute(statement)
        assert failed.value.code == "370020"
    else:
        session.execute(statement)


def ids(session: Session, table: str = "t") -> list[int]:
    return [int(row[0]) for row in session.execute(f"SELECT id FROM {table} ORDER BY id").rows()]


def last_result(session: Session) -> str:
    query = "SELECT status FROM TABLE(INFORMATION_SCHEMA.QUALITY_CHECK_HISTORY(TABLE_NAME => 't', RESULT_LIMIT => 1))"
    return str(session.execute(query).rows()[0][0])
