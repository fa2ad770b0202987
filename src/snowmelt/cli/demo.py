"""`snowmelt demo`: a small shop, created, changed and queried live."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax

from snowmelt.cli.output import Format, write_result
from snowmelt.core.errors import SnowmeltError
from snowmelt.service.account import Account
from snowmelt.service.session import Session


@dataclass(frozen=True, slots=True)
class Scene:
    title: str
    statements: tuple[str, ...]


SCENES = (
    Scene(
        "A shop opens: tables with types, keys, defaults and constraints",
        (
            "CREATE OR REPLACE DATABASE shop",
            """CREATE TABLE customers (
    id INT AUTOINCREMENT PRIMARY KEY,
    name VARCHAR(50) NOT NULL,
    country VARCHAR(2) DEFAULT 'DE',
    profile VARIANT
)""",
            """CREATE TABLE orders (
    id INT, customer_id INT REFERENCES customers (id),
    amount NUMBER(10, 2) CHECK (amount >= 0), ordered_at TIMESTAMP_NTZ
)""",
        ),
    ),
    Scene(
        "Data arrives: literals, a query, JSON",
        (
            """INSERT INTO customers (name, country, profile)
SELECT column1, column2, PARSE_JSON(column3) FROM VALUES
    ('Ada', 'GB', '{"tags": ["vip", "early"], "age": 36}'),
    ('Grace', 'US', '{"tags": ["vip"]}'),
    ('Linus', 'FI', '{"tags": [], "age": 54}')""",
            """INSERT INTO orders
SELECT SEQ4() + 1, 1 + SEQ4() % 3, 10 + (SEQ4() * 37 % 90) + 0.5, DATEADD(HOUR, SEQ4(), '2026-01-01'::TIMESTAMP_NTZ)
FROM TABLE(GENERATOR(ROWCOUNT => 1000))""",
        ),
    ),
    Scene(
        "Snowflake's SQL runs on Spark: joins, QUALIFY, paths into JSON, FLATTEN",
        (
            """SELECT c.name, COUNT(*) AS orders, SUM(o.amount) AS revenue, c.profile:age::INT AS age
FROM customers c JOIN orders o ON o.customer_id = c.id
GROUP BY ALL ORDER BY revenue DESC""",
            """SELECT c.name, o.amount, o.ordered_at
FROM orders o JOIN customers c ON c.id = o.customer_id
QUALIFY ROW_NUMBER() OVER (PARTITION BY c.id ORDER BY o.ordered_at DESC) = 1 ORDER BY c.name""",
            """SELECT c.name, t.value::VARCHAR AS tag
FROM customers c, LATERAL FLATTEN(INPUT => c.profile:tags) t ORDER BY 1, 2""",
        ),
    ),
    Scene(
        "Transactions are real: what is rolled back was never there",
        (
            "BEGIN",
            "UPDATE orders SET amount = amount * 2 WHERE customer_id = 1",
            "SELECT SUM(amount) AS inside_the_transaction FROM orders",
            "ROLLBACK",
            "SELECT SUM(amount) AS after_rollback FROM orders",
        ),
    ),
    Scene(
        "MERGE brings changes in, and time travel looks back",
        (
            "SET before = (SELECT CURRENT_TIMESTAMP())",
            """MERGE INTO customers t USING (
    SELECT column1 AS name, column2 AS country FROM VALUES ('Grace', 'CA'), ('Edsger', 'NL')
) s ON t.name = s.name
WHEN MATCHED THEN UPDATE SET country = s.country
WHEN NOT MATCHED THEN INSERT (name, country) VALUES (s.name, s.country)""",
            "SELECT id, name, country FROM customers ORDER BY id",
            "SELECT id, name, country FROM customers AT (TIMESTAMP => $before) ORDER BY id",
        ),
    ),
    Scene(
        "Dynamic tables keep themselves equal to a query, and recompute only what changed",
        (
            """CREATE DYNAMIC TABLE paid_orders TARGET_LAG = DOWNSTREAM WAREHOUSE = compute_wh AS
SELECT o.id, c.country, o.amount FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.amount > 0""",
            """CREATE DYNAMIC TABLE revenue TARGET_LAG = '1 minute' WAREHOUSE = compute_wh AS
SELECT country, COUNT(*) AS orders, SUM(amount) AS total FROM paid_orders GROUP BY country""",
            "SELECT * FROM revenue ORDER BY country",
            "INSERT INTO orders VALUES (5001, 1, 1000, '2026-02-01 00:00:00'), (5002, 4, 7.5, '2026-02-01 00:01:00')",
            "DELETE FROM orders WHERE id <= 10",
            "ALTER DYNAMIC TABLE revenue REFRESH",
            "SELECT * FROM revenue ORDER BY country",
            """SELECT name, refresh_action, statistics:numInsertedRows::INT AS inserted,
    statistics:numDeletedRows::INT AS deleted
FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY()) WHERE refresh_trigger = 'MANUAL' ORDER BY name""",
            "SELECT PARSE_JSON(SYSTEM$CHECK_DYNAMIC_TABLE('revenue')):equal AS equals_its_query",
        ),
    ),
    Scene(
        "Nothing bad gets in, and the error says why",
        ("INSERT INTO orders VALUES (2001, 1, -5, '2026-02-01 00:00:00')", "SELECT SUMM(amount) FROM orders"),
    ),
)


def run_demo(console: Console, data: Path | None, *, quick: bool = False) -> int:
    """Plays the scenes. Without `data` everything happens in a temporary folder that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="snowmelt-demo-") as temporary:
        folder = data or Path(temporary)
        with Account.open(folder) as account:
            with console.status("Starting Spark …"):
                started = time.perf_counter()
                account.engine.session()
            console.print(f"Spark is up after {time.perf_counter() - started:.1f} s.", style="dim")
            session = account.session()
            total = sum(len(scene.statements) for scene in SCENES)
            done = 0
            for number, scene in enumerate(SCENES, start=1):
                console.print(Panel(scene.title, title=f"{number}/{len(SCENES)}", style="cyan"))
                for statement in scene.statements:
                    done += 1
                    _play(console, session, statement, f"{done}/{total}")
                    if not quick:
                        time.sleep(0.4)
            console.print(f"\n{total} statements in {time.perf_counter() - started:.1f} s, Spark's start included.")
    if data is not None:
        console.print(f"Look around: snowmelt sql --data {data} --database SHOP")
    else:
        console.print("Keep the data next time: snowmelt demo --data shop-data")
    return 0


def _play(console: Console, session: Session, statement: str, progress: str) -> None:
    console.print(Syntax(statement + ";", "sql", background_color="default", word_wrap=True))
    began = time.perf_counter()
    try:
        with console.status(f"running {progress}"):
            result = session.execute(statement)
    except SnowmeltError as error:
        console.print(f"  {error}", style="red", markup=False, highlight=False)
        return
    elapsed = (time.perf_counter() - began) * 1000
    if result.columns[0].name != "status":
        write_result(result, Format.TABLE, console)
    console.print(f"  {elapsed:.0f} ms", style="dim")
