"""The interactive prompt, in a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from snowmelt.accounts import open_account
from snowmelt.cli.opening import OpenedSession
from snowmelt.cli.prompt.completing import AccountNames, SqlCompleter, mentioned
from snowmelt.cli.prompt.highlighting import SqlLexer
from snowmelt.cli.prompt.reading import is_command, is_whole
from snowmelt.core.config import Settings
from tests.cli.terminal import Terminal

WHOLE = [
    "SELECT 1;", "SELECT ';' AS a;", "SELECT 1; -- the end", "SELECT 1; /* the end */", "BEGIN;", "COMMIT;", "",
    "CREATE PROCEDURE p() RETURNS INT AS $$ BEGIN RETURN 1; END $$;", "BEGIN LET x := 1; RETURN :x; END;",
    "SELECT CASE WHEN 1 = 1 THEN 2 END;", "SELECT 1; SELECT 2;", "exit", "help;", "!set rows=all", "\\d t",
    "CREATE TASK t AS BEGIN INSERT INTO a VALUES (1); END;", 'SELECT ";";', ";",
]  # fmt: skip
OPEN = [
    "SELECT 1", "SELECT ';", "SELECT 'a\n;", "SELECT 1 -- ;", "SELECT 1 /* ;",
    "CREATE PROCEDURE p() AS $$ BEGIN RETURN 1;",
    "BEGIN LET x := 1;", "BEGIN\n  INSERT INTO t VALUES (1);\n", "DECLARE x INT;", "SELECT 1; SELECT 2", 'SELECT ";',
    "CREATE TASK t AS BEGIN INSERT INTO a VALUES (1);", "BEGIN IF (1 = 1) THEN SELECT 1; END IF;", "exit_code",
]  # fmt: skip


@pytest.mark.parametrize("text", WHOLE)
def test_enter_ends_what_is_whole(text: str) -> None:
    assert is_whole(text)


@pytest.mark.parametrize("text", OPEN)
def test_enter_begins_a_line_in_what_is_open(text: str) -> None:
    assert not is_whole(text)


def test_commands_are_not_statements() -> None:
    assert is_command("exit") and is_command("quit;") and is_command("!set") and is_command("\\d t")
    assert not is_command("help me") and not is_command("SELECT 1;")


def test_every_character_is_coloured_once() -> None:
    document = Document("SELECT 'a\nb' -- c\nFROM $$x\n\"y")
    lines = SqlLexer().lex_document(document)
    shown = ["".join(piece[1] for piece in lines(number)) for number in range(document.line_count)]
    assert "\n".join(shown) == document.text
    assert lines(0)[0] == ("class:sql.keyword", "SELECT")


def test_tables_that_a_statement_mentions() -> None:
    assert mentioned('SELECT * FROM db.s.t AS a JOIN "U" ON a.x = "U".y, v w WHERE 1 = 1') == {
        "A": "DB.S.T", "U": "U", "W": "V",
    }  # fmt: skip


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompt") / "data"
    with open_account(folder) as account:
        account.session().execute_script(
            'CREATE TABLE orders (id INT, "Paid on" DATE, amount INT);'
            "INSERT INTO orders VALUES (1, NULL, 2), (2, NULL, 3);"
            "CREATE SCHEMA sales; CREATE VIEW sales.large AS SELECT id, amount FROM public.orders; CREATE ROLE reader"
        )
    return folder


@pytest.fixture
def completed(shop: Path):  # type: ignore[no-untyped-def]
    with open_account(shop) as account:
        completer = SqlCompleter(AccountNames(account.session().execute))

        def call(text: str) -> list[str]:
            document = Document(text)
            event = CompleteEvent(completion_requested=True)
            return [completion.text for completion in completer.get_completions(document, event)]

        yield call


def test_completion(completed) -> None:  # type: ignore[no-untyped-def]
    assert completed("SELECT * FROM ord") == ["orders"]
    assert completed("SELECT * FROM ORD") == ["ORDERS"]
    assert completed("SELECT * FROM orders o WHERE o.am") == ["amount"]
    assert completed('SELECT * FROM orders WHERE "P') == ['"Paid on"']
    assert completed("SELECT * FROM sales.") == ["LARGE"]
    assert completed("USE ROLE rea") == ["reader"]
    assert "amount" in completed("SELECT id FROM sales.large WHERE am")
    assert completed("SELECT ARRAY_AG") == ["ARRAY_AGG("]
    assert completed("SELEC") == ["SELECT"]
    assert completed("SELECT 'ord") == []
    assert completed("SELECT 1 -- ord") == []


def test_a_session_at_the_prompt(shop: Path, tmp_path: Path) -> None:
    script = tmp_path / "more.sql"
    script.write_text("SELECT 'from a file' AS source;", encoding="utf-8")
    with Terminal("sql", "--data", str(shop), "--role", "sysadmin", home=tmp_path) as terminal:
        terminal.see(r"SYSADMIN#COMPUTE_WH@SNOWMELT\.PUBLIC>")
        terminal.type("USE ROLE accountadmin;\r")
        terminal.see(r"1 row in [\d.]+ s")
        terminal.see(r"ACCOUNTADMIN#COMPUTE_WH@SNOWMELT\.PUBLIC>")
        terminal.type("BEGIN\r LET x := 40;\r RETURN x + 2;\rEND;\r")
        terminal.see(r"\b42\b")
        terminal.type("SELECT * FROM missing;\r")
        terminal.see("002003")
        terminal.type("SELECT id,\r nothing_here FROM orders;\r")
        terminal.see(r"\n nothing_here FROM orders;\s*\n \^\s*\n")
        terminal.see("invalid identifier")
        terminal.type("SELECT id, amount FROM orders ORDER BY id;\r")
        terminal.see(r"ID +AMOUNT[\s\S]*2 +3[\s\S]*2 rows in")
        terminal.type("!vertical\r")
        terminal.see("format=vertical")
        terminal.type("SELECT id, amount FROM orders ORDER BY id;\r")
        terminal.see(r"row 2\s+ID +2\s+AMOUNT +3")
        terminal.type("!vertical\r")
        terminal.see("format=table")
        # Three columns say something, and need no pager.
        terminal.type("!describe orders\r")
        terminal.see(r"name +type +null\?\s[\s\S]*Paid on +DATE +Y\s[\s\S]*3 rows in")
        terminal.type("!set rows=1\r")
        terminal.see("rows=1 ")
        terminal.type("SELECT id FROM orders ORDER BY id;\r")
        terminal.see("1 more row")
        terminal.type("!set rows=all\r")
        terminal.see("rows=all")
        terminal.type(f"!source {script}\r")
        terminal.see("from a file")
        terminal.type("SELECT 'first' AS a; SELECT * FROM missing; SELECT 'third' AS b;\r")
        terminal.see(r"first[\s\S]*Statement 2 of 3 failed; the 1 behind it did not run\.[\s\S]*002003")
        terminal.type("!nothing\r")
        terminal.see("no command nothing")
        terminal.type("CREATE USER ann PASSWORD = 'not for the file';\r")
        terminal.see("successfully created")
        terminal.type("exit\r")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.text
    kept = tmp_path / "snowmelt" / "history"
    assert kept.stat().st_mode & 0o077 == 0
    text = kept.read_text(encoding="utf-8")
    assert "RETURN x + 2;" in text and "not for the file" not in text


def test_ctrl_c_stops_the_statement_and_stays(shop: Path, tmp_path: Path) -> None:
    with Terminal("sql", "--data", str(shop), home=tmp_path) as terminal:
        terminal.see("PUBLIC>")
        terminal.type("SELECT 1 +\x03")
        terminal.see("PUBLIC>")
        terminal.type("CALL SYSTEM$WAIT(1000);\r")
        terminal.see(r"running · \d+ s")
        terminal.type("\x03")
        terminal.see("statement was stopped")
        terminal.see("PUBLIC>")
        terminal.type("SELECT 'one' AS a; CALL SYSTEM$WAIT(1000); SELECT 'never' AS b;\r")
        terminal.see(r"1 row in[\s\S]*running · \d+ s")
        terminal.type("\x03")
        terminal.see(r"Statement 2 of 3 was interrupted; the 1 behind it did not run\.\s+The statement was stopped")
        terminal.see("PUBLIC>")
        terminal.type("SELECT 40 + 2 AS n;\r")
        terminal.see(r"\b42\b")
        terminal.see("PUBLIC>")
        terminal.type("\x04")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.text


def test_ctrl_c_ends_a_script_without_a_traceback(shop: Path, tmp_path: Path) -> None:
    with Terminal("sql", "--data", str(shop), "-q", "CALL SYSTEM$WAIT(1000)", home=tmp_path) as terminal:
        terminal.see(r"statement 1 of 1 · \d+ s")
        terminal.type("\x03")
        assert terminal.ended() == 130
        assert "Traceback" not in terminal.text


def test_names_are_asked_in_a_session_of_their_own(shop: Path) -> None:
    opened = OpenedSession(shop, None, Settings())
    with opened as session:
        session.execute("SELECT 1 AS a")
        other = opened.another()
        other.execute("SHOW OBJECTS IN ACCOUNT")
        other.close()
        assert session.execute("SELECT * FROM TABLE(RESULT_SCAN(LAST_QUERY_ID()))").rows() == [(1,)]
