"""kill -9 between the new columns of a table and the rows that brought them: both are there, or neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.conftest import SPARK
from tests.crash.inspection import check_at_rest
from tests.crash.test_refresh_kill import killed

PLACES = (
    "before-commit:1", "log-entry-written:1", "log-entry-linked:1", "after-commit:1", "before-commit:2",
    "data-file-written:1", "log-entry-written:2", "log-entry-linked:2", "after-commit:2", "before-flip:1",
    "inside-flip:1", "after-flip:1",
)  # fmt: skip
"""The first commit is the table's new columns, the second one its rows."""
COPY = "COPY INTO t FROM @st/in.json FILE_FORMAT = (TYPE = JSON) MATCH_BY_COLUMN_NAME = CASE_INSENSITIVE"
BEFORE = ("ID, OLD", [(0, "x")])
AFTER = ("ID, MORE, NOTE, OLD", [(0, "x"), (1, None), (2, None)])


@pytest.fixture(scope="module")
def data(account: Account, tmp_path_factory: pytest.TempPathFactory) -> Path:
    # The account of the other tests keeps Spark up between the lives.
    account.engine.session()
    folder = tmp_path_factory.mktemp("evolving") / "data"
    with open_account(folder, settings=Settings(spark=SPARK)) as opened:
        session = opened.session()
        session.execute("CREATE STAGE st")
        session.execute(
            'COPY INTO @st/in.json FROM (SELECT column1 FROM VALUES (\'{"id": 1, "more": 1.5}\'), '
            '(\'{"id": 2, "note": "n"}\')) SINGLE = TRUE FILE_FORMAT = (TYPE = CSV FIELD_DELIMITER = NONE '
            "ESCAPE_UNENCLOSED_FIELD = NONE COMPRESSION = NONE)"
        )
    return folder


def found(session: Session) -> tuple[str, list[tuple[int, str | None]]]:
    """The table's columns, and its rows."""
    columns = sorted(str(row[0]) for row in session.execute("DESCRIBE TABLE t").rows())
    rows = session.execute("SELECT id, old FROM t ORDER BY id").rows()
    return ", ".join(columns), [(int(row[0]), row[1]) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_a_load_that_is_killed_evolves_the_table_with_its_rows_or_not_at_all(data: Path, place: str) -> None:
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        session = opened.session()
        session.execute("CREATE OR REPLACE TABLE t (id INT, old VARCHAR NOT NULL) ENABLE_SCHEMA_EVOLUTION = TRUE")
        session.execute("INSERT INTO t VALUES (0, 'x')")
    assert killed(data, place, COPY) == -9, "it did not come there"
    with open_account(data, settings=Settings(spark=SPARK)) as opened:
        check_at_rest(opened)
        session = opened.session()
        assert found(session) == (AFTER if place.startswith("after-flip") else BEFORE)
        session.execute(COPY)
        assert found(session) == AFTER, "a retry loads exactly once"
        again = session.execute(COPY).rows()
        assert found(session) == AFTER, again
