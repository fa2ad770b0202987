"""CHANGE_TRACKING and the Delta change feed: on from creation, unless it is switched off."""

from __future__ import annotations

from deltalake import DeltaTable

from snowmelt.core.names import ObjectName
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition


def _definition(account: Account, session: Session, name: str) -> TableDefinition:
    assert session.database is not None and session.schema is not None
    with account.state.read() as state:
        found = state.catalog.find(ObjectName(session.database, session.schema, name), [ObjectKind.TABLE])
    assert found is not None and isinstance(found.definition, TableDefinition)
    return found.definition


def _feed(account: Account, session: Session, name: str) -> bool:
    """What is on disk, which the catalog must agree with."""
    definition = _definition(account, session, name)
    table = DeltaTable(account.store.root.uri_of(definition.location))
    on = table.metadata().configuration.get("delta.enableChangeDataFeed") == "true"
    assert on == definition.change_feed
    return on


def test_on_unless_the_statement_says_otherwise(account: Account, session: Session) -> None:
    session.execute("CREATE TABLE silent (a INT)")
    session.execute("CREATE TABLE switched_on (a INT) CHANGE_TRACKING = TRUE")
    session.execute("CREATE TABLE switched_off (a INT) CHANGE_TRACKING = FALSE")
    session.execute("CREATE TABLE alike LIKE silent CHANGE_TRACKING = FALSE")
    session.execute("CREATE TABLE selected CHANGE_TRACKING = FALSE AS SELECT 1 AS a")
    names = ("SILENT", "SWITCHED_ON", "SWITCHED_OFF", "ALIKE", "SELECTED")
    assert [_feed(account, session, name) for name in names] == [True, True, False, False, False]
    text = session.execute("SELECT GET_DDL('TABLE', 'SWITCHED_OFF')").rows()[0][0]
    assert "CHANGE_TRACKING=FALSE" in text


def test_started_later_and_never_stopped(account: Account, session: Session) -> None:
    session.execute("CREATE TABLE t (a INT) CHANGE_TRACKING = FALSE")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute("ALTER TABLE t SET CHANGE_TRACKING = TRUE COMMENT = 'watched'")
    assert _feed(account, session, "T")
    session.execute("UPDATE t SET a = 2")
    session.execute("ALTER TABLE t SET CHANGE_TRACKING = FALSE")
    assert _feed(account, session, "T"), "what reads the feed would have to start afresh"
    session.execute("INSERT INTO t VALUES (3)")
    assert sorted(session.execute("SELECT a FROM t").rows()) == [(2,), (3,)]
    changes = account.store.changes(_definition(account, session, "T").location, [(3, 4)]).read_all()
    assert sorted(changes.column("_change_type").to_pylist()) == ["insert", "update_postimage", "update_preimage"]
