"""Changes that Spark stages first: the folder they are staged in goes away, whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.rewriting import local
from snowmelt.runtime.run import Run
from snowmelt.storage import rewrite_many
from snowmelt.storage.table import DeltaStore
from tests.conftest import SPARK

_STAGED = "UPDATE t SET n = n + 1 WHERE id IN (SELECT MAX(id) FROM t)"
"""Delta's own UPDATE takes no subquery."""


@pytest.fixture
def by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.LocalChange, "attempt", lambda self: None)


def folders(data: Path) -> list[str]:
    return sorted(path.name.rsplit("-", 1)[0] for path in (data / "tables").glob("*/*/*"))


@pytest.mark.slow
@pytest.mark.usefixtures("by_spark")
def test_nothing_is_left_of_a_statement_nor_of_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(spark=SPARK)
    with open_account(tmp_path, settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE t AS SELECT column1 AS id, 0 AS n FROM VALUES (1), (2)")
        assert session.execute(_STAGED).rows() == [(1, 0)]
        assert folders(tmp_path) == ["t"]
        with monkeypatch.context() as patch:
            # As if the process were killed before the clean-up.
            patch.setattr(DeltaStore, "remove", lambda self, location: None)
            session.execute(_STAGED)
        assert folders(tmp_path) == ["t", "t_changes"]
    with open_account(tmp_path, settings=settings) as account:
        assert [location.rsplit("-", 1)[0] for location in account.recovered.removed] == ["snowmelt/public/t_changes"]
        assert folders(tmp_path) == ["t"]
        assert account.session().execute("SELECT id, n FROM t ORDER BY id").rows() == [(1, 0), (2, 2)]


@pytest.mark.usefixtures("by_spark")
def test_nothing_is_left_where_rows_keep_their_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's decisions lie in a folder of their own until the statement ends."""
    settings = Settings(spark=SPARK)

    def left() -> list[str]:
        kept = {path.name for path in (tmp_path / "tables").glob("*/*/t-*/**/*.parquet")}
        staged = [path.name for path in (tmp_path / "tables").glob("_staging-*")]
        return staged + sorted(kept - files)

    with open_account(tmp_path, settings=settings) as account:
        session = account.session()
        session.execute("CREATE TABLE t (id INT, n INT) CHANGE_TRACKING = TRUE")
        session.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
        files = {path.name for path in (tmp_path / "tables").glob("*/*/t-*/**/*.parquet")}

        def fail(*_: object) -> None:
            raise OSError("no space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(rewrite_many, "write_feed", fail)
            with pytest.raises(SnowmeltError):
                session.execute(_STAGED)
        assert left() == []
        with monkeypatch.context() as patch:
            # As if the process were killed before the clean-up.
            patch.setattr(Run, "remove_staged", lambda self: None)
            assert session.execute(_STAGED).rows() == [(1, 0)]
        assert any(name.startswith("_staging-") for name in left())
    with open_account(tmp_path, settings=settings) as account:
        assert not any(name.startswith("_staging-") for name in left())
        assert account.session().execute("SELECT id, n FROM t ORDER BY id").rows() == [(1, 0), (2, 1)]


def test_a_change_to_every_row_of_a_large_table_is_sparks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without looking for the rows first: they are all of them."""
    with open_account(tmp_path, settings=Settings(spark=SPARK, small_write_rows=2)) as account:
        session = account.session()
        session.execute("CREATE TABLE t AS SELECT column1 AS id, 0 AS n FROM VALUES (1), (2), (3)")

        def refused(self: local.LocalChange, *_: object) -> None:
            raise AssertionError("rows were looked for")

        monkeypatch.setattr(local.LocalChange, "_touched", refused)
        assert session.execute("UPDATE t SET n = id * 2").rows() == [(3, 0)]
        assert session.execute("SELECT SUM(n) FROM t").rows() == [(12,)]


def test_a_merge_with_nothing_to_merge_looks_for_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_account(tmp_path, settings=Settings(spark=SPARK)) as account:
        session = account.session()
        session.execute("CREATE TABLE t AS SELECT column1 AS id, 0 AS n FROM VALUES (1), (2), (3)")
        session.execute("CREATE TABLE s LIKE t")

        def refused(*_: object) -> None:
            raise AssertionError("rows were looked for")

        monkeypatch.setattr(local, "find_rows", refused)
        merged = session.execute(
            "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n "
            "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
        )
        assert merged.rows() == [(0, 0)]
