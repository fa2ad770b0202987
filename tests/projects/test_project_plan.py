"""Plan and apply: what differs, in which order it is done, and that nothing is left after it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.projects.catalog import Execute
from tests.projects.conftest import Project

LATER = "TARGET_LAG = DOWNSTREAM INITIALIZE = ON_SCHEDULE"


def failure(work: Callable[[], object]) -> str:
    with pytest.raises(SnowmeltError) as caught:
        work()
    return str(caught.value)


def ddl(project: Project, name: str) -> str:
    return str(project.session.execute(f"SELECT GET_DDL('TABLE', '{project.database}.PUBLIC.{name}')").rows()[0][0])


def shop(project: Project) -> None:
    """A chain whose files are in no helpful order."""
    project.write(
        "a.sql", f"CREATE DYNAMIC TABLE totals {LATER} AS SELECT customer, SUM(amount) AS s FROM big GROUP BY 1;"
    )
    project.write("b.sql", "CREATE VIEW big AS SELECT * FROM orders WHERE amount > twice(5);")
    project.write("c.sql", "create function twice(x number) returns number as 'x * 2';")
    project.write("z/orders.sql", "CREATE TABLE orders (id INT PRIMARY KEY, customer INT, amount NUMBER(10, 2));")


def test_everything_is_created_in_the_order_of_dependence(project: Project) -> None:
    shop(project)
    names = [name for _, name in project.steps()]
    assert names[0] == project.database
    assert set(names[1:3]) == {"TWICE(NUMBER)", "ORDERS"}
    assert names[3:] == ["BIG", "TOTALS"]
    project.apply()
    assert project.steps() == []
    assert project.plan().unchanged == 4


def test_layout_case_and_comments_are_no_difference(project: Project) -> None:
    shop(project)
    project.apply()
    columns = "id integer primary key,\n  customer NUMBER(38,0), -- who\n  amount decimal(10,2)"
    project.write("z/orders.sql", f"create or replace table Orders (\n  {columns}\n);")
    project.write(
        "a.sql",
        f"CREATE OR REPLACE DYNAMIC TABLE Totals {LATER}\nAS select customer,\n sum(AMOUNT) as s\nfrom big group by 1",
    )
    project.write("c.sql", "CREATE OR REPLACE FUNCTION twice(x NUMBER)\n  RETURNS NUMBER\n  AS 'x * 2'")
    assert project.steps() == []


def test_a_table_is_altered_and_keeps_its_rows(project: Project) -> None:
    shop(project)
    project.apply()
    project.session.execute("INSERT INTO orders VALUES (1, 1, 10.5)")
    project.write("z/orders.sql", "CREATE TABLE orders (id INT PRIMARY KEY, customer INT COMMENT 'who', "
                  "amount NUMBER(12, 2), note VARCHAR DEFAULT '-');")  # fmt: skip
    (step,) = project.plan().steps
    assert step.action == "alter" and not step.destructive
    assert step.reasons == (
        "the comment of column CUSTOMER changed", "column AMOUNT: NUMBER(10,2) → NUMBER(12,2)",
        "column NOTE is new",
    )  # fmt: skip
    project.apply()
    assert project.steps() == []
    rows = {row[1]: row[7] for row in project.session.execute("SHOW TABLES").rows()}
    assert rows["ORDERS"] == 1


def test_a_column_goes_only_when_that_is_allowed(project: Project) -> None:
    project.write("t.sql", "CREATE TABLE t (a INT, b INT);")
    project.apply()
    project.write("t.sql", "CREATE TABLE t (a INT);")
    assert "370002" in failure(project.apply)
    assert "B NUMBER" in ddl(project, "T")
    project.apply(allow_drop=True)
    assert "B NUMBER" not in ddl(project, "T")
    assert project.steps() == []


def test_a_changed_condition_carries_rows_over(project: Project) -> None:
    shop(project)
    project.write("a.sql", "CREATE DYNAMIC TABLE totals TARGET_LAG = DOWNSTREAM AS SELECT customer, amount FROM big")
    project.apply()
    project.session.execute("INSERT INTO orders VALUES (1, 1, 20), (2, 1, 30)")
    project.session.execute("ALTER DYNAMIC TABLE totals REFRESH")
    narrower = "SELECT customer, amount FROM big WHERE amount > 25"
    project.write("a.sql", f"CREATE DYNAMIC TABLE totals TARGET_LAG = DOWNSTREAM AS {narrower}")
    (step,) = project.plan().steps
    assert (step.action, step.reasons) == ("carry over", ("the query changed",))
    assert step.cost.startswith("at the next refresh, only rows that pass its conditions")
    project.apply()
    project.session.execute("ALTER DYNAMIC TABLE totals REFRESH")
    assert project.session.execute("SELECT amount::INT FROM totals").rows() == [(30,)]
    assert project.steps() == []


def test_dynamic_tables_keep_their_data_or_are_re_initialised(project: Project) -> None:
    shop(project)
    project.apply()
    query = "SELECT customer, SUM(amount) AS s FROM big GROUP BY 1"
    project.write(
        "a.sql", f"CREATE DYNAMIC TABLE totals TARGET_LAG = '2 hours' INITIALIZE = ON_SCHEDULE COMMENT = 'c' AS {query}"
    )
    (step,) = project.plan().steps
    assert (step.action, step.cost) == ("alter", "keeps its data")
    assert step.reasons == ("target lag DOWNSTREAM → 2 hours", "the comment changed")
    project.apply()
    assert project.steps() == []
    project.write(
        "a.sql", f"CREATE DYNAMIC TABLE totals {LATER} AS SELECT customer, MAX(amount) AS s FROM big GROUP BY 1"
    )
    (step,) = project.plan().steps
    assert step.action == "re-initialise"
    assert step.reasons == ("the query changed", "target lag 2 hours → DOWNSTREAM", "the comment changed")
    assert step.cost == "full: the next refresh reads 0 rows; later refreshes are incremental"
    project.apply()
    assert project.steps() == []


def test_what_was_changed_by_hand_is_a_difference(project: Project) -> None:
    shop(project)
    project.apply()
    project.session.execute("ALTER DYNAMIC TABLE totals SET TARGET_LAG = '1 hour'")
    project.session.execute("COMMENT ON TABLE orders IS 'by hand'")
    assert project.steps() == [("alter", "ORDERS"), ("alter", "TOTALS")]
    project.apply()
    assert project.steps() == []


def test_a_changed_view_names_the_dynamic_tables_below_it(project: Project) -> None:
    shop(project)
    project.apply()
    project.write("b.sql", "CREATE VIEW big AS SELECT * FROM orders WHERE amount > 7;")
    (step,) = project.plan().steps
    assert step.action == "alter"
    assert step.cost.endswith(f"recomputed at their next refresh: {project.database}.PUBLIC.TOTALS")
    project.apply()
    assert project.steps() == []


def test_costs_count_the_rows_of_the_sources(project: Project) -> None:
    shop(project)
    project.remove("a.sql")
    project.apply()
    project.session.execute("INSERT INTO orders VALUES (1, 2, 3), (2, 2, 20)")
    project.write(
        "a.sql",
        "CREATE DYNAMIC TABLE totals TARGET_LAG = '1 hour' AS SELECT customer, SUM(amount) AS s FROM big GROUP BY 1",
    )
    (step,) = project.plan().steps
    assert (step.rows, step.cost) == (2, "full: reads 2 rows; later refreshes are incremental")
    project.write("a.sql", "CREATE DYNAMIC TABLE totals TARGET_LAG = '1 hour' AS SELECT id, RANDOM() AS r FROM big")
    (step,) = project.plan().steps
    assert step.cost.startswith("full: reads 2 rows; later refreshes are full: ")


# -- dropping ---------------------------------------------------------------------------------------------------------


def test_only_what_the_project_created_is_dropped(project: Project) -> None:
    project.session.execute(f"CREATE DATABASE {project.database}")
    project.session.execute("CREATE TABLE theirs (a INT)")
    project.session.execute("CREATE TABLE other (a INT)")
    project.write("ours.sql", "CREATE TABLE ours (a INT); CREATE VIEW seen AS SELECT a FROM ours;")
    project.write("theirs.sql", "CREATE TABLE theirs (a INT, b INT);")
    project.apply()
    project.remove("ours.sql")
    project.remove("theirs.sql")
    assert project.steps() == [("drop", "SEEN"), ("drop", "OURS")]
    assert "--allow-drop" in failure(project.apply)
    project.apply(allow_drop=True)
    assert project.steps() == []
    left = [row[1] for row in project.session.execute(f"SHOW TABLES IN SCHEMA {project.database}.PUBLIC").rows()]
    assert left == ["OTHER", "THEIRS"]


def test_what_somebody_else_made_under_the_name_later_is_not_dropped(project: Project) -> None:
    project.write("t.sql", "CREATE TABLE t (a INT);")
    project.apply()
    project.session.execute("DROP TABLE t")
    project.session.execute("CREATE TABLE t (b INT)")
    project.remove("t.sql")
    assert project.steps() == []


def test_what_was_renamed_is_no_longer_the_projects(project: Project) -> None:
    project.write("t.sql", "CREATE TABLE t (a INT);")
    project.apply()
    project.session.execute("ALTER TABLE t RENAME TO kept")
    assert project.steps() == [("create", "T")]
    project.remove("t.sql")
    assert project.steps() == []


def test_a_table_becomes_a_view(project: Project) -> None:
    project.write("t.sql", "CREATE TABLE t (a INT); CREATE TABLE u (a INT);")
    project.apply()
    project.write("t.sql", "CREATE VIEW t AS SELECT a FROM u; CREATE TABLE u (a INT);")
    assert project.steps() == [("drop", "T"), ("create", "T")]
    project.apply(allow_drop=True)
    assert project.steps() == []


def test_two_copies_of_a_project_do_not_touch_each_other(project: Project) -> None:
    project.write("t.sql", "CREATE TABLE t (a INT);")
    project.apply()
    text = (project.folder / "snowmelt.toml").read_text()
    project.write("snowmelt.toml", text + 'schema = "PROD"\n')
    project.apply()
    project.remove("t.sql")
    (step,) = project.plan().steps
    assert step.name == f"{project.database}.PROD.T"


# -- interruptions ----------------------------------------------------------------------------------------------------


def test_an_interrupted_run_goes_on(project: Project, interrupted: Callable[[str], Execute]) -> None:
    shop(project)
    with pytest.raises(KeyboardInterrupt):
        project.apply(interrupted("CREATE VIEW"))
    assert project.steps() == [("create", "TOTALS")]
    project.apply()
    assert project.steps() == []
    # The view was made and not noted before the interruption; it is the project's all the same.
    project.remove("a.sql")
    project.remove("b.sql")
    assert project.steps() == [("drop", "TOTALS"), ("drop", "BIG")]


def test_what_took_a_name_after_an_interruption_is_not_dropped(
    project: Project, interrupted: Callable[[str], Execute]
) -> None:
    project.write("t.sql", "CREATE TABLE t (a INT);")
    with pytest.raises(KeyboardInterrupt):
        project.apply(interrupted("SELECT SYSTEM$PROJECT_BEGIN"))
    project.session.execute(f"CREATE TABLE {project.database}.PUBLIC.t (b VARCHAR)")
    project.remove("t.sql")
    assert project.steps() == []


def test_a_step_that_fails_stops_and_says_where(project: Project) -> None:
    project.write("a.sql", "CREATE TABLE a (x INT);")
    project.write("b.sql", "\nCREATE VIEW b AS SELECT nothing FROM a;")
    project.write("c.sql", "CREATE VIEW c AS SELECT x FROM b;")
    text = failure(project.apply)
    assert "b.sql:2: create of" in text and "Done before: 2; not begun: 1." in text
    assert project.steps() == [("create", "B"), ("create", "C")]


# -- errors of the definitions ----------------------------------------------------------------------------------------


def test_a_circle_is_named(project: Project) -> None:
    project.write("a.sql", "CREATE VIEW a AS SELECT * FROM b;")
    project.write("b.sql", "CREATE VIEW b AS SELECT * FROM c;")
    project.write("c.sql", "CREATE VIEW c AS WITH a AS (SELECT * FROM a) SELECT * FROM a;")
    text = failure(project.plan)
    assert "need each other" in text
    assert all(f"{project.database}.PUBLIC.{name}" in text for name in "ABC")
    assert "a.sql:1" in text


def test_a_name_of_a_with_clause_is_no_dependence(project: Project) -> None:
    project.write("a.sql", "CREATE VIEW a AS WITH b AS (SELECT 1 AS x) SELECT x FROM b;")
    project.write("b.sql", "CREATE VIEW b AS SELECT x FROM a;")
    assert [name for _, name in project.steps()][1:] == ["A", "B"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO t VALUES (1)", "a.sql:1: A project holds definitions (CREATE …), and no INSERT statement."),
        ("CREATE TEMPORARY TABLE t (a INT)", "a.sql:1: A project can't hold a temporary object."),
        ("\n\nCREATE TABEL t (a INT)", "a.sql:3: "),
        ("CREATE TABLE t (a INT); CREATE VIEW t AS SELECT 1 AS a", "T is already defined in a.sql:1."),
    ],
)
def test_errors_say_where(project: Project, text: str, message: str) -> None:
    project.write("a.sql", text)
    assert message in failure(project.plan)


def test_names_outside_of_what_the_project_owns(project: Project) -> None:
    toml = (project.folder / "snowmelt.toml").read_text()
    project.write("snowmelt.toml", toml + 'owns = ["shop_*"]\n')
    project.write("a.sql", "CREATE TABLE shop_a (a INT);")
    project.plan()
    project.write("b.sql", "CREATE TABLE b (a INT);")
    assert "not one of the names that the project owns" in failure(project.plan)


def test_something_else_has_the_name(project: Project) -> None:
    project.session.execute(f"CREATE DATABASE {project.database}")
    project.session.execute("CREATE VIEW t AS SELECT 1 AS a")
    project.write("t.sql", "CREATE TABLE t (a INT);")
    assert "something else has that name" in failure(project.plan)


def test_sequences_are_created_and_not_replaced(project: Project) -> None:
    project.write("s.sql", "CREATE SEQUENCE s START 10;")
    project.write("t.sql", "CREATE TABLE t (id INT DEFAULT s.NEXTVAL, a INT);")
    project.apply()
    assert project.steps() == []
    project.write("s.sql", "CREATE SEQUENCE s START 20;")
    assert "can't be replaced" in failure(project.plan)


def test_the_plan_as_json(project: Project) -> None:
    project.write("t.sql", "CREATE TABLE t (a INT);")
    shown = json.loads(json.dumps(project.plan().as_json()))
    assert shown["changes"] == 2 and shown["unchanged"] == 0
    assert shown["steps"][1] == {
        "action": "create", "kind": "TABLE", "name": f"{project.database}.PUBLIC.T", "reasons": ["it does not exist"],
        "cost": "an empty table", "rows": 0, "destructive": False, "place": "t.sql:1",
        "statement": "CREATE TABLE t (a INT)",
    }  # fmt: skip


def test_other_kinds_are_created_replaced_and_dropped(project: Project) -> None:
    project.write(
        "all.sql",
        """
        CREATE WAREHOUSE project_wh WAREHOUSE_SIZE = SMALL;
        CREATE SCHEMA raw;
        CREATE STAGE raw.landing;
        CREATE FILE FORMAT raw.lines TYPE = CSV FIELD_DELIMITER = ';';
        CREATE FUNCTION half(x FLOAT, y VARCHAR) RETURNS FLOAT AS 'x / 2';
        CREATE FUNCTION half(x NUMBER) RETURNS NUMBER AS 'x / 2';
        CREATE PROCEDURE tidy() RETURNS VARCHAR LANGUAGE SQL AS BEGIN RETURN 'ok'; END;
        CREATE TABLE raw.t (id INT AUTOINCREMENT START 5 INCREMENT 2, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP(),
            parent INT REFERENCES raw.t (id), CONSTRAINT positive CHECK (id > 0), PRIMARY KEY (id)) CLUSTER BY (at);
        """,
    )
    assert len(project.apply().steps) == 9
    assert project.steps() == []
    text = (project.folder / "all.sql").read_text()
    project.write(
        "all.sql", text.replace("'x / 2';", "'x * 0.5';", 1).replace("FIELD_DELIMITER = ';'", "FIELD_DELIMITER = '|'")
    )
    assert sorted(project.steps()) == [
        ("replace", "HALF(FLOAT, VARCHAR)"),
        ("replace", f"{project.database}.RAW.LINES"),
    ]
    project.apply()
    assert project.steps() == []
    project.write("all.sql", "CREATE WAREHOUSE project_wh; CREATE SCHEMA raw;")
    assert [action for action, _ in project.steps()] == ["drop"] * 6
    project.apply(allow_drop=True)
    assert project.steps() == []
    project.session.execute("DROP WAREHOUSE project_wh")


def pipeline(project: Project, *, comment: str = "what came", every: str = "1 HOUR") -> None:
    """Tasks before the streams that they watch, streams before their table."""
    project.write(
        "a.sql",
        f"CREATE TASK load SCHEDULE = '{every}' WHEN SYSTEM$STREAM_HAS_DATA('came') AS\n"
        "BEGIN\n  INSERT INTO kept SELECT id FROM came;\nEND;\n"
        "CREATE TASK after_load AFTER load AS INSERT INTO kept VALUES (0);",
    )
    project.write("b.sql", f"CREATE OR REPLACE STREAM came ON TABLE landing APPEND_ONLY = TRUE COMMENT = '{comment}';")
    project.write("c.sql", "CREATE TABLE landing (id INT); CREATE TABLE kept (id INT);")


def test_streams_and_tasks(project: Project) -> None:
    pipeline(project)
    names = [name for _, name in project.steps()]
    assert names.index("LANDING") < names.index("CAME") < names.index("LOAD") < names.index("AFTER_LOAD")
    project.apply()
    assert project.steps() == []
    project.session.execute("INSERT INTO landing VALUES (1)")
    project.session.execute("SELECT SYSTEM$TASK_DEPENDENTS_ENABLE('load')")

    # Another comment keeps the offset, and with it what has not been consumed.
    pipeline(project, comment="what came in")
    assert project.steps() == [("alter", "CAME")]
    project.apply()
    assert project.steps() == []
    assert project.session.execute("SELECT SYSTEM$STREAM_HAS_DATA('came')").rows() == [(True,)]

    pipeline(project, comment="what came in", every="2 HOURS")
    assert project.steps() == [("alter", "LOAD")]
    assert "not suspended" in failure(project.apply)
    project.session.execute("ALTER TASK load SUSPEND")
    project.apply()
    assert project.steps() == []
    shown = project.session.execute("SHOW TASKS")
    location = {column.name: index for index, column in enumerate(shown.columns)}
    states = {row[location["name"]]: (row[location["state"]], row[location["schedule"]]) for row in shown.rows()}
    assert states == {"LOAD": ("suspended", "2 HOURS"), "AFTER_LOAD": ("started", None)}

    project.write("b.sql", "CREATE STREAM came ON TABLE kept APPEND_ONLY = TRUE")
    assert "losing its offset: it is to be on KEPT" in failure(project.plan)

    project.remove("a.sql")
    project.remove("b.sql")
    assert project.steps() == [("drop", "AFTER_LOAD"), ("drop", "LOAD"), ("drop", "CAME")]
    project.apply(allow_drop=True)
    assert project.plan().unchanged == 2
