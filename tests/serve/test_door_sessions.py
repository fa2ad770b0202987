"""Tokens of clients' sessions, by a clock that moves when told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

from snowmelt.core.clock import ManualClock
from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.protocol.executions import Execution
from snowmelt.serve.protocol.sessions import DoorSession, Lifetimes, Sessions


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def sessions(clock: ManualClock) -> Sessions:
    return Sessions(clock, Lifetimes(), 2, closed=lambda _: None)


def _refused(code: str) -> object:
    return pytest.raises(SnowmeltError, match=code)


def _open(sessions: Sessions) -> tuple[DoorSession, str, str]:
    return sessions.open(Mock(), "PythonConnector")


def test_a_renewal_whose_answer_was_lost_can_be_asked_for_again(sessions: Sessions, clock: ManualClock) -> None:
    opened, first, master = _open(sessions)
    _, lost, _ = sessions.renew(master)
    clock.advance(timedelta(seconds=10))
    found, second, second_master = sessions.renew(master)
    assert found is opened and sessions.by_token(second) is opened
    for replaced in (first, lost):
        with _refused("390112"):
            sessions.by_token(replaced)
    clock.advance(timedelta(seconds=61))
    with _refused("390114"):
        sessions.renew(master)
    assert sessions.renew(second_master)[0] is opened


def test_two_threads_that_renew_at_once_both_go_on(sessions: Sessions) -> None:
    opened, _, master = _open(sessions)
    answers = [sessions.renew(master), sessions.renew(master)]
    for _, _, got in answers:
        _, token, _ = sessions.renew(got)
        assert sessions.by_token(token) is opened


def test_asking_again_makes_no_second_session(sessions: Sessions, clock: ManualClock) -> None:
    opened, _, master = _open(sessions)
    sessions.renew(master)
    sessions.renew(master)
    assert sessions.all() == [opened]
    sessions.check_room()
    other, _, _ = _open(sessions)
    with _refused("390201"):
        sessions.check_room()
    sessions.close(opened)
    with _refused("390114"):
        sessions.renew(master)
    clock.advance(timedelta(hours=5))
    sessions.close_expired()
    assert sessions.all() == [] and other is not opened


def _session(user: str = "ANN") -> Mock:
    return Mock(user=user, closed=False, running=None)


def test_a_session_ends_however_often_it_is_renewed(sessions: Sessions, clock: ManualClock) -> None:
    opened, token, master = sessions.open(_session(), "PythonConnector")
    for _ in range(7 * 24):
        clock.advance(timedelta(hours=1))
        if clock.now() < opened.ends:
            _, token, master = sessions.renew(master)
            sessions.keep(opened)
    with _refused("390111"):
        sessions.by_token(token)
    with _refused("390114"):
        sessions.renew(master)
    sessions.close_expired()
    assert sessions.all() == []


def test_a_session_of_our_own_api_lasts_while_it_is_used(sessions: Sessions, clock: ManualClock) -> None:
    opened, token, _ = sessions.open(_session(), "snowmelt", own=True)
    for _ in range(10):
        clock.advance(timedelta(hours=3))
        assert sessions.by_token(token, own=True) is opened
    clock.advance(timedelta(hours=5))
    with _refused("390111"):
        sessions.by_token(token, own=True)
    sessions.close_expired()
    assert sessions.all() == []


def test_a_session_of_our_own_api_does_not_expire_while_it_works_but_ends(
    sessions: Sessions, clock: ManualClock
) -> None:
    opened, _, _ = sessions.open(_session(), "snowmelt", own=True)
    opened.session.running = Mock()
    clock.advance(timedelta(hours=5))
    sessions.close_expired()
    assert sessions.all() == [opened]
    clock.advance(timedelta(days=7))
    sessions.close_expired()
    assert sessions.all() == []


def test_one_user_can_not_take_every_place(clock: ManualClock) -> None:
    sessions = Sessions(clock, Lifetimes(), 4, lambda _: None, most_of_user=2)
    for own in (False, True):
        sessions.open(_session(), "x", own=own)
    refused = _session()
    with _refused("390202"):
        sessions.open(refused, "x")
    refused.close.assert_called_once()
    for _ in range(2):
        sessions.open(_session("BOB"), "x")
    with _refused("390201"):
        sessions.open(_session("CARL"), "x", own=True)


def test_the_oldest_answers_are_forgotten_and_the_newest_kept(sessions: Sessions) -> None:
    opened, _, _ = _open(sessions)
    asked = [Execution(f"r{number}", f"q{number}", opened) for number in range(70)]
    for execution in asked:
        assert opened.remember(execution) is execution
        execution.reply(b"answer")
    kept = opened.executions()
    assert kept == asked[-len(kept) :]
    assert 60 < len(kept) <= 64
    assert opened.remember(Execution("r69", "again", opened)) is asked[-1]
    large = Execution("large", "large", opened)
    opened.remember(large)
    large.reply(b"x" * (5 << 20))
    opened.remember(last := Execution("last", "last", opened))
    assert opened.executions() == [last]


def test_what_still_runs_is_not_forgotten(sessions: Sessions) -> None:
    opened, _, _ = _open(sessions)
    running = Execution("running", "running", opened)
    opened.remember(running)
    for number in range(100):
        execution = Execution(f"r{number}", f"q{number}", opened)
        opened.remember(execution)
        execution.reply(b"answer")
    assert opened.remember(Execution("running", "again", opened)) is running
