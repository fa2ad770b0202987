"""What is computed here is what Spark computes: random expressions, both ways, value and type."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from snowmelt.core import types
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.scripting.frames import Frame, Slot, variables_of
from snowmelt.runtime import folding
from snowmelt.runtime.session import Session
from snowmelt.runtime.variables import Variable
from snowmelt.sql.dialect import parse_snowflake

VARIABLES = {
    "I": Slot(types.INTEGER, 7),
    "N": Slot(types.number(10, 2), Decimal("-3.25")),
    "W": Slot(types.number(), 12345678901234567890),
    "C": Slot(types.int64(9), 3),
    "F": Slot(types.FLOAT, 1.5),
    "S": Slot(types.varchar(10), "äb"),
    "B": Slot(types.BOOLEAN, True),
    "U": Slot(types.INTEGER, None),
}
NUMBERS = (
    ":I", ":N", ":W", ":C", ":F", ":U", "0", "1", "7", "2.5", "0.001", "999999999", "(-4)", "NULL::NUMBER(5,1)",
)  # fmt: skip
BATCH = 120


class Expressions:
    """Random expressions, each of a kind that somebody could write in a loop."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(
                [
                    ":I",
                    ":N",
                    ":W",
                    ":C",
                    ":F",
                    ":U",
                    "0",
                    "1",
                    "7",
                    "2.5",
                    "0.001",
                    "999999999",
                    "(-4)",
                    "NULL::NUMBER(5,1)",
                ]
            )
        left, right = self.number(depth - 1), self.number(depth - 1)
        operator = self.random.choice(["+", "-", "*", "/", "%", "+", "-"])
        return self.random.choice([f"({left} {operator} {right})", f"(-({left}))", f"({left})::NUMBER(20,3)"])

    def text(self, depth: int) -> str:
        if depth == 0:
            return self.random.choice([":S", "'x'", "'it''s'", "''", ":I", ":N", ":B", "(1 = 1)"])
        return f"({self.text(depth - 1)} || {self.text(depth - 1)})"

    def truth(self, depth: int) -> str:
        if depth == 0:
            comparison = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
            kind = self.random.choice([self.number, self.text])
            if kind == self.text:
                return f"('a' || {self.text(1)} {comparison} 'a' || {self.text(1)})"
            compared = f"({self.number(1)} {comparison} {self.number(1)})"
            return self.random.choice([compared, ":B", f"({self.number(1)} IS NULL)"])
        left, right = self.truth(depth - 1), self.truth(depth - 1)
        return self.random.choice([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})"])

    def any(self) -> str:
        depth = self.random.randint(0, 3)
        return self.random.choice([self.number, self.number, self.text, self.truth])(depth)


@pytest.mark.parametrize("seed", range(3))
def test_folding_is_what_spark_does(session: Session, seed: int) -> None:
    frame = Frame()
    frame.scope.names.update(VARIABLES)
    source = Expressions(seed)
    texts: list[str] = []
    folded: list[Variable] = []
    unknown = 0
    while len(texts) < BATCH:
        text = source.any()
        try:
            found = folding.compute(parse_snowflake(text), frame.local)
        except SnowmeltError as error:
            assert error.code in ("100051", "100046"), (text, error)
            continue
        if isinstance(found, Variable):
            texts.append(text)
            folded.append(found)
        else:
            unknown += 1
    assert unknown < BATCH, "most of these must be understood"
    columns = ", ".join(f"{text} AS C{index}" for index, text in enumerate(texts))
    with variables_of(session, frame):
        result = session.execute(f"SELECT {columns} FROM VALUES (1)")
    row = result.rows()[0]
    for text, found, column, value in zip(texts, folded, result.columns, row, strict=True):
        assert (found.value, found.type) == (value, column.type), text


def test_errors_count_only_where_the_value_is_needed() -> None:
    def compute(text: str) -> object:
        found = folding.compute(parse_snowflake(text), lambda name: None)
        return found.value if isinstance(found, Variable) else found

    assert compute("1 / 0 = 1 AND FALSE") is False
    assert compute("TRUE OR 1 / 0 = 1") is True
    assert compute("NOT (FALSE AND 1 % 0 = 1)") is True
    for text in ("1 / 0", "NULL OR 1 / 0 = 1", "1 / 0 = 1 OR FALSE", "'a' || 1 / 0", "-(1 / 0)", "(1 / 0) IS NULL"):
        with pytest.raises(SnowmeltError, match="Division by zero"):
            compute(text)
