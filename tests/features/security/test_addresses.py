"""Every way to name or change an address asks for the right that creating one asks for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import pytest

from snowmelt.runtime.account import Account
from snowmelt.runtime.rights.requests import requests
from snowmelt.sql.statements.options import Options, Outside
from snowmelt.sql.statements.outside import marks
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText
from tests.features.security.places import Place
from tests.support.statement_modules import statement_modules

_SOUNDS_LIKE_ONE = re.compile(
    r"(^|_)(url|uri|host|port|server|servers|endpoint|address|file|path|env|broker|ssl|secret|integration|location|"
    r"recipients|webhook|bucket|imports|catalog|volume)(_|$)"
)
_ARE_NONE = {
    "StageOptions.file_format": "how files are read, not where",
    "CopyOptions.file_format": "how files are read, not where",
    "UnloadOptions.file_format": "how files are written, not where",
    "UnloadOptions.max_file_size": "a size",
    "ConnectorOptions.server_id": "what the connector calls itself",
    "RoutineOptions.imports": "refused by the handler",
    "RoutineOptions.external_access_integrations": "refused by the handler",
}
"""Names that sound like addresses and are none, or that no statement can use."""

STATEMENTS = {
    "CREATE STAGE s URL = 's3://b/'",
    "CREATE OR REPLACE TEMPORARY STAGE s URL = 'file:///x/' COMMENT = 'c'",
    "ALTER STAGE s SET URL = 's3://b/'",
    "ALTER STAGE IF EXISTS s SET COMMENT = 'c' URL = 's3://b/'",
    "COPY INTO t FROM 's3://b/x'",
    "COPY INTO 's3://b/x' FROM t",
    "CREATE CONTRACT c FROM 'file:///x.yaml'",
    "ALTER CONTRACT c ADD VERSION FROM 'https://x/y.yaml'",
    "CREATE CONNECTOR c TYPE = POSTGRES HOST = 'h' DATABASE = 'd' USER = 'u' TABLES = ('t')",
    *(
        f"ALTER CONNECTOR c SET {change}"
        for change in (
            "HOST = 'h'", "PORT = 1", "SSL_MODE = DISABLE", "SECRET_FILE = '/x'", "PASSWORD_ENV = 'X'",
            "BOOTSTRAP_SERVERS = 'h:1'", "KAFKA_PROPERTIES_FILE = '/x'",
        )
    ),
}  # fmt: skip


def _option_classes() -> Iterator[type[Any]]:
    for found in statement_modules():
        for item in vars(found).values():
            if isinstance(item, type) and issubclass(item, Options) and item.__module__ == found.__name__:
                yield item


def test_an_option_that_sounds_like_an_address_is_one_or_says_why_not() -> None:
    for model in set(_option_classes()):
        marked = marks(model)
        for field in dataclasses.fields(model):
            name = f"{model.__name__}.{field.name}"
            if _SOUNDS_LIKE_ONE.search(field.name) and name not in _ARE_NONE:
                # Options that a reader always refuses can't be used.
                refused = "_integration" in str(field.type) or "_credentials" in str(field.type)
                assert field.name in marked or refused, f"{name}: mark it with Outside, or say why it is no address"


@pytest.mark.parametrize("sql", sorted(STATEMENTS))
def test_a_statement_with_an_address_asks_for_the_right(sql: str) -> None:
    assert "ADDRESS" in {request.rule for request in requests(parse_statement(SqlText(sql)))}


def test_every_marked_option_is_tried() -> None:
    tried = " ".join(STATEMENTS).upper()
    for model in set(_option_classes()):
        for name, kind in marks(model).items():
            assert isinstance(kind, Outside)
            assert f"{name.upper()} =" in tried, f"{model.__name__}.{name} has no case"


def test_an_owner_without_the_right_changes_no_address(account: Account) -> None:
    place = Place(account, 950, ("xs", "cn", "sg"))
    try:
        for kind, name in (("STAGE", "XS"), ("CONNECTOR", "CN"), ("STAGE", "SG")):
            place.grant("OWNERSHIP", f"{kind} {name}")
        for sql in (
            "ALTER STAGE xs SET URL = 'file:///etc/'", "ALTER STAGE xs SET COMMENT = 'x' URL = 'file:///etc/'",
            "ALTER STAGE sg SET URL = 'file:///etc/'", "CREATE OR REPLACE STAGE xs URL = 'file:///etc/'",
            "ALTER CONNECTOR cn SET HOST = 'evil'", "ALTER CONNECTOR cn SET PASSWORD_ENV = 'PATH'",
        ):  # fmt: skip
            assert place.outcome(sql) == "003001", sql
        assert place.outcome("ALTER STAGE xs SET COMMENT = 'mine'") is None
        shown = place.admin.execute("SHOW STAGES LIKE 'XS'").rows()
        assert "file:///nowhere/" in shown[0]
    finally:
        place.close()
