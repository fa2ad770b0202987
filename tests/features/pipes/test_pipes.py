"""Pipes: files that come are loaded once, by a statement or by the service. None of these tests starts Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.pipes.service import Pipes
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.support.waiting import wait_until

Put = Callable[[str, str], None]
_COPY = "COPY INTO t FROM @s FILE_FORMAT = (TYPE = CSV)"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with open_account(tmp_path_factory.mktemp("pipes"), settings=Settings(pipe_seconds=0.05)) as opened:
        yield opened


@pytest.fixture
def session(account: Account) -> Iterator[Session]:
    """A session in a fresh schema, with a table and a stage."""
    opened = account.session()
    opened.execute(f"CREATE SCHEMA s_{opened.id}")
    opened.execute("CREATE TABLE t (a INT)")
    opened.execute("CREATE STAGE s")
    yield opened
    opened.execute(f"DROP SCHEMA s_{opened.id}")
    opened.close()


@pytest.fixture
def put(session: Session, tmp_path: Path) -> Put:
    def put(name: str, text: str) -> None:
        file = tmp_path / Path(name).name
        file.write_text(text)
        folder = name.rpartition("/")[0]
        session.execute(f"PUT 'file://{file}' @s/{folder} AUTO_COMPRESS = FALSE OVERWRITE = TRUE")

    return put


def rows(session: Session) -> list[Any]:
    return [row[0] for row in session.execute("SELECT a FROM t ORDER BY a").rows()]


def status(session: Session) -> dict[str, Any]:
    found = json.loads(session.execute("SELECT SYSTEM$PIPE_STATUS('p')").rows()[0][0])
    assert isinstance(found, dict)
    return found


def test_refresh_loads_what_waits_once(session: Session, put: Put) -> None:
    session.execute(f"CREATE PIPE p AS {_COPY}")
    put("in/one.csv", "1\n")
    assert status(session) == {"executionState": "RUNNING", "pendingFileCount": 1}
    assert session.execute("ALTER PIPE p REFRESH").rows() == [("in/one.csv", "SENT")]
    assert session.execute("ALTER PIPE p REFRESH").rows() == []
    put("in/two.csv", "2\n")
    put("other/three.csv", "3\n")
    assert session.execute("ALTER PIPE p REFRESH PREFIX = 'other/'").rows() == [("other/three.csv", "SENT")]
    assert session.execute("ALTER PIPE p REFRESH MODIFIED_AFTER = '2999-01-01'").rows() == []
    assert rows(session) == [1, 3]
    session.execute("ALTER PIPE p REFRESH")
    assert rows(session) == [1, 2, 3]
    assert status(session)["lastIngestedFilePath"] == "in/two.csv"


def test_paths_below_the_copys_own(session: Session, put: Put) -> None:
    session.execute("CREATE PIPE p AS COPY INTO t FROM (SELECT $1 * 10 FROM @s/in/) FILE_FORMAT = (TYPE = CSV) -- so")
    put("in/deep/one.csv", "1\n")
    put("out/two.csv", "2\n")
    assert session.execute("ALTER PIPE p REFRESH PREFIX = 'deep/'").rows() == [("in/deep/one.csv", "SENT")]


def test_a_bad_file_does_not_stop_the_others(session: Session, put: Put) -> None:
    session.execute(f"CREATE PIPE p AS {_COPY}")
    put("bad.csv", "no number\n")
    put("good.csv", "1\n")
    session.execute("ALTER PIPE p REFRESH")
    assert rows(session) == [1]
    assert status(session)["pendingFileCount"] == 1


def test_the_service_loads_files_as_they_come(account: Account, session: Session, put: Put) -> None:
    pipes = account.services[Pipes]
    session.execute(f"CREATE PIPE p AUTO_INGEST = TRUE AS {_COPY}")
    session.execute(f"CREATE PIPE q AS {_COPY}")
    put("one.csv", "1\n")
    assert pipes.look() == 1
    assert rows(session) == [1]
    put("bad.csv", "no number\n")
    assert pipes.look() == 1
    assert pipes.look() == 0, "a file that failed is not tried again"
    put("bad.csv", "2\n")
    session.execute("ALTER PIPE p SET PIPE_EXECUTION_PAUSED = TRUE")
    assert pipes.look() == 0
    assert status(session)["executionState"] == "PAUSED"
    session.execute("SELECT SYSTEM$PIPE_FORCE_RESUME('p')")
    assert pipes.look() == 1
    assert rows(session) == [1, 2]
    session.execute("DROP TABLE t")
    assert pipes.look() == 0
    assert "T' does not exist" in str(pipes.error_of(_id(account)))
    assert status(session)["executionState"] == "STOPPED_MISSING_TABLE"


def _id(account: Account) -> str:
    with account.state.read() as state:
        return next(item.id for item in state.catalog.objects() if item.kind == "PIPE" and item.name.name == "P")


def test_the_service_runs_by_itself_and_stops(tmp_path: Path) -> None:
    with open_account(tmp_path / "account", settings=Settings(pipe_seconds=0.05)) as account:
        account.services[Pipes].start()
        session = account.session()
        session.execute("CREATE TABLE t (a INT)")
        session.execute("CREATE STAGE s")
        (tmp_path / "one.csv").write_text("7\n")
        session.execute(f"PUT 'file://{tmp_path}/one.csv' @s")
        session.execute(f"CREATE PIPE p AUTO_INGEST = TRUE AS {_COPY}")
        wait_until(lambda: rows(session) == [7], "the pipe to load the file")


def test_it_loads_with_its_owners_rights(session: Session, put: Put) -> None:
    session.execute(f"CREATE PIPE p AS {_COPY}")
    put("one.csv", "1\n")
    session.execute("CREATE ROLE IF NOT EXISTS pipe_owner")
    session.execute("GRANT ROLE pipe_owner TO ROLE sysadmin")
    session.execute("GRANT OWNERSHIP ON PIPE p TO ROLE pipe_owner")
    with pytest.raises(SnowmeltError) as caught:
        session.execute("ALTER PIPE p REFRESH")
    assert "does not exist or not authorized" in str(caught.value)
    assert rows(session) == []


def test_shown_and_written(session: Session) -> None:
    session.execute(f"CREATE PIPE p AUTO_INGEST = TRUE COMMENT = 'new files' AS {_COPY} PATTERN = '.*csv'")
    (shown,) = session.execute("SHOW PIPES LIKE 'p'").rows()
    assert shown[1] == "P"
    assert shown[4] == f"{_COPY} PATTERN = '.*csv'"
    assert (shown[7], shown[9]) == ("new files", ".*csv")
    assert session.execute("DESCRIBE PIPE p").rows() == [shown]
    text = session.execute("SELECT GET_DDL('PIPE', 'p')").rows()[0][0]
    session.execute(text)
    assert session.execute("SELECT GET_DDL('PIPE', 'p')").rows()[0][0] == text
    session.execute("ALTER PIPE p SET COMMENT = 'other'")
    session.execute("ALTER PIPE IF EXISTS p UNSET COMMENT")
    assert session.execute("SHOW PIPES").rows()[0][7] in (None, "")
    assert session.execute("CREATE PIPE IF NOT EXISTS p AS " + _COPY).rows() == [
        ("P already exists, statement succeeded.",)
    ]
    assert session.execute("DROP PIPE p").rows() == [("P successfully dropped.",)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"CREATE PIPE p AS {_COPY} PURGE = TRUE", "000002"),
        (f"CREATE PIPE p AS {_COPY} FILES = ('a')", "000002"),
        (f"CREATE PIPE p AS {_COPY} ON_ERROR = ABORT_STATEMENT", "000002"),
        (f"CREATE PIPE p AWS_SNS_TOPIC = 'x' AS {_COPY}", "000002"),
        ("CREATE PIPE p AS COPY INTO @s FROM t", "000002"),
        ("CREATE PIPE p AS COPY INTO missing FROM @s", "002003"),
        ("CREATE PIPE p AS COPY INTO t FROM @missing", "002003"),
        ("CREATE PIPE p AS SELECT 1", "001003"),
        ("ALTER PIPE p REFRESH", "002003"),
    ],
)
def test_what_a_pipe_cannot_be_is_refused(session: Session, text: str, code: str) -> None:
    with pytest.raises(SnowmeltError) as caught:
        session.execute(text)
    assert caught.value.code == code
