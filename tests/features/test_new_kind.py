"""A new kind of object needs one description and a line in `accounts.py`. src/ never names this one, MEMO."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from snowmelt.accounts import FEATURES, install_kinds
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.kinds import ObjectType
from snowmelt.core.names import literal
from snowmelt.features.relations.alter_tables import rename
from snowmelt.runtime import schema_objects
from snowmelt.runtime.account import Account
from snowmelt.runtime.feature import Feature, Features
from snowmelt.runtime.kinds import KindDescription
from snowmelt.runtime.metadata.columns import Columns, Row, columns
from snowmelt.runtime.metadata.ddl_words import comment, object_name
from snowmelt.runtime.metadata.listing import Listing
from snowmelt.runtime.metadata.schema_objects import named, of_kind
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.runtime.rights.asks import altered, ask_creator, ask_owner, created
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.sql.statements.base import Action, NameRef, Statement, ddl
from snowmelt.sql.statements.changes import RenameTo
from snowmelt.sql.statements.create_rules import CreateHead, CreateRule
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.statements.heads import created_name
from snowmelt.sql.statements.heads import object_name as read_name
from snowmelt.sql.statements.kinds import KindSyntax
from snowmelt.sql.statements.options import CommentOption, read_options
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.show import ShowStatement
from snowmelt.state.model import CatalogObject
from snowmelt.state.record import Definition
from snowmelt.state.store import StateReader, StateTransaction

MEMO = ObjectType("MEMO")
_COLUMNS = columns("created_on:ts, name, database_name, schema_name, owner, comment, text, owner_role_type")


@dataclass(frozen=True, slots=True)
class CreateMemo(Statement):
    name: NameRef
    text: str
    comment: str | None
    or_replace: bool
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class AlterMemo(Statement):
    name: NameRef
    action: Action


def parse_create(cursor: TokenCursor, head: CreateHead) -> CreateMemo:
    name, guarded = created_name(cursor, head)
    cursor.expect("SAYS")
    text = cursor.string()
    return CreateMemo(name, text, read_options(cursor, CommentOption, head.kind).comment, head.or_replace, guarded)


def parse_alter(cursor: TokenCursor, kind: ObjectType) -> AlterMemo:
    name = read_name(cursor, kind)
    cursor.expect("RENAME", "TO")
    return AlterMemo(name, RenameTo(read_name(cursor, kind)))


class MemoDefinition(Definition):
    kind: Literal["MEMO"] = "MEMO"
    text: str


def create_memo(run: Run, statement: CreateMemo) -> Result:
    return schema_objects.create(
        run, MEMO, statement.name, MemoDefinition(text=statement.text), or_replace=statement.or_replace,
        if_not_exists=statement.if_not_exists, comment=statement.comment,
    )  # fmt: skip


def alter_memo(run: Run, statement: AlterMemo) -> Result:
    found = schema_objects.to_alter(run, MEMO, statement.name, if_exists=False)
    assert found is not None and isinstance(statement.action, RenameTo)
    rename(run, found, statement.action.new_name)
    return status(DONE, "ALTER_MEMO")


def _row(item: CatalogObject) -> dict[str, Any]:
    assert isinstance(item.definition, MemoDefinition)
    return {**named(item), "text": item.definition.text}


def memos(run: Run, state: StateReader, statement: ShowStatement) -> Iterator[Row]:
    return (_row(item) for item in of_kind(run, state, statement, MEMO))


def described(run: Run, state: StateReader, item: CatalogObject) -> tuple[Columns, list[Row]]:
    return _COLUMNS, [_row(item)]


def memo_ddl(item: CatalogObject, qualified: bool) -> str:
    name = object_name(item.name, qualified=qualified)
    return f"create or replace memo {name} says {literal(_row(item)['text'])}{comment(item.comment)};"


_DROPPED: list[str] = []


def _dropped(state: StateTransaction, item: CatalogObject) -> None:
    _DROPPED.append(item.name.name)


KIND = KindDescription(
    syntax=KindSyntax(
        MEMO, CreateRule(parse_create), parse_alter,
        {CreateMemo: ddl("CREATE_MEMO"), AlterMemo: ddl("ALTER_MEMO")}, is_described=True, is_undropped=True,
    ),
    noun="Memo", definition=MemoDefinition, handlers={CreateMemo: create_memo, AlterMemo: alter_memo},
    listing=Listing(memos), columns=lambda: _COLUMNS, describe=described, ddl=memo_ddl, script_order=5,
    privileges=("READ",), rules={"CREATE MEMO": ask_creator(MEMO), "ALTER MEMO": ask_owner()},
    requests={
        CreateMemo: lambda statement: created("CREATE MEMO", MEMO, statement),
        AlterMemo: lambda statement: altered("ALTER MEMO", MEMO, statement.name, statement.action),
    },
    is_renamed=True, before_drop=_dropped,
)  # fmt: skip
EXTENDED = Features((*FEATURES, Feature("memos", kinds=(KIND,))))


@contextmanager
def opened(folder: Path) -> Iterator[Account]:
    """An account with one more feature, as `open_account` opens one."""
    install_kinds(EXTENDED)
    try:
        with Account.open(folder, EXTENDED, settings=Settings()) as account:
            yield account
    finally:
        install_kinds()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memos")


@pytest.fixture
def session(folder: Path) -> Iterator[Session]:
    with opened(folder) as account:
        found = account.session()
        found.execute("CREATE OR REPLACE SCHEMA notes")
        yield found


def _values(session: Session, statement: str, *names: str) -> list[tuple[Any, ...]]:
    result = session.execute(statement)
    places = [[column.name for column in result.columns].index(name) for name in names]
    return [tuple(row[place] for place in places) for row in result.rows()]


def _one(session: Session, statement: str) -> Any:
    return session.execute(statement).rows()[0][0]


def test_every_statement_about_it(session: Session) -> None:
    assert _one(session, "CREATE MEMO m SAYS 'it''s me' COMMENT = 'c'") == "Memo M successfully created."
    with pytest.raises(SnowmeltError, match="already exists"):
        session.execute("CREATE MEMO m SAYS 'again'")
    assert _values(session, "SHOW MEMOS", "name", "text", "comment") == [("M", "it's me", "c")]
    assert _values(session, "DESCRIBE MEMO m", "name", "text") == [("M", "it's me")]
    assert ("M", "MEMO") in _values(session, "DESCRIBE SCHEMA notes", "name", "kind")
    session.execute("COMMENT ON MEMO m IS 'other'")
    session.execute("ALTER MEMO m RENAME TO n")
    assert _values(session, "SHOW MEMOS LIKE 'N'", "name", "comment") == [("N", "other")]
    assert _one(session, "DROP MEMO n") == "N successfully dropped." and _DROPPED[-1] == "N"
    with pytest.raises(SnowmeltError, match=r"Memo 'SNOWMELT\.NOTES\.N' does not exist"):
        session.execute("DESCRIBE MEMO n")
    assert _one(session, "UNDROP MEMO n") == "Memo N successfully restored."


def test_its_statement_comes_back(session: Session) -> None:
    session.execute("CREATE MEMO m SAYS 'it''s me' COMMENT = 'c'")
    text = "create or replace memo M says 'it''s me' COMMENT='c';"
    assert _one(session, "SELECT GET_DDL('MEMO', 'm')") == text
    assert text in _one(session, "SELECT GET_DDL('SCHEMA', 'notes')")
    assert session.execute(text).statement_type == "CREATE_MEMO"
    assert _one(session, "SELECT GET_DDL('MEMO', 'm')") == text


def test_rights(session: Session) -> None:
    for statement in (
        "CREATE OR REPLACE ROLE reader", "GRANT ROLE reader TO USER admin",
        "GRANT USAGE ON DATABASE snowmelt TO ROLE reader", "GRANT USAGE ON SCHEMA notes TO ROLE reader",
        "CREATE MEMO m SAYS 'a'",
    ):  # fmt: skip
        session.execute(statement)
    reader = session.account.session(role="READER", database="SNOWMELT", schema="NOTES")
    assert reader.execute("SHOW MEMOS").rows() == []
    session.execute("GRANT READ ON MEMO m TO ROLE reader")
    session.execute("GRANT READ ON FUTURE MEMOS IN SCHEMA notes TO ROLE reader")
    session.execute("CREATE MEMO later SAYS 'b'")
    assert _values(reader, "SHOW MEMOS", "name") == [("LATER",), ("M",)]
    assert ("READ", "MEMO", "READER") in _values(
        session, "SHOW GRANTS ON MEMO m", "privilege", "granted_on", "grantee_name"
    )
    for refused in ("DROP MEMO m", "ALTER MEMO m RENAME TO o", "CREATE MEMO mine SAYS 'c'"):
        with pytest.raises(SnowmeltError, match="Insufficient privileges"):
            reader.execute(refused)
    session.execute("GRANT CREATE MEMO ON SCHEMA notes TO ROLE reader")
    reader.execute("CREATE MEMO mine SAYS 'c'")
    with pytest.raises(SnowmeltError, match="can't be granted on a memo"):
        session.execute("GRANT SELECT ON MEMO m TO ROLE reader")


def test_an_account_opened_again_still_has_it(folder: Path) -> None:
    for statement in ("CREATE OR REPLACE MEMO kept SAYS 'a'", "SHOW MEMOS LIKE 'KEPT'"):
        with opened(folder) as account:
            found = account.session(database="SNOWMELT", schema="PUBLIC").execute(statement)
    assert len(found.rows()) == 1


def test_nobody_knows_it_otherwise() -> None:
    with pytest.raises(SnowmeltError):
        parse_statement("CREATE MEMO m SAYS 'a'")


def test_two_features_never_bring_the_same_kind() -> None:
    with pytest.raises(SnowmeltError, match=r"Two features have .*AlterMemo"):
        Features((*EXTENDED, Feature("more memos", kinds=(KIND,))))
    again = Feature("more memos", kinds=(replace(KIND, handlers={}),))
    with pytest.raises(SnowmeltError, match="Two features describe the kind MEMO"):
        install_kinds(Features((*EXTENDED, again)))
