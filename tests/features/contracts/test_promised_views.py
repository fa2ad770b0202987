"""Views with a contract: what they show follows what they read, and so may the reader's trust."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session

_BROKEN = "370012"


@pytest.fixture(scope="module")
def without_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    with open_account(tmp_path_factory.mktemp("promised")) as account:
        yield account


@pytest.fixture
def session(without_spark: Account) -> Session:
    """A view over a view over a table, held to a contract that lies with it; the table lies in another schema."""
    found = without_spark.session()
    for statement in (
        f"CREATE DATABASE shop_{found.id}", "CREATE SCHEMA raw", "CREATE SCHEMA sales",
        'CREATE TABLE raw.orders (id INT, "Customer Name" VARCHAR(10), amount NUMBER(10, 2), note VARCHAR)',
        'CREATE VIEW cleaned AS SELECT o.id, o."Customer Name" AS customer, o.amount FROM raw.orders AS o',
        "CREATE VIEW offered AS SELECT id, customer, amount FROM cleaned WHERE amount > 0",
        "CREATE CONTRACT promise FROM TABLE offered",
        "ALTER CONTRACT promise ADD CONSUMER finance CONTACT = 'finance@example.com' COLUMNS = ('amount')",
        "ALTER VIEW offered SET CONTRACT = promise",
    ):  # fmt: skip
        found.execute(statement)
    return found


def _standing(session: Session) -> tuple[object, object]:
    (row,) = session.execute("ALTER CONTRACT promise CHECK").rows()
    return row[3], row[4]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ('ALTER TABLE raw.orders ALTER COLUMN "Customer Name" SET DATA TYPE VARCHAR(50)', "CUSTOMER is declared as"),
        ("ALTER TABLE raw.orders DROP COLUMN amount", "AMOUNT.*FINANCE"),
        ("ALTER TABLE raw.orders RENAME COLUMN amount TO price", "AMOUNT.*FINANCE"),
        ("ALTER TABLE raw.orders RENAME TO raw.sold", "RAW.ORDERS.*FINANCE"),
        ("DROP TABLE raw.orders", "RAW.ORDERS.*FINANCE"),
        ("DROP SCHEMA raw", "RAW.ORDERS.*FINANCE"),
        ("ALTER SCHEMA raw RENAME TO landed", "RAW.ORDERS.*FINANCE"),
        ("CREATE OR REPLACE TABLE raw.orders (id INT, amount NUMBER(10, 2))", "Customer Name"),
        ('CREATE OR REPLACE TABLE raw.orders (id INT, "Customer Name" VARCHAR(10), amount FLOAT)', "AMOUNT is"),
        ("CREATE OR REPLACE VIEW cleaned AS SELECT id, \"Customer Name\" AS customer, 1.5 AS amount FROM raw.orders",
         "AMOUNT is declared"),
        ("CREATE OR ALTER VIEW cleaned AS SELECT id, amount FROM raw.orders", "CUSTOMER"),
        ("DROP VIEW cleaned", "CLEANED"),
        ("ALTER TABLE raw.orders SWAP WITH raw.others", "CUSTOMER|Customer Name"),
    ],
)  # fmt: skip
def test_what_would_break_a_view_is_refused_where_it_happens(session: Session, statement: str, said: str) -> None:
    session.execute("CREATE TABLE raw.others (id INT, amount NUMBER(10, 2))")
    with pytest.raises(SnowmeltError, match=said) as refused:
        session.execute(statement)
    assert refused.value.code == _BROKEN
    assert "SALES.OFFERED" in str(refused.value)
    assert _standing(session) == ("OK", None)
    session.execute("ALTER VIEW offered UNSET CONTRACT")
    session.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE raw.orders DROP COLUMN note",
        "ALTER TABLE raw.orders ADD COLUMN more INT",
        'CREATE OR REPLACE TABLE raw.orders ("Customer Name" VARCHAR(5), amount NUMBER(10, 2), id INT)',
        "CREATE OR REPLACE VIEW cleaned AS SELECT 1 AS id, 'x' AS customer, 1.25::NUMBER(5, 2) AS amount",
    ],
)
def test_what_a_view_does_not_feel_is_not_refused(session: Session, statement: str) -> None:
    session.execute(statement)
    assert _standing(session) == ("OK", None)


def test_a_view_is_judged_by_what_it_shows_and_not_by_what_it_showed(session: Session) -> None:
    session.execute("ALTER VIEW offered UNSET CONTRACT")
    session.execute('ALTER TABLE raw.orders ALTER COLUMN "Customer Name" SET DATA TYPE VARCHAR(50)')
    with pytest.raises(SnowmeltError, match=r"CUSTOMER is declared as VARCHAR\(10\), and is VARCHAR\(50\)"):
        session.execute("ALTER VIEW offered SET CONTRACT = promise")
    session.execute("CREATE CONTRACT wider FROM TABLE offered")
    session.execute("ALTER VIEW offered SET CONTRACT = wider")


def test_a_view_whose_table_another_way_changed_is_broken(session: Session) -> None:
    session.execute("ALTER CONTRACT promise MODIFY VERSION 1 SET SUNSET = '2020-01-01'")
    session.execute("DROP TABLE raw.orders")
    session.execute("ALTER CONTRACT promise MODIFY VERSION 1 UNSET SUNSET")
    status, why = _standing(session)
    assert status == "BROKEN" and "RAW.ORDERS" in str(why)
    session.execute("UNDROP TABLE raw.orders")
    assert _standing(session) == ("OK", None)


@pytest.mark.parametrize(
    "written",
    [
        "ALTER SCHEMA sales RENAME TO sold",
        "ALTER SCHEMA sales SWAP WITH raw",
        "ALTER DATABASE {database} RENAME TO {database}_2",
    ],
)
def test_a_schema_keeps_its_name_while_somebody_knows_what_is_in_it(session: Session, written: str) -> None:
    statement = written.format(database=session.database)
    with pytest.raises(SnowmeltError, match=r"removes '\w+\.SALES\.OFFERED'.*FINANCE") as refused:
        session.execute(statement)
    assert refused.value.code == _BROKEN
    session.execute("ALTER CONTRACT promise DROP CONSUMER finance")
    session.execute(statement)


def test_a_product_is_what_its_contract_says(session: Session) -> None:
    """Tables here: for what a view holds of personal data, Spark would have to look into it."""
    session.execute("CREATE TABLE sold (id INT, amount NUMBER(10, 2))")
    session.execute("CREATE TABLE other (id INT)")
    session.execute("CREATE CONTRACT sales_promise FROM TABLE sold")
    session.execute("CREATE DATA PRODUCT sales OBJECTS = (sold) CONTRACT = sales_promise")
    with pytest.raises(SnowmeltError, match=r"OTHER' breaks contract.*column AMOUNT is missing") as refused:
        session.execute("CREATE DATA PRODUCT wrong OBJECTS = (other) CONTRACT = sales_promise")
    assert refused.value.code == _BROKEN
    # The contract is about one of several objects: the other is not described.
    session.execute("CREATE DATA PRODUCT both OBJECTS = (sold, other) CONTRACT = sales_promise")
    session.execute("CREATE OR REPLACE TABLE sold (id INT, amount FLOAT)")
    session.execute("ALTER DATA PRODUCT both SET DOMAIN = 'sales'")
    with pytest.raises(SnowmeltError, match=r"SOLD' breaks contract.*AMOUNT is declared as NUMBER\(10,2\)"):
        session.execute("ALTER DATA PRODUCT both SET OBJECTS = (sold)")


def test_a_table_stays_as_fresh_as_its_product(session: Session) -> None:
    lagging = (
        "CREATE OR REPLACE DYNAMIC TABLE daily TARGET_LAG = '{}' WAREHOUSE = compute_wh INITIALIZE = ON_SCHEDULE AS"
    )
    query = "SELECT id, amount FROM raw.orders"
    session.execute(f"{lagging.format('1 hour')} {query}")
    session.execute("CREATE DATA PRODUCT sales OBJECTS = (daily) FRESHNESS = '2 hours'")
    for statement in ("ALTER DYNAMIC TABLE daily SET TARGET_LAG = '1 day'", f"{lagging.format('1 day')} {query}"):
        with pytest.raises(SnowmeltError, match="is 1 day, and the product promises 2 hours") as refused:
            session.execute(statement)
        assert refused.value.code == "370016"
    session.execute("ALTER DYNAMIC TABLE daily SET TARGET_LAG = '2 hours'")


def test_who_only_reads_a_table_can_not_keep_it_from_changing(session: Session) -> None:
    for statement in (
        "ALTER VIEW offered UNSET CONTRACT", "CREATE ROLE reader", "CREATE USER ann", "GRANT ROLE reader TO USER ann",
        "GRANT USAGE ON DATABASE {database} TO ROLE reader", "GRANT USAGE ON SCHEMA raw TO ROLE reader",
        "GRANT SELECT ON TABLE raw.orders TO ROLE reader", "GRANT CREATE SCHEMA ON DATABASE {database} TO ROLE reader",
    ):  # fmt: skip
        session.execute(statement.format(database=session.database))
    reader = session.account.session(user="ANN", role="READER", database=session.database)
    reader.execute("CREATE SCHEMA own")
    reader.execute("CREATE VIEW mine AS SELECT amount FROM raw.orders")
    reader.execute("CREATE CONTRACT wish FROM TABLE mine")
    reader.execute("ALTER VIEW mine SET CONTRACT = wish")
    session.execute("ALTER TABLE raw.orders DROP COLUMN amount")
    ((_, _, _, status, _),) = reader.execute("ALTER CONTRACT wish CHECK").rows()
    assert status == "BROKEN"
