"""The conversation: from a sentence to a project, one question at a time, in plain words."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from snowmelt.cli.main import app
from snowmelt.core.config import LanguageModelSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.design.conversation.filling import begin
from snowmelt.design.conversation.language_model import read_by_model
from snowmelt.design.conversation.state import Conversation, NotUnderstoodError
from snowmelt.design.conversation.summary import summary
from snowmelt.design.conversation.talking import TOPICS, next_question, open_questions, reply
from snowmelt.design.conversation.vocabulary import vocabulary
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.requirements.reading import parse

SENTENCE = (
    "Move orders and customers from our shop's PostgreSQL to a revenue table, fresh within five minutes; "
    "emails must not be readable"
)
ANSWERS = {
    "columns:shop.public.orders": "id, customer_id, amount, status, updated_at",
    "columns:shop.public.customers": "id number, email, country, updated_at timestamp",
    "key:shop.public.orders": "", "key:shop.public.customers": "id", "changes:shop.public.orders": "updated_at",
    "changes:shop.public.customers": "as proposed", "deletes:shop": "no, never", "lateness": "never",
    "output:revenue": "sum of amount by country", "volume": "about a million rows",
    "quality": "amount is never negative; status is one of open, paid; email is never empty",
    "technology": "Airflow", "importance": "quite important", "owner": "sales", "told": "mail ops@example.com please",
    "ask:ASK-PII": "J. Doe, data protection, for the shop's reports",
}  # fmt: skip


def talk(state: Conversation, answers: dict[str, str]) -> Conversation:
    """Until nothing is open; each question is one that there is an answer to."""
    left = dict(answers)
    while (asked := next_question(state)) is not None:
        assert asked.topic in left, f"{asked.topic}: {asked.text}"
        state = reply(state, left.pop(asked.topic))
        # Whoever talks may keep the state as JSON between two answers.
        assert Conversation.model_validate_json(state.model_dump_json()) == state
    assert not left, f"never asked: {left}"
    return state


def test_from_a_sentence_to_a_design_in_plain_words() -> None:
    state = talk(begin(SENTENCE), ANSWERS)
    given = state.requirements
    assert given.volume is not None and round(given.volume.events_per_second or 0, 2) == 11.57
    orders, customers = given.sources[0].tables
    assert (orders.key, orders.change_column, orders.deletes) == (("id",), "updated_at", False)
    assert [column.name for column in customers.columns if column.pii] == ["email"]
    assert [column.type for column in orders.columns] == [
        "NUMBER(38,0)", "NUMBER(38,0)", "NUMBER(12,2)", "VARCHAR", "TIMESTAMP_NTZ",
    ]  # fmt: skip
    assert (given.orchestrator, given.availability, given.owner) == ("airflow", "important", "sales")
    found = summary(state)
    assert found.design is not None and len(found.lines) == 10
    stage = found.design.stage("revenue")
    assert stage is not None and "LEFT JOIN stg_customers" in stage.sql and "SUM(t.amount) AS revenue" in stage.sql
    assert {(gate.rule.check, gate.rule.columns) for gate in found.design.quality} >= {
        ("range", ("amount",)), ("accepted_values", ("status",)), ("not_null", ("email",)),
    }  # fmt: skip
    assert reply(state, "yes, please").agreed is True and reply(state, "no").agreed is False


def test_every_topic_of_a_pipeline_is_asked_or_said() -> None:
    assert {topic.name for topic in TOPICS} >= {
        "sources", "tables", "columns", "key", "changes", "deletes", "lateness", "sinks", "output", "freshness",
        "volume",
        "history", "personal data", "personal data is", "quality", "technology", "importance", "owner", "told",
    }  # fmt: skip
    asked = [question.topic for question in open_questions(begin("Hello, can you help me?"))]
    assert asked[0] == "sources" and "freshness" in asked and all(topic.partition(":")[0] for topic in asked)


@pytest.mark.parametrize(
    ("topic", "answer", "field", "value"),
    [
        ("freshness", "real-time", "latency", 30), ("freshness", "an hour is fine", "latency", 3600),
        ("freshness", "once a day", "latency", 86400), ("freshness", "half an hour", "latency", 1800),
        ("importance", "very bad", "availability", "critical"), ("importance", "2", "availability", "important"),
        ("technology", "no", "orchestrator", None), ("technology", "we use dagster", "orchestrator", "dagster"),
        ("owner", "finance team", "owner", "finance team"),
    ],
)  # fmt: skip
def test_plain_answers(topic: str, answer: str, field: str, value: object) -> None:
    state = begin("")
    found = next(item for item in TOPICS if item.name == topic)
    after = state.with_requirements(found.take(state, "", answer))
    assert getattr(after.requirements, field) == value


@pytest.mark.parametrize(
    ("answer", "volume"),
    [
        ("about a million rows", {"events_per_second": 1e6 / 86400}), ("2 GB", {"per_day": 2e9}),
        ("20k events per second", {"events_per_second": 20000}), ("half a million", {"events_per_second": 5e5 / 86400}),
        ("roughly 3 TB per week", {"per_day": 3e12 / 7}), ("50,000 rows an hour", {"events_per_second": 50000 / 3600}),
    ],
)  # fmt: skip
def test_amounts_in_plain_words(answer: str, volume: dict[str, float]) -> None:
    topic = next(item for item in TOPICS if item.name == "volume")
    assert topic.take(begin(""), "", answer)["volume"] == pytest.approx(volume)


def test_what_is_not_understood_says_what_would_be() -> None:
    state = begin("Copy orders from MySQL to the warehouse")
    for wrong in ("!!", "1st column"):
        with pytest.raises(NotUnderstoodError, match="amount decimal"):
            reply(state, wrong)
    state = reply(state, "id, amount, created_at")
    with pytest.raises(NotUnderstoodError, match="there are id, amount, created_at"):
        reply(state, "order_number")
    state = reply(reply(reply(state, "id"), "none"), "no")
    asked = next_question(state)
    assert asked is not None and asked.topic == "output"
    with pytest.raises(NotUnderstoodError, match="No table has a column for 'profit'"):
        reply(state, "sum of profit by day")


def test_no_personal_data_with_a_column_iban_is_questioned() -> None:
    state = begin("Copy accounts from MySQL to the warehouse every hour, no personal data, owned by finance")
    for answer in ("id, iban, updated_at", "id", "updated_at", "no", "never", "nothing", "1 GB", "current",
                   "nothing more", "snowmelt", "standard", "log"):  # fmt: skip
        state = reply(state, answer)
    asked = next_question(state)
    assert asked is not None and asked.topic == "ask:ASK-PII-DOUBT" and "accounts.iban" in asked.text
    marked = reply(state, "yes, it is")
    assert [column.name for column in marked.requirements.sources[0].tables[0].columns if column.pii] == ["iban"]
    following = next_question(marked)
    assert following is not None and following.topic == "personal data is"
    kept = reply(state, "no, these are test accounts")
    assert next_question(kept) is None and summary(kept).design is not None


def test_what_contradicts_itself_is_asked_first() -> None:
    """Neither of the two is taken before somebody says which; the answer can be taken back."""
    state = begin("Real-time orders from MySQL to the warehouse, updated once per day; no history, kept forever")
    assert state.requirements.latency is None and state.requirements.history is None
    assert [asked.topic for asked in open_questions(state)][:2] == ["which:latency", "which:history"]
    with pytest.raises(NotUnderstoodError, match="Real-time; once per day"):
        reply(state, "the blue one")
    for answer, seconds in (("daily", 86_400), ("2", 86_400), ("real-time", 30), ("once per day, please", 86_400)):
        after = reply(state, answer)
        assert after.requirements.latency == seconds and after.requirements.sources[0].tables[0].name == "orders"
    after = reply(after, "forever")
    assert after.requirements.history == "full" and (asked := next_question(after)) is not None
    assert asked.topic == "columns:mysql.orders"
    later = reply(after, "id, amount decimal")
    changed = reply(reply(later, "change which"), "real-time").requirements
    assert changed.latency == 30 and changed.sources == later.requirements.sources
    after = reply(reply(after, "back"), "no history")
    assert (after.requirements.history, after.requirements.latency) == ("none", 86_400)


def test_no_personal_data_under_a_law_of_personal_data_is_questioned() -> None:
    state = begin("No personal data. Read table patients (id, name, ssn) from Postgres hourly; HIPAA, kept for 6 years")
    assert state.requirements.pii is None and state.requirements.compliance == ("hipaa",)
    assert [column.name for column in state.requirements.sources[0].tables[0].columns] == ["id", "name", "ssn"]
    asked = next_question(state)
    assert asked is not None and asked.topic == "which:pii.present" and "HIPAA" in asked.text
    assert reply(state, "HIPAA").requirements.personal and not reply(state, "no").requirements.personal
    assert (asked := next_question(reply(state, "HIPAA"))) is not None and asked.topic == "key:postgres.public.patients"


def test_a_table_of_many_tenants_is_asked_for_their_schemas() -> None:
    state = begin("Each customer has its own schema in our Postgres with a table orders; hourly to the warehouse")
    asked = next_question(state)
    assert asked is not None and asked.topic == "tenants:postgres.orders"
    with pytest.raises(NotUnderstoodError, match="no range of names"):
        reply(state, "t9 to t2")
    (table,) = reply(state, "t_001 to t_400, acme").requirements.sources[0].tables
    assert table.name == "{tenant}.orders" and table.tenants == (*(f"t_{n:03}" for n in range(1, 401)), "acme")
    assert not reply(state, "only one").requirements.sources[0].tables[0].tenants


def test_a_shape_asks_for_what_it_is_made_of() -> None:
    state = begin(
        "Load orders (id, customer_id, amount) and customers (id, country) from MySQL into a star schema, daily, "
        "owned by sales, 2 GB a day, no personal data"
    )
    asked_of = []
    while (asked := next_question(state)) is not None:
        asked_of.append(asked.topic)
        state = reply(state, asked.proposal or "log")
    assert "references:mysql.orders" in asked_of
    assert state.requirements.sources[0].tables[0].references == {"customer_id": "customers"}
    found = summary(state)
    assert found.design is not None and any("dim" in stage.name for stage in found.design.stages), found.problems


def test_another_language_is_named_and_not_half_understood() -> None:
    state = begin("Wir brauchen die Bestellungen aus PostgreSQL jede Stunde in einer Tabelle nach Kunden")
    assert [item for item in state.assumed if item.field == "language" and "German" in item.why]
    assert [(source.kind, source.tables) for source in state.requirements.sources] == [("postgres", ())]
    english = begin("I become every day CSV files in s3://lake/sales/*.csv and want it until 7 in the warehouse")
    assert not any(item.field == "language" for item in english.assumed)
    (source,) = english.requirements.sources
    assert (source.connection, source.tables[0].name) == ("s3://lake/sales", "*.csv")


def test_what_can_not_be_is_asked_again() -> None:
    state = begin(
        "Stream clicks from Kafka into the warehouse within 1 second, 500 events per second, no personal data"
    )
    while (asked := next_question(state)) is not None and "That can't be" not in asked.text:
        state = reply(state, "id, page, at" if asked.topic.startswith("columns") else asked.proposal or "clicks")
    assert asked is not None and asked.topic == "freshness" and "below 2 seconds" in asked.text
    state = reply(state, "10 seconds")
    asked = next_question(state)
    assert asked is not None and asked.topic == "ask:ASK-LATENCY"
    assert "nobody has approved" in summary(reply(state, "no")).problems[0]
    with pytest.raises(NotUnderstoodError, match="a name and a reason"):
        reply(state, "yes")


def test_an_answer_is_taken_back_and_another_changed() -> None:
    state = talk(begin(SENTENCE), ANSWERS)
    earlier = reply(state, "back")
    asked = next_question(earlier)
    assert asked is not None and asked.topic == "ask:ASK-PII"
    changed = reply(state, "change freshness")
    asked = next_question(changed)
    assert asked is not None and asked.topic == "freshness"
    after = reply(changed, "an hour")
    assert after.requirements.latency == 3600 and next_question(after) is None


@pytest.mark.parametrize(("text", "proposal"), [
    ("Load orders.csv (id, customer, amount, changed_at) into a totals table, the average of amount by customer please",
     "average of amount by customer"),
    ("Load orders.csv (id, customer, amount, changed_at) into a table called revenue_by_customer",
     "sum of amount by customer"),
    ("Load orders.csv (id, customer, amount, changed_at) into the warehouse; count of orders per day and customer",
     "count of orders per day and customer"),
    ("Load orders.csv (id, customer, amount, changed_at) into a totals table", "sum of amount by day"),
])  # fmt: skip
def test_what_is_said_to_be_computed_is_proposed(text: str, proposal: str) -> None:
    asked = next(item for item in open_questions(begin(text)) if item.topic.startswith("output"))
    assert asked.proposal == proposal


@pytest.mark.parametrize("text", ["", SENTENCE, "Real-time orders from MySQL, once per day"])
def test_whatever_is_to_be_changed_is_asked_or_told(text: str) -> None:
    state = begin(text)
    for topic in TOPICS:
        try:
            asked = next_question(reply(state, f"change {topic.name}"))
        except NotUnderstoodError as error:
            assert topic.name in str(error)
        else:
            assert asked is not None and asked.topic.partition(":")[0] == topic.name


def test_no_text_breaks_it() -> None:
    """Random words of its own vocabulary, and signs: an answer is taken or not understood, and nothing else happens."""
    chosen = random.Random(7)
    words = [word for phrase in vocabulary().phrases for say in phrase.say for word in say.replace("|", " ").split()]
    words += (
        [word for store in vocabulary().stores.values() for word in store.say] + list("!?.,;:'\"()%&") + ["5", "10k"]
    )
    for _ in range(150):
        state = begin(" ".join(chosen.choices(words, k=chosen.randint(0, 25))))
        for _ in range(6):
            asked = next_question(state)
            if asked is None:
                break
            text = " ".join(chosen.choices(words, k=chosen.randint(1, 6)))
            try:
                state = reply(state, asked.proposal or text if chosen.random() < 0.5 else text)
            except NotUnderstoodError as error:
                assert str(error)


# -- the terminal -----------------------------------------------------------------------------------------------------


def design(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["design", *arguments], input=stdin)


def test_the_terminal_builds_what_was_agreed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = design(SENTENCE, "--interactive", stdin="\n".join([*ANSWERS.values(), "y"]) + "\n")
    assert result.exit_code == 0, result.output
    assert 'latency: 5 minutes  (from "fresh within five minutes")' in result.stdout
    assert "sinks: snowmelt  (a table is asked for, and no other sink is named)" in result.stdout
    assert "Shall I build it?" in result.stdout
    assert (tmp_path / "revenue" / "sql" / "transformations" / "301_revenue.sql").is_file()
    again = design("-f", "design/requirements.yaml", "-o", "again", "--non-interactive")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again/design.yaml").read_text("utf-8") == (tmp_path / "design/design.yaml").read_text("utf-8")


def test_without_a_terminal_it_proposes_a_file_and_says_what_is_open(tmp_path: Path) -> None:
    result = design(SENTENCE, "--non-interactive", "-o", str(tmp_path / "out"))
    assert result.exit_code == 4
    for topic in ("columns:shop.public.orders", "volume", "told", "owner"):
        assert f"open: {topic}: " in result.stderr
    given = parse((tmp_path / "out/requirements.yaml").read_text("utf-8"), Requirements, "requirements.yaml")
    assert given.latency == 300 and given.pii is not None and given.pii.strategy == "hash"


def test_what_was_answered_is_kept_when_it_is_cut_off(tmp_path: Path) -> None:
    result = design(SENTENCE, "--interactive", "-o", str(tmp_path), stdin="id, amount\nid, email\n")
    assert result.exit_code != 0
    kept = yaml.safe_load((tmp_path / "requirements.yaml").read_text("utf-8"))
    assert [table.get("columns") is not None for table in kept["sources"][0]["tables"]] == [True, True]


HOURLY = (
    "Every hour, load the orders-*.csv files from the folder incoming, and compute the revenue by customer as a "
    "Parquet export in the folder exports; amount is never negative, e-mail addresses are hashed; tell ops@example.com"
)  # fmt: skip
CSV = "order_id,customer,amount,email,updated_at\n1,ada,10.50,a@x.org,2026-11-01T10:00:00\n"


def test_sources_that_are_looked_at_are_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns, types, keys and change columns come from the files; who may see personal data a person says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "incoming").mkdir()
    (tmp_path / "incoming" / "orders-1.csv").write_text(CSV, encoding="utf-8")
    answers = ["sum of amount by customer", "1 GB", "snowmelt", "standard", "finance", "J. Doe, for the reports", "y"]
    result = design(HOURLY, "--interactive", "--look", stdin="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    assert "Seen: files: orders-*.csv: 5 columns, key order_id, 1 rows, change column updated_at" in result.stdout
    given = parse((tmp_path / "design/requirements.yaml").read_text("utf-8"), Requirements, "requirements.yaml")
    (source,), (sink,) = given.sources, given.sinks
    assert (source.connection, sink.connection) == ("incoming", "exports")
    (table,) = source.tables
    assert (table.key, table.change_column) == (("order_id",), "updated_at")
    assert [column.name for column in table.columns if column.pii] == ["email"]
    assert isinstance(given.quality, tuple) and [rule.table for rule in given.quality] == ["stg_orders"]
    assert given.name == "revenue" and (tmp_path / "revenue" / "Makefile").is_file()


def test_a_source_that_can_not_be_reached_is_told_and_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_URL", raising=False)
    result = design(SENTENCE, "--non-interactive", "--look", "-o", str(tmp_path / "out"))
    assert result.exit_code == 4 and result.stderr.count("SHOP_URL, which should hold the address of shop") == 1
    assert "open: columns:shop.public.orders" in result.stderr
    result = design(SENTENCE, "--interactive", "-o", str(tmp_path / "out"), stdin="look\nid, amount\n")
    assert "`look` asks the sources themselves" in result.stdout and "is not set" in result.stderr


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("Process clicks from Kafka with Flink into a report", "technology", "without Flink"),
        ("Stream clicks from Kafka into Snowflake, and send them to our CRM API", "sinks", "without snowflake"),
        ("Load orders from MySQL and from Oracle into a report", "sources", "without oracle"),
    ],
)
def test_what_is_named_and_not_to_be_had_is_said(text: str, field: str, value: str) -> None:
    state = begin(text)
    assert (field, value) in [(item.field, item.value) for item in state.assumed], state.assumed
    assert "process_clicks" not in str(state.requirements)


def test_nothing_is_asked_twice() -> None:
    topics = [asked.topic for asked in open_questions(begin("Copy orders from MySQL to Parquet files daily"))]
    assert "volume" in topics and "volume.per_day" not in topics
    assert "personal data" in topics and "pii.present" not in topics


def test_a_pattern_of_files_is_a_table_of_a_plain_name() -> None:
    state = begin("Load orders-*.csv from a folder daily into a totals table; amount is never negative")
    assert state.requirements.name == "totals"
    state = reply(state, "order_id, amount decimal")
    assert [rule.table for rule in state.requirements.quality or ()] == ["stg_orders"]


def test_all_proposals_at_once(tmp_path: Path) -> None:
    sentence = "Load orders.csv from a folder into a revenue table daily, 1 GB per day, no personal data"
    result = design(
        sentence, "--accept", "--non-interactive", "-o", str(tmp_path / "out"), "--project", str(tmp_path / "p")
    )
    assert result.exit_code == 4 and "open: columns:files.orders.csv" in result.stderr
    assert not (tmp_path / "p").exists()


# -- a language model -------------------------------------------------------------------------------------------------


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[LanguageModelSettings]:
    """Answers as an OpenAI-compatible server does, with the text that the test gives."""
    content: str = request.param

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert asked["messages"][1]["role"] == "user" and self.path == "/v1/chat/completions"
            body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield LanguageModelSettings(url=f"http://127.0.0.1:{server.server_port}/v1", model="small")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


_TEXT = "Unser Shop läuft auf Postgres, die Auswertung soll jede Stunde stimmen"
_FACTS: Sequence[dict[str, Any]] = (
    {"field": "latency", "value": 3600, "quote": "jede Stunde"},
    {"field": "availability", "value": "critical", "quote": "very critical"},
    {"field": "history", "value": "sometimes", "quote": "Auswertung"},
    {"field": "approvals", "value": {"ASK-PII": "me"}, "quote": "Shop"},
    {"field": "sources", "value": {"kind": "kafka", "name": None, "tables": []}, "quote": "Shop"},
)


@pytest.mark.parametrize("model", [json.dumps({"facts": _FACTS})], indirect=True)
def test_a_language_model_may_not_invent_anything(model: LanguageModelSettings) -> None:
    """Not without a quotation, nothing but facts, no value that does not fit, nothing against our own reading."""
    state = begin(_TEXT, read_by_model(_TEXT, model))
    assert state.requirements.latency == 3600 and state.requirements.availability is None
    assert [source.kind for source in state.requirements.sources] == ["postgres"]
    assert not state.requirements.approvals and state.requirements.history is None


@pytest.mark.parametrize("model", ["I am sorry"], indirect=True)
def test_a_language_model_without_an_answer_is_told(model: LanguageModelSettings) -> None:
    with pytest.raises(SnowmeltError, match="gave no usable answer"):
        read_by_model(_TEXT, model)
