"""More long statements at Snowmelt's own API than there are threads: everybody else is served."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.serve.app import HttpServer
from snowmelt.serve.credentials import load_credentials
from tests.serve.callers import ADMIN_PASSWORD, PASSWORD, OwnCaller, Serving, SnowflakeCaller, served, until
from tests.support.waiting import DEADLINE


def test_long_statements_take_no_threads_of_others(serving: Serving) -> None:
    admin = serving.admin()
    admin.execute("CREATE USER busy")
    token = str(admin.execute("ALTER USER busy ADD PAT t").rows()[0][1])
    callers = [OwnCaller(serving, "busy", password=token) for _ in range(45)]
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda caller=caller: answers.append(caller.run("CALL SYSTEM$WAIT(240)")), daemon=True)
        for caller in callers
    ]
    for thread in threads:
        thread.start()
    parallel = serving.account.settings.parallel_statements
    until(lambda: sum(s.user == "BUSY" and s.running is not None for s in serving.account.sessions()) >= parallel)
    door = SnowflakeCaller(serving)
    door.http.timeout = 60
    assert door.get("/monitoring/queries/x")["success"] is True
    assert isinstance(door.run("SHOW PARAMETERS LIKE 'TIMEZONE'"), list)
    admin.execute("ALTER USER busy SET DISABLED = TRUE")
    for thread in threads:
        thread.join(DEADLINE)
    assert len(answers) == 45 and set(answers) <= {"000604", "390111"}


def test_long_ones_begin_beside_each_other_and_small_ones_pass_them(serving: Serving) -> None:
    """Few begin at the same moment, but none waits for another's end as long as there are places."""
    admin = serving.admin()
    admin.execute("CREATE USER many")
    token = str(admin.execute("ALTER USER many ADD PAT t").rows()[0][1])
    long = min(12, serving.account.settings.parallel_statements - 2)
    callers = [SnowflakeCaller(serving, "many", PASSWORD=token) for _ in range(long + 3)]
    waiting = [caller.send("CALL SYSTEM$WAIT(240)", asyncExec=True)["data"]["queryId"] for caller in callers[:long]]
    until(lambda: sum(s.user == "MANY" and s.running is not None for s in serving.account.sessions()) == long)
    for _ in range(20):
        for small in callers[long:]:
            assert isinstance(small.run("SHOW PARAMETERS LIKE 'TIMEZONE'"), list)
    for caller, query_id in zip(callers, waiting, strict=False):
        assert caller.post(f"/queries/{query_id}/abort-request", json={})["success"]
        assert caller.get(f"/queries/{query_id}/result")["code"] == "000604"


def test_long_ones_leave_their_places_to_others(tmp_path: Path) -> None:
    """Scripts that never end, more than there are places, through one door: all others are served, by both."""
    with open_account(tmp_path, settings=Settings(parallel_statements=2)) as account:
        credentials, _ = load_credentials(account.data_dir, ADMIN_PASSWORD)
        account.session().execute(f"CREATE USER ann PASSWORD = '{PASSWORD}'")
        with served(HttpServer(account, credentials)) as serving:
            hogs = [OwnCaller(serving) for _ in range(3)]
            answers: list[Any] = []
            loop = "BEGIN LOOP CALL SYSTEM$WAIT(0.01); SHOW ROLES; END LOOP; END"
            threads = [threading.Thread(target=lambda hog=hog: answers.append(hog.run(loop))) for hog in hogs]
            for thread in threads:
                thread.start()
            until(lambda: sum(session.running is not None for session in account.sessions()) == len(hogs))
            for caller in (SnowflakeCaller(serving), OwnCaller(serving)):
                assert isinstance(caller.run("SHOW PARAMETERS LIKE 'TIMEZONE'"), list)
            # Embedded sessions too.
            assert account.session().execute("SHOW PARAMETERS LIKE 'TIMEZONE'").rows()
            assert not answers
            account.session().execute("ALTER USER ann SET DISABLED = TRUE")
            for thread in threads:
                thread.join(DEADLINE)
            assert len(answers) == len(hogs)


def test_one_that_waits_for_a_place_can_be_cancelled(tmp_path: Path) -> None:
    with open_account(tmp_path, settings=Settings(parallel_statements=1)) as account:
        session = account.session()
        with account.slots.taken():
            caught: list[SnowmeltError] = []

            def execute() -> None:
                try:
                    session.execute("SHOW ROLES")
                except SnowmeltError as error:
                    caught.append(error)

            thread = threading.Thread(target=execute)
            thread.start()
            until(lambda: session.running is not None)
            session.cancel()
            thread.join(DEADLINE)
        assert [error.code for error in caught] == ["000604"]
        assert session.execute("SHOW ROLES").rows()
