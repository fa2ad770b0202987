"""Snowflake's SQL REST API: statements by plain HTTP with a token, without a session."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from snowmelt.runtime.rights.credentials import fingerprint, public_key
from tests.serve.api_client import ApiClient
from tests.serve.callers import Serving, until

TABLE = "CREATE OR REPLACE TABLE shop.public.orders (id INT, note VARCHAR, at TIMESTAMP_NTZ(3), open BOOLEAN)"


@pytest.fixture(scope="module")
def token(serving: Serving) -> str:
    admin = serving.admin()
    admin.execute_script(
        "CREATE DATABASE shop; CREATE USER app DEFAULT_ROLE = analyst; GRANT ROLE analyst TO USER app;"
        "GRANT ROLE narrow TO USER app; GRANT ALL ON DATABASE shop TO ROLE analyst;"
        "GRANT ALL ON SCHEMA shop.public TO ROLE analyst; GRANT USAGE ON WAREHOUSE compute_wh TO ROLE analyst"
    )
    return str(admin.execute("ALTER USER app ADD PAT t").rows()[0][1])


@pytest.fixture
def api(serving: Serving, token: str) -> Iterator[ApiClient]:
    client = ApiClient(serving.url, token)
    answer = client.submit(TABLE)
    assert answer.status_code == 200, answer.text
    yield client
    client.http.close()


def test_a_statement_and_its_answer(api: ApiClient) -> None:
    insert = "INSERT INTO orders VALUES (1, 'a', '2026-11-19 10:00:00.123', TRUE), (2, NULL, NULL, FALSE)"
    answer = api.submit(insert, database="SHOP", schema="PUBLIC", warehouse="COMPUTE_WH", role="ANALYST")
    assert answer.json()["stats"] == {"numRowsInserted": 2, "numRowsUpdated": 0, "numRowsDeleted": 0}
    answer = api.submit("SELECT * FROM orders ORDER BY id", database="SHOP", schema="PUBLIC")
    body = answer.json()
    assert (answer.status_code, body["code"], body["sqlState"]) == (200, "090001", "00000")
    assert body["message"] == "Statement executed successfully."
    assert body["data"] == [["1", "a", "1795082400.123000000", "true"], ["2", None, None, "false"]]
    metadata = body["resultSetMetaData"]
    assert (metadata["numRows"], metadata["format"], len(metadata["partitionInfo"])) == (2, "jsonv2", 1)
    assert [column["type"] for column in metadata["rowType"]] == ["fixed", "text", "timestamp_ntz", "boolean"]
    assert body["statementStatusUrl"] == f"/api/v2/statements/{body['statementHandle']}"
    assert f'<{body["statementStatusUrl"]}?partition=0>; rel="last"' in answer.headers["link"]
    again = api.look(body["statementHandle"])
    assert again.json() == body
    assert api.submit("SELECT NULL AS x", "nullable=false").json()["data"] == [["null"]]


def test_a_large_result_comes_in_partitions(api: ApiClient) -> None:
    text = "SELECT SEQ4() AS n, REPEAT('x', 100) || n AS t FROM TABLE(GENERATOR(ROWCOUNT => 9000)) ORDER BY n"
    body = api.submit(text).json()
    count = len(body["resultSetMetaData"]["partitionInfo"])
    assert count > 1 and body["resultSetMetaData"]["numRows"] == 9000
    rows = api.rows_of(body)
    assert rows[0][0] == 0 and rows[-1] == (8999, "x" * 100 + "8999")
    answer = api.look(body["statementHandle"], "partition=1")
    assert answer.headers["content-encoding"] == "gzip"
    for wrong in (str(count), "-1", "x", "9" * 30):
        assert api.look(body["statementHandle"], f"partition={wrong}").status_code == 400


def test_values_are_bound(api: ApiClient) -> None:
    bound = {"1": {"type": "FIXED", "value": "7"}, "2": {"type": "TEXT", "value": "it's"}}
    assert api.rows("SELECT ? + 1 AS a, ? AS b", bindings=bound) == [(8, "it's")]
    assert api.submit("SELECT ?", bindings={"1": {"type": "FIXED", "value": "x"}}).json()["code"] == "002090"


def test_several_statements_and_each_ones_rows(api: ApiClient) -> None:
    text = "BEGIN; INSERT INTO shop.public.orders (id) VALUES (5); COMMIT; SELECT COUNT(*) FROM shop.public.orders"
    body = api.submit(text, parameters={"MULTI_STATEMENT_COUNT": "4"}).json()
    assert body["data"] == [["Multiple statements executed successfully."]]
    assert [api.look(handle).status_code for handle in body["statementHandles"]] == [200] * 4
    assert api.look(body["statementHandles"][3]).json()["data"] == [["1"]]
    assert api.submit(text).json()["code"] == "000008"
    assert api.submit("SELECT 1; SELECT 2", parameters={"multi_statement_count": 0}).status_code == 200


def test_nothing_of_a_request_is_left_for_the_next(api: ApiClient) -> None:
    api.submit("USE SCHEMA shop.public; SET x = 1; BEGIN; SELECT 1", parameters={"MULTI_STATEMENT_COUNT": "0"})
    found = api.rows("SELECT CURRENT_DATABASE(), CURRENT_TRANSACTION()")
    assert found == [(None, None)]
    assert api.submit("SELECT $x").status_code == 422
    # A transaction that nobody ended is rolled back with its request.
    text = "BEGIN; INSERT INTO shop.public.orders (id) VALUES (9)"
    assert api.submit(text, parameters={"MULTI_STATEMENT_COUNT": "2"}).status_code == 200
    assert api.rows("SELECT COUNT(*) FROM shop.public.orders") == [(0,)]
    for alone in ("USE SCHEMA shop.public", "BEGIN", "COMMIT", "SET x = 1", "ALTER SESSION SET TIMEZONE = 'UTC'"):
        answer = api.submit(alone)
        assert (answer.status_code, answer.json()["code"]) == (400, "000002"), alone
    for files in ("PUT file:///etc/passwd @~", "GET @~ file:///tmp/"):
        assert api.submit(files).status_code == 400
    assert api.rows("BEGIN RETURN 5; END") == [(5,)]
    assert api.submit("ALTER TABLE shop.public.orders ADD COLUMN extra INT").status_code == 200


def test_what_fails_says_why(api: ApiClient) -> None:
    answer = api.submit("SELECT missing FROM shop.public.orders")
    body = answer.json()
    assert (answer.status_code, body["code"], body["sqlState"]) == (422, "000904", "42000")
    assert "invalid identifier 'MISSING'" in body["message"]
    assert api.look(body["statementHandle"]).json() == body
    assert api.submit("SELECT 1", database="MISSING").json()["code"] == "002043"
    assert api.submit("SELECT 1", role="ACCOUNTADMIN").status_code == 422
    for fields in ({"timeout": -1}, {"timeout": "x"}, {"timeout": True}):
        assert api.submit("SELECT 1", **fields).json()["code"] == "390189"
    assert api.submit("SELECT 1", "async=perhaps").status_code == 400
    format_ = {"date_output_format": "DD.MM.YYYY"}
    assert "TO_VARCHAR" in api.submit("SELECT 1", parameters=format_).json()["message"]
    assert api.http.post("/api/v2/statements", content=b"{").status_code == 400
    assert api.look("01a2").status_code == 404
    slow = api.submit("CALL SYSTEM$WAIT(200)", timeout=1)
    assert (slow.status_code, slow.json()["code"]) == (408, "000630")


def test_a_statement_goes_on_by_itself_and_can_be_cancelled(api: ApiClient) -> None:
    started = api.submit("CALL SYSTEM$WAIT(300)", "async=true")
    handle = started.json()["statementHandle"]
    assert (started.status_code, started.json()["code"]) == (202, "333334")
    cancelled = api.http.post(f"/api/v2/statements/{handle}/cancel")
    assert (cancelled.status_code, cancelled.json()["message"]) == (200, "successfully canceled")
    until(lambda: api.look(handle).status_code == 422)
    assert api.look(handle).json()["code"] == "000604"
    assert api.http.post(f"/api/v2/statements/{handle}/cancel").status_code == 404


def test_many_at_once_are_all_there_afterwards(api: ApiClient) -> None:
    """More than are remembered: what is forgotten is found by its result, or its error, that is kept."""
    answers = [api.submit(f"SELECT {number} AS n", "async=true").json() for number in range(90)]
    broken = api.submit("SELECT missing_column", "async=true").json()["statementHandle"]
    for _ in range(90):
        api.submit("SELECT 1", "async=true")
    for number, answer in enumerate(answers):
        until(lambda handle=answer["statementHandle"]: api.look(handle).status_code == 200)  # type: ignore[misc]
        assert api.look(answer["statementHandle"]).json()["data"] == [[str(number)]]
    until(lambda: api.look(broken).status_code == 422)


def test_a_request_that_is_sent_again_runs_once(api: ApiClient) -> None:
    query = f"requestId={uuid.uuid4()}"
    first = api.submit("INSERT INTO shop.public.orders (id) VALUES (1)", query).json()
    second = api.submit("INSERT INTO shop.public.orders (id) VALUES (1)", f"{query}&retry=true").json()
    assert first == second
    assert api.rows("SELECT COUNT(*) FROM shop.public.orders") == [(1,)]


def test_a_key_lets_in_as_a_token_does(serving: Serving, api: ApiClient) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kinds = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    public = key.public_key().public_bytes(*kinds).decode()
    serving.admin().execute(f"ALTER USER app SET RSA_PUBLIC_KEY = '{public}'")
    claims = {
        "iss": f"ANY.APP.{fingerprint(public_key(public))}", "sub": "ANY.APP", "iat": datetime.now(UTC),
        "exp": datetime.now(UTC) + timedelta(minutes=30),
    }  # fmt: skip
    signed = [jwt.encode({**claims, "n": number}, key, algorithm="RS256") for number in range(3)]
    before = len(serving.server.door.sessions.all())
    handles = [
        ApiClient(serving.url, one, kind).submit("SELECT CURRENT_USER()").json()["statementHandle"]
        for one, kind in zip(signed, ("KEYPAIR_JWT", None, "KEYPAIR_JWT"), strict=True)
    ]
    # A new token of the same key is no new session, and may have what was asked with the one before.
    assert len(serving.server.door.sessions.all()) == before + 1
    assert ApiClient(serving.url, signed[2], None).look(handles[0]).json()["data"] == [["APP"]]
    # A key that is taken away ends it at once.
    serving.admin().execute("ALTER USER app UNSET RSA_PUBLIC_KEY")
    assert ApiClient(serving.url, signed[0], None).submit("SELECT 1").status_code == 401


def test_nobody_else_gets_in_or_sees_it(serving: Serving, api: ApiClient) -> None:
    handle = api.submit("SELECT 1 AS mine").json()["statementHandle"]
    admin = serving.admin()
    admin.execute("CREATE USER other")
    other = ApiClient(serving.url, str(admin.execute("ALTER USER other ADD PAT t").rows()[0][1]))
    assert other.look(handle).status_code == 404
    assert other.http.post(f"/api/v2/statements/{handle}/cancel").status_code == 404
    for client in (
        ApiClient(serving.url, "x"), ApiClient(serving.url, "a.b.c", None), ApiClient(serving.url, "x", "OAUTH"),
    ):  # fmt: skip
        answer = client.submit("SELECT 1")
        assert answer.status_code == 401 and "statementHandle" not in answer.json()
    del api.http.headers["authorization"]
    assert api.submit("SELECT 1").status_code == 401


def test_rights_that_end_take_the_answers_along(serving: Serving, token: str) -> None:
    api = ApiClient(serving.url, token)
    handle = api.submit("SELECT 1 AS x", role="NARROW").json()["statementHandle"]
    assert api.look(handle).status_code == 200
    serving.admin().execute("REVOKE ROLE narrow FROM USER app")
    assert api.look(handle).status_code == 404
    assert api.submit("SELECT 1", role="NARROW").status_code == 422
