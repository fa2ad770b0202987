"""What SHOW GRANTS ON asks about, with a kind and without one, whether or not the name is quoted."""

from __future__ import annotations

import pytest

from snowmelt.features.security.grant_statements import parse_question
from snowmelt.sql.tokens import split_statements


@pytest.mark.parametrize("kind", ["TABLE", "VIEW", "DYNAMIC TABLE", "STREAM", ""])
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("t", ("T",)),
        ('"t u"', ("t u",)),
        ("s.t", ("S", "T")),
        ('"D"."s"."t"', ("D", "s", "t")),
        ('d."s".t', ("D", "s", "T")),
    ],
)
def test_a_kind_and_a_name(kind: str, name: str, parts: tuple[str, ...]) -> None:
    (text,) = split_statements(f"ON {kind} {name}")
    question = parse_question(text)
    assert question.kind == (kind or "TABLE") and question.name is not None and question.name.parts == parts
