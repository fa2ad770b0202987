"""dbt with its Snowflake adapter, unmodified: a data product, and everything else that projects use."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from tests.clients.conftest import Client, passed
from tests.clients.server import PASSWORD
from tests.design.building import PROJECTS, built

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "examples" / "dbt_data_product"
FEATURES = Path(__file__).parent / "dbt_features"
SCHEMA = "PRODUCT"


class Project:
    """A copy of a project, so that dbt's files are not left in the repository."""

    def __init__(self, source: Path, folder: Path, client: Client) -> None:
        self.folder = folder / source.name
        shutil.copytree(source, self.folder, ignore=shutil.ignore_patterns("target", "logs"))
        self._client = client

    def run(self, *arguments: str):  # type: ignore[no-untyped-def]
        return self._client(
            "dbt", "dbt", "--no-use-colors", *arguments, "--no-version-check", cwd=self.folder, SNOWMELT_SCHEMA=SCHEMA,
            DBT_PROFILES_DIR=str(self.folder),
        )  # fmt: skip

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def product(tmp_path: Path, client: Client) -> Project:
    made = Project(PRODUCT, tmp_path, client)
    passed(made.run("run-operation", "prepare_events"))
    return made


def test_the_data_product(product: Project, account: Account, database: str) -> None:
    passed(product.run("build"))
    session = account.session(database=database, schema=SCHEMA)

    def count() -> int:
        return int(session.execute("SELECT COUNT(*) FROM orders").rows()[0][0])

    assert count() == 20
    session.execute("CALL generate_events(5)")
    session.execute("ALTER DYNAMIC TABLE orders REFRESH")
    assert count() == 25
    before = session.execute("SHOW DYNAMIC TABLES").rows()
    broken = {
        "an undeclared column": ("    ordered_at\n", "    ordered_at,\n    1 as extra\n"),
        "a missing column": ("    amount,\n", ""),
        "another type": ("    amount,\n", "    amount::varchar as amount,\n"),
    }
    for what, (old, new) in broken.items():
        product.edit("models/product/orders.sql", old, new)
        done = product.run("run", "--select", "orders", "--full-refresh")
        assert done.returncode == 1 and "contract" in done.stdout.lower(), f"{what}: {done.stdout[-2000:]}"
        shutil.copy(PRODUCT / "models/product/orders.sql", product.folder / "models/product/orders.sql")
    assert session.execute("SHOW DYNAMIC TABLES").rows() == before
    session.execute("INSERT INTO raw_events SELECT OBJECT_CONSTRUCT('event_id', 'x'), NULL")
    with pytest.raises(Exception, match="NULL"):
        session.execute("ALTER DYNAMIC TABLE orders REFRESH")
    assert count() == 25
    session.close()


@pytest.mark.slow
def test_tests_of_a_project_run_against_gates_unchanged(product: Project, account: Account, database: str) -> None:
    """What a gate keeps out, the project's own tests find once the gate is gone."""
    passed(product.run("build"))
    session = account.session(database=database, schema=SCHEMA)
    session.execute(
        "ALTER DYNAMIC TABLE orders ADD QUALITY CHECK known AS ACCEPTED_VALUES (status) "
        "VALUES = ('placed', 'returned') ON_FAILURE = QUARANTINE"
    )
    session.execute("ALTER DYNAMIC TABLE orders ADD QUALITY CHECK once AS UNIQUE (order_id)")
    session.execute(
        "INSERT INTO raw_events SELECT OBJECT_CONSTRUCT('event_id', 'e', 'order_id', 'o', 'customer', 'c', 'status', "
        "'lost', 'amount', 1, 'at', '2026-01-01'), NULL"
    )
    session.execute("ALTER DYNAMIC TABLE orders REFRESH")
    assert session.execute("SELECT order_id, status FROM orders_quarantine").rows() == [("o", "lost")]
    passed(product.run("test"))
    # dbt leaves a dynamic table alone that its project did not change, and so its checks too.
    passed(product.run("run"))
    assert len(session.execute("SHOW QUALITY CHECKS IN TABLE orders").rows()) == 2
    session.execute("ALTER DYNAMIC TABLE orders DROP QUALITY CHECK known")
    session.execute("ALTER DYNAMIC TABLE orders REFRESH")
    failed = product.run("test")
    assert failed.returncode == 1 and "accepted_values_orders_status" in failed.stdout
    session.close()


READERS = ("DBT_READER", "DBT_OTHER_READER")
STRATEGIES = ("merge", "append", "delete_insert", "insert_overwrite", "microbatch")
_INCREMENTAL = tuple(f"INCREMENTAL_{strategy.upper()}" for strategy in STRATEGIES)
GRANTED = ("AS_TABLE", "AS_VIEW", "BY_CONTRACT_V1", "BY_CONTRACT_V2", "FRESH", *_INCREMENTAL)


@pytest.mark.slow
def test_dbt_builds_what_was_designed(tmp_path: Path, client: Client, account: Account, database: str) -> None:
    """The recipe dbt: the dbt project of a built project, with its own profile, over tables that a run has filled."""
    given = {**PROJECTS["files_snowmelt"], "recipe": "dbt"}
    project = built(given, tmp_path)
    session = account.session(database=database, schema="PUBLIC")
    for path in sorted((project / "sql" / "staging").glob("1*.sql")):
        session.execute(path.read_text(encoding="utf-8").strip().rstrip(";"))
    row = "OBJECT_CONSTRUCT('order_id', {}, 'customer', 'ann', 'amount', {}, 'updated_at', '2024-01-0{}')"
    for number, amount, day in ((1, 10, 1), (1, 20, 2), (2, 5, 1)):
        record = row.format(number, amount, day)
        session.execute(f"INSERT INTO raw_orders SELECT {record}, 'test', 'run', CURRENT_TIMESTAMP()")
    variables = {
        "SNOWMELT_HOST": "127.0.0.1", "SNOWMELT_PASSWORD": PASSWORD, "SNOWMELT_DATABASE": database,
        "DBT_PROFILES_DIR": str(project / "dbt"),
    }  # fmt: skip

    def dbt() -> str:
        return passed(
            client("dbt", "dbt", "--no-use-colors", "build", "--no-version-check", cwd=project / "dbt", **variables)
        )

    assert "ERROR=0" in dbt()
    assert session.execute("SELECT customer, revenue, orders FROM revenue").rows() == [("ann", Decimal(25), 2)]
    assert "PASS" in dbt(), "a second time, too"
    session.execute(
        "INSERT INTO raw_orders SELECT OBJECT_CONSTRUCT('customer', 'eve'), 'test', 'run', CURRENT_TIMESTAMP()"
    )
    session.execute("ALTER DYNAMIC TABLE stg_orders REFRESH")
    done = client("dbt", "dbt", "--no-use-colors", "test", "--no-version-check", cwd=project / "dbt", **variables)
    assert done.returncode == 1 and "not_null_stg_orders_order_id" in done.stdout, done.stdout
    session.close()


def _readers(session: Session) -> dict[str, set[str]]:
    """By model, the roles that dbt has granted SELECT to and not revoked it from."""
    found: dict[str, set[str]] = {}
    query = "SELECT table_name, grantee FROM information_schema.table_privileges WHERE privilege_type = 'SELECT'"
    for name, role in session.execute(query).rows():
        found.setdefault(name, set()).add(role)
    return found


@pytest.mark.slow
def test_everything_else_of_dbt(tmp_path: Path, client: Client, account: Account, database: str) -> None:
    project = Project(FEATURES, tmp_path, client)
    session = account.session(database=database)
    for role in READERS:
        session.execute(f"CREATE OR REPLACE ROLE {role}")
    passed(project.run("debug"))
    passed(project.run("build"))
    assert _readers(session) == {name: {"DBT_READER"} for name in GRANTED}
    (project.folder / "seeds" / "orders_seed.csv").write_text(
        "id,customer,amount,placed_at\n1,ada,11.5,2026-01-01 10:00:00\n2,grace,20.0,2026-01-02 11:00:00\n"
        "3,ada,5.25,2026-01-03 12:00:00\n4,alan,7.0,2026-01-04 12:00:00\n",
        encoding="utf-8",
    )
    passed(project.run("build", "--vars", json.dumps({"lag": "5 minutes", "reader": "DBT_OTHER_READER"})))
    # dbt takes nothing back from a dynamic table that it alters; everything else it makes anew or compares.
    assert _readers(session) == {name: {"DBT_OTHER_READER"} for name in GRANTED} | {"FRESH": set(READERS)}
    session.execute(f"USE SCHEMA {SCHEMA}")

    def rows(query: str) -> list[tuple[object, ...]]:
        return session.execute(query).rows()

    counted = {
        strategy: rows(f"SELECT COUNT(*), COUNT(DISTINCT id) FROM incremental_{strategy}")[0] for strategy in STRATEGIES
    }
    assert counted["merge"] == counted["delete_insert"] == counted["microbatch"] == (4, 4)
    assert counted["append"] == (5, 4)
    assert counted["insert_overwrite"] == (2, 2)
    assert rows("SELECT COUNT(*) FROM orders_snapshot WHERE dbt_valid_to IS NOT NULL") == [(1,)]
    assert rows("SELECT COUNT(*) FROM orders_snapshot") == [(5,)]
    session.execute("SHOW DYNAMIC TABLES LIKE 'FRESH'")
    assert rows('SELECT "target_lag" FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))') == [("5 minutes",)]
    passed(project.run("run", "--full-refresh"))
    assert rows("SELECT COUNT(*) FROM incremental_append") == [(4,)]
    described = session.execute("DESCRIBE TABLE as_table")
    comment = [column.name for column in described.columns].index("comment")
    assert described.rows()[0][comment] == "Unique for every order."
    passed(project.run("docs", "generate"))
    catalog = json.loads((project.folder / "target" / "catalog.json").read_text(encoding="utf-8"))
    assert set(catalog["nodes"]["model.features.as_table"]["columns"]) == {"ID", "CUSTOMER", "AMOUNT", "PLACED_AT"}
    for role in READERS:
        session.execute(f"DROP ROLE {role}")
    session.close()
