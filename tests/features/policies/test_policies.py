"""What policies are to the rest: roles, caches, refreshes, clones, schemas that go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session


@pytest.fixture
def owner(account: Account, session: Session) -> Iterator[Session]:
    """A session in a schema of its own, whose user has two roles."""
    name = session.database
    session.execute_script(
        f"""
        CREATE SCHEMA s; CREATE ROLE IF NOT EXISTS pol_a; CREATE ROLE IF NOT EXISTS pol_b;
        GRANT ROLE pol_a TO USER admin; GRANT ROLE pol_b TO USER admin;
        GRANT USAGE ON DATABASE {name} TO ROLE pol_a; GRANT USAGE ON DATABASE {name} TO ROLE pol_b;
        GRANT USAGE ON SCHEMA s TO ROLE pol_a; GRANT USAGE ON SCHEMA s TO ROLE pol_b;
        GRANT USAGE ON WAREHOUSE compute_wh TO ROLE pol_a; GRANT USAGE ON WAREHOUSE compute_wh TO ROLE pol_b;
        CREATE TABLE t (id INT, a VARCHAR) CHANGE_TRACKING = TRUE; INSERT INTO t VALUES (1, 'one'), (2, 'two');
        GRANT SELECT ON TABLE t TO ROLE pol_a; GRANT SELECT ON TABLE t TO ROLE pol_b;
        CREATE MASKING POLICY p AS (v VARCHAR) RETURNS VARCHAR -> IFF(CURRENT_ROLE() = 'POL_A', v, '***');
        CREATE ROW ACCESS POLICY r AS (i NUMBER) RETURNS BOOLEAN -> i = 1 OR CURRENT_ROLE() = 'POL_A';
        """
    )
    yield session
    session.execute("USE ROLE accountadmin")
    session.execute_script("DROP ROLE pol_a; DROP ROLE pol_b")


def _seen(session: Session, role: str, query: str = "SELECT a FROM t ORDER BY id") -> list[str]:
    session.execute(f"USE ROLE {role}")
    session.execute("USE SECONDARY ROLES NONE")
    found = [row[0] for row in session.execute(query).rows()]
    session.execute("USE ROLE accountadmin")
    return found


def test_kept_queries_and_results_belong_to_no_other_role(owner: Session) -> None:
    for _ in range(3):
        assert _seen(owner, "pol_a") == ["one", "two"]
        assert _seen(owner, "pol_b") == ["one", "two"]
    owner.execute("ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY p")
    for _ in range(3):
        assert _seen(owner, "pol_a") == ["one", "two"]
        assert _seen(owner, "pol_b") == ["***", "***"]
    owner.execute("ALTER MASKING POLICY p SET BODY -> 'else'")
    assert _seen(owner, "pol_a") == ["else", "else"]
    owner.execute("ALTER TABLE t MODIFY COLUMN a UNSET MASKING POLICY")
    assert _seen(owner, "pol_b") == ["one", "two"]


def test_a_mapping_table_is_asked_each_time_and_takes_no_right(owner: Session) -> None:
    owner.execute_script(
        """
        CREATE TABLE m (role_name VARCHAR, i INT);
        CREATE ROW ACCESS POLICY mapped AS (i NUMBER) RETURNS BOOLEAN ->
            EXISTS (SELECT 1 FROM m WHERE role_name = CURRENT_ROLE() AND m.i = i);
        CREATE ROW ACCESS POLICY by_map AS (n NUMBER) RETURNS BOOLEAN ->
            EXISTS (SELECT 1 FROM m WHERE role_name = CURRENT_ROLE() AND i = n);
        ALTER TABLE t ADD ROW ACCESS POLICY by_map ON (id)
        """
    )
    assert _seen(owner, "pol_b") == []
    owner.execute("INSERT INTO m VALUES ('POL_B', 2)")
    assert _seen(owner, "pol_b") == ["two"]
    assert _seen(owner, "pol_a") == []


def test_who_owns_a_view_is_the_invoker(owner: Session) -> None:
    owner.execute_script(
        """
        CREATE MASKING POLICY asked AS (v VARCHAR) RETURNS VARCHAR -> INVOKER_ROLE() || ' ' || CURRENT_ROLE();
        ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY asked; CREATE VIEW v AS SELECT a FROM t WHERE id = 1;
        GRANT SELECT ON VIEW v TO ROLE pol_b
        """
    )
    assert _seen(owner, "pol_b", "SELECT a FROM v") == ["ACCOUNTADMIN POL_B"]
    assert _seen(owner, "pol_b", "SELECT a FROM t WHERE id = 1") == ["POL_B POL_B"]


def test_a_policy_over_its_own_table_is_refused(owner: Session) -> None:
    owner.execute_script(
        """
        CREATE ROW ACCESS POLICY round AS (n NUMBER) RETURNS BOOLEAN -> EXISTS (SELECT 1 FROM t WHERE t.id = n);
        ALTER TABLE t ADD ROW ACCESS POLICY round ON (id)
        """
    )
    with pytest.raises(SnowmeltError, match="000002"):
        owner.execute("SELECT * FROM t")


def test_a_dynamic_table_starts_anew_when_a_policy_changes(owner: Session) -> None:
    owner.execute(
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' WAREHOUSE = compute_wh REFRESH_MODE = INCREMENTAL AS "
        "SELECT id, a FROM t"
    )
    rows = "SELECT * FROM d ORDER BY id"

    def refreshed() -> list[tuple[object, ...]]:
        owner.execute("ALTER DYNAMIC TABLE d REFRESH")
        return owner.execute(rows).rows()

    owner.execute("ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY p")
    assert refreshed() == [(1, "***"), (2, "***")]
    owner.execute("INSERT INTO t VALUES (3, 'three')")
    assert refreshed() == [(1, "***"), (2, "***"), (3, "***")]
    owner.execute("ALTER TABLE t ADD ROW ACCESS POLICY r ON (id)")
    assert refreshed() == [(1, "***")]
    owner.execute("ALTER ROW ACCESS POLICY r SET BODY -> i > 1")
    assert refreshed() == [(2, "***"), (3, "***")]
    owner.execute("DELETE FROM t WHERE id = 3")
    assert refreshed() == [(2, "***")]
    owner.execute_script(
        "ALTER TABLE t DROP ALL ROW ACCESS POLICIES; ALTER TABLE t MODIFY COLUMN a UNSET MASKING POLICY"
    )
    assert refreshed() == [(1, "one"), (2, "two")]


def test_a_clone_of_an_earlier_version_is_masked_under_its_names(owner: Session) -> None:
    owner.execute("INSERT INTO t VALUES (3, 'three')")
    before = owner.query_ids[-1]
    owner.execute_script(
        """
        ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t ADD COLUMN a VARCHAR;
        ALTER TABLE t MODIFY COLUMN b SET MASKING POLICY p
        """
    )
    owner.execute(f"CREATE TABLE c CLONE t AT (STATEMENT => '{before}')")
    assert owner.execute("SELECT DISTINCT a FROM c").rows() == [("***",)]
    assert owner.execute(f"SELECT DISTINCT b FROM t AT (STATEMENT => '{before}')").rows() == [("***",)]


def test_a_schema_stays_as_long_as_its_policies_are_needed(owner: Session) -> None:
    owner.execute_script(
        """
        CREATE SCHEMA rules; CREATE MASKING POLICY rules.q AS (v VARCHAR) RETURNS VARCHAR -> 'q'; USE SCHEMA s;
        ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY rules.q
        """
    )
    with pytest.raises(SnowmeltError, match="003531"):
        owner.execute("DROP SCHEMA rules")
    assert owner.execute("SELECT DISTINCT a FROM t").rows() == [("q",)]
    owner.execute("ALTER TABLE t MODIFY COLUMN a UNSET MASKING POLICY")
    owner.execute("DROP SCHEMA rules")


def test_a_table_that_comes_back_is_not_read_without_its_policy(owner: Session) -> None:
    owner.execute_script(
        "ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY p; DROP TABLE t; DROP MASKING POLICY p; UNDROP TABLE t"
    )
    with pytest.raises(SnowmeltError, match="003533"):
        owner.execute("SELECT * FROM t")
    owner.execute("ALTER TABLE t MODIFY COLUMN a UNSET MASKING POLICY")
    assert owner.execute("SELECT a FROM t WHERE id = 1").rows() == [("one",)]


def test_replaying_puts_back_what_was_stored(owner: Session) -> None:
    owner.execute_script(
        """
        ALTER TABLE t ADD QUALITY CHECK few AS RANGE (id) MAX = 5 ON_FAILURE = QUARANTINE;
        ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY p; INSERT INTO t VALUES (9, 'nine')
        """
    )
    assert owner.execute("SELECT a FROM t_quarantine").rows() == [("***",)]
    with pytest.raises(SnowmeltError, match="WHERE"):
        owner.execute("ALTER TABLE t REPLAY QUARANTINE WHERE a LIKE 'n%'")
    owner.execute_script("ALTER TABLE t DROP QUALITY CHECK few; ALTER TABLE t REPLAY QUARANTINE")
    assert _seen(owner, "pol_a", "SELECT a FROM t WHERE id = 9") == ["nine"]


def test_who_may_put_a_policy_on_a_table(account: Account, owner: Session) -> None:
    set_it = "ALTER TABLE t MODIFY COLUMN a SET MASKING POLICY p"
    with pytest.raises(SnowmeltError, match=r"Insufficient privileges|does not exist"):
        _run(owner, "pol_a", set_it)
    owner.execute("GRANT APPLY ON MASKING POLICY p TO ROLE pol_a")
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        _run(owner, "pol_a", set_it)
    owner.execute("GRANT APPLY MASKING POLICY ON ACCOUNT TO ROLE pol_a")
    _run(owner, "pol_a", set_it)
    assert _seen(owner, "pol_b") == ["***", "***"]


def _run(session: Session, role: str, sql: str) -> None:
    session.execute(f"USE ROLE {role}")
    try:
        session.execute(sql)
    finally:
        session.execute("USE ROLE accountadmin")
