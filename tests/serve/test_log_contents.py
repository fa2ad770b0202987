"""What the server logs while clients fail has no secret and no value of a row in it."""

from __future__ import annotations

import httpx
import structlog
from structlog.testing import capture_logs

from tests.serve.callers import PASSWORD, OwnCaller, Serving, SnowflakeCaller

_SECRET = "hush_zq"
_STATEMENTS = (
    f"CREATE USER u PASSWORD = '{_SECRET}' FOO = 1",
    f"ALTER USER ann SET PASSWORD /* x */ = '{_SECRET}' x",
    f"COPY INTO 's3://b/x' CREDENTIALS = (AWS_KEY_ID = '{_SECRET}' AWS_SECRET_KEY = '{_SECRET}') FROM (SELECT 1)",
    f"CREATE STAGE s URL = 'https://host/x?sig={_SECRET}' FOO = 1",
    f"SELECT '{_SECRET}'::INT",
    f"SELECT PARSE_JSON('{{{_SECRET}'), '{_SECRET}'",
    f"SELECT * FROM {_SECRET}",
    f"CALL nothing('{_SECRET}')",
    f"SELECT '{_SECRET}",
    f"SELECT 😀 {_SECRET}",
    f"SELECT TO_DATE('{_SECRET}'), TO_NUMBER('{_SECRET}')",
)


def test_the_log_has_no_secret(serving: Serving) -> None:
    with capture_logs() as logged:
        structlog.get_logger(__name__).info("the log is looked at")
        callers = (SnowflakeCaller(serving, "admin", PASSWORD="of the first start"), OwnCaller(serving))
        for caller in callers:
            for sql in _STATEMENTS:
                assert isinstance(caller.run(sql), str), sql
        for user in ("ann", "admin", "nobody"):
            assert not SnowflakeCaller(serving, user, PASSWORD=_SECRET).token
        for address in ("/session/v1/login-request", "/api/v1/sessions", "/api/v1/console/session"):
            wrong = {"user": "ann", "password": [_SECRET], "data": {"LOGIN_NAME": 5, "PASSWORD": {"a": _SECRET}}}
            httpx.post(serving.url + address, json=wrong, params={"password": _SECRET})
            httpx.post(serving.url + address, content=f'{{"password": "{_SECRET}", '.encode())
            httpx.post(serving.url + address, headers={"authorization": f"Bearer {_SECRET}"})
    assert logged
    for event in logged:
        shown = repr(event)
        for secret in (
            _SECRET,
            PASSWORD,
            *(caller.headers["authorization"].split("=")[-1].strip('"') for caller in callers),
        ):
            assert secret not in shown, event
