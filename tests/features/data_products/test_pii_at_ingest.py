"""Personal data that never gets in: what COPY, channels and connectors keep of it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName
from snowmelt.ingest import StreamingIngestClient
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session
from snowmelt.state.model import ObjectKind, TableDefinition
from tests.features.connectors.envelopes import column
from tests.features.connectors.test_landing import Lander, delete, put

ANN = "ann@example.com"
STRATEGIES = {"MASKED": "MASK", "HASHED": "HASH", "TOKEN": "TOKENISE", "GONE": "DROP"}
COLUMNS = ("ID", *STRATEGIES, "KEPT")


def token(account: Account, value: str) -> str:
    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    key = account.token_key
    return "tok_" + digest(key + digest(key + value))[:32]


def kept(account: Account, value: str = ANN) -> dict[str, Any]:
    hashed = hashlib.sha256(value.encode()).hexdigest()
    return {
        "MASKED": "****" + value[-4:],
        "HASHED": hashed,
        "TOKEN": token(account, value),
        "GONE": None,
        "KEPT": value,
    }


def stored(account: Account, table: str) -> list[dict[str, Any]]:
    """The rows as they lie in files, without Spark."""
    with account.state.read() as state:
        found = state.catalog.find(ObjectName("SNOWMELT", "PUBLIC", table), [ObjectKind.TABLE])
        assert found is not None and isinstance(found.definition, TableDefinition)
        version = state.versions.visible(found.id)
    assert version is not None
    rows: list[dict[str, Any]] = account.store.read(found.definition.location, version.version).to_pylist()
    return rows


@pytest.fixture
def session(opened: Account) -> Session:
    found = opened.session()
    texts = ", ".join(f"{name} VARCHAR" for name in COLUMNS[1:])
    found.execute(f"CREATE TABLE people (id INT NOT NULL, {texts})")
    for name, strategy in STRATEGIES.items():
        found.execute(f"CALL SYSTEM$SET_PII_STRATEGY('people', '{name}', '{strategy}')")
    return found


def test_copy(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(f"1,{ANN},{ANN},{ANN},{ANN},{ANN}\n2,,,,,\n", encoding="utf-8")
    session.execute("CREATE STAGE sg")
    session.execute(f"PUT 'file://{file}' @sg")
    session.execute("COPY INTO people FROM @sg FILE_FORMAT = (TYPE = CSV)")
    first, empty = sorted(stored(session.account, "PEOPLE"), key=lambda row: row["ID"])
    assert {name: first[name] for name in COLUMNS[1:]} == kept(session.account)
    assert all(empty[name] is None for name in COLUMNS[1:])
    session.execute("CALL SYSTEM$SET_PII_STRATEGY('people', 'masked', NULL)")
    session.execute("COPY INTO people FROM @sg FILE_FORMAT = (TYPE = CSV) FORCE = TRUE")
    assert {row["MASKED"] for row in stored(session.account, "PEOPLE") if row["ID"] == 1} == {ANN, "****" + ANN[-4:]}


def test_channels_and_the_rows_that_they_reject(session: Session) -> None:
    client = StreamingIngestClient("test", connection=session)
    channel = client.open_channel("c", "people")
    channel.append_row({"id": 1, **{name.lower(): ANN for name in COLUMNS[1:]}}, "1")
    channel.append_row({name.lower(): ANN for name in COLUMNS[1:]}, "2")
    assert channel.wait_for_flush(120)
    client.close()
    (row,) = stored(session.account, "PEOPLE")
    assert {name: row[name] for name in COLUMNS[1:]} == kept(session.account)
    (rejected,) = stored(session.account, "PEOPLE_CHANNEL_ERRORS")
    assert str(rejected["ROW_DATA"]).count("ann@example") == 1, "the column that is kept"


_EMAIL = column("body", "string", "TEXT")


@pytest.mark.parametrize(("strategy", "target"), [(s, t) for s in STRATEGIES.values() for t in ("RAW", "MIRROR")])
def test_connectors(opened: Account, strategy: str, target: str) -> None:
    lander = Lander(opened, "landed", f"TARGET = {target} PII = ('public.items.body' = '{strategy}')")
    lander.land(put(1, ANN, 1), put(2, None, 2))
    lander.land(put(1, "bob@example.com", 3, op="u"))
    wanted = {STRATEGIES[name]: value for name, value in kept(opened).items() if name in STRATEGIES}
    bob = {STRATEGIES[name]: value for name, value in kept(opened, "bob@example.com").items() if name in STRATEGIES}
    if target == "MIRROR":
        assert lander.items() == [(1, bob[strategy]), (2, None)]
    else:
        found = [row["AFTER"].get("body") for row in lander.rows("RAW_CHANGES")]
        assert found == [wanted[strategy], None, bob[strategy]]


def test_a_key_can_be_hashed_and_not_masked(opened: Account) -> None:
    lander = Lander(opened, "keyed", "TARGET = MIRROR PII = ('id' = 'TOKENISE')")
    lander.land(put(1, "a", 1), put(2, "b", 2))
    lander.land(put(1, "c", 3, op="u"), delete(2, 4))
    assert lander.items() == [(token(opened, "1"), "c")]
    masked = Lander(opened, "masked", "TARGET = MIRROR PII = ('public.items.id' = 'MASK')")
    with pytest.raises(SnowmeltError, match="could not be told apart"):
        masked.land(put(1, "a", 1))


def test_dead_letters_keep_nothing_of_a_record(opened: Account) -> None:
    lander = Lander(opened, "poison", "PII = ('body' = 'DROP')")
    lander.land(({"id": 1}, json.dumps({"payload": ANN})))
    (letter,) = lander.rows("C_DEAD_LETTERS")
    assert letter["REASON"] and letter["RECORD"] is None and letter["RECORD_KEY"] is None


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CALL SYSTEM$SET_PII_STRATEGY('narrow', 'short', 'HASH')", "64 characters|VARCHAR\\(10\\)"),
        ("CALL SYSTEM$SET_PII_STRATEGY('narrow', 'there', 'DROP')", "NOT NULL"),
        ("CALL SYSTEM$SET_PII_STRATEGY('looked', 'short', 'MASK')", "VIEW"),
        (
            "CREATE CONNECTOR c TYPE = POSTGRES HOST = 'h' DATABASE = 'd' USER = 'u' TABLES = ('a') PII = ('b' = 'X')",
            "X",
        ),
    ],
)
def test_what_is_refused(opened: Account, statement: str, said: str) -> None:
    session = opened.session()
    session.execute("CREATE TABLE narrow (short VARCHAR(10), there VARCHAR NOT NULL)")
    session.execute("CREATE VIEW looked AS SELECT short FROM narrow")
    with pytest.raises(SnowmeltError, match=said):
        session.execute(statement)


def test_short_values_are_masked_whole_and_unknown_fields_are_not_kept(session: Session) -> None:
    client = StreamingIngestClient("test", connection=session)
    channel = client.open_channel("c", "people")
    channel.append_row({"id": 1, "masked": "4711"}, "1")
    channel.append_row({"id": 2, "emial": ANN}, "2")
    assert channel.wait_for_flush(120)
    client.close()
    (row,) = stored(session.account, "PEOPLE")
    assert row["MASKED"] == "****"
    (rejected,) = stored(session.account, "PEOPLE_CHANNEL_ERRORS")
    assert "ann@example" not in str(rejected)
