"""Arithmetic on random NUMBERs equals Python's exact decimals, rounded half away from zero."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from snowmelt.core.types import DataType, int64, number
from snowmelt.runtime.account import Account
from snowmelt.sql import arithmetic
from snowmelt.sql.dialect import spark, to_spark_sql

EXACT = Context(prec=120, rounding=ROUND_HALF_UP)
CASES_PER_QUERY = 40
QUOTIENT_DIGITS = 14
"""Digits before the point that every quotient may have, whatever the types."""


class Case(NamedTuple):
    operator: str
    left: Decimal
    left_type: DataType
    right: Decimal
    right_type: DataType

    @property
    def type(self) -> DataType:
        return arithmetic.result_type(self.operator, self.left_type, self.right_type)

    @property
    def expected(self) -> Decimal:
        operation = {
            "+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide, "%": EXACT.remainder,
        }[self.operator]  # fmt: skip
        return operation(self.left, self.right).quantize(Decimal(1).scaleb(-(self.type.scale or 0)), context=EXACT)

    @property
    def is_possible(self) -> bool:
        """Whether there is a result that fits its type."""
        if self.operator in "/%" and self.right == 0:
            return False
        if self.operator == "%" and abs(self.left / self.right) >= Decimal(10) ** 38:
            return False
        if self.type.int64:
            return abs(self.expected) < 2**63
        digits = (self.type.precision or 0) - (self.type.scale or 0)
        if self.operator == "/":
            digits = min(digits, QUOTIENT_DIGITS)
        return abs(self.expected) < Decimal(10) ** digits


@st.composite
def number_types(draw: st.DrawFn) -> DataType:
    if draw(st.booleans()):
        return int64(draw(st.sampled_from([1, 3, 9, 18, 38])))
    precision = draw(st.integers(1, 38))
    return number(precision, draw(st.integers(0, min(precision, 12))))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    values: list[Decimal] = []
    types: list[DataType] = []
    for _ in range(2):
        type_ = draw(number_types())
        precision, scale = arithmetic.decimal_digits(type_)
        most = min(10**precision - 1, 2**63 - 1) if type_.int64 else 10**precision - 1
        values.append(Decimal(draw(st.integers(-most, most))).scaleb(-scale, context=EXACT))
        types.append(type_)
    case = Case(draw(st.sampled_from("+-*/%")), values[0], types[0], values[1], types[1])
    assume(case.is_possible)
    return case


def test_engine_has_the_settings(account: Account) -> None:
    configured = account.engine.session().conf
    assert {key: configured.get(key) for key in arithmetic.SPARK_SETTINGS} == arithmetic.SPARK_SETTINGS


def as_spark(value: Decimal, type_: DataType) -> str:
    return f"CAST('{value:f}' AS {type_.spark})"


@settings(
    # A batch shrinks slowly, and the assertion names the one case that failed.
    max_examples=12, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip
@given(batch=st.lists(cases(), min_size=CASES_PER_QUERY, max_size=CASES_PER_QUERY))
def test_arithmetic_is_exact(account: Account, batch: list[Case]) -> None:
    trees = [
        arithmetic.emit(
            case.operator,
            spark(as_spark(case.left, case.left_type)),
            case.left_type,
            spark(as_spark(case.right, case.right_type)),
            case.right_type,
        )
        for case in batch
    ]
    columns = ", ".join(f"{to_spark_sql(tree)} AS c{index}" for index, tree in enumerate(trees))
    spark_session = account.engine.session().newSession()
    for key, value in arithmetic.SPARK_SETTINGS.items():
        spark_session.conf.set(key, value)
    frame = spark_session.sql(f"SELECT {columns}")
    row = frame.collect()[0]
    for case, value, field in zip(batch, row, frame.schema.fields, strict=True):
        assert Decimal(value) == case.expected, case
        assert field.dataType.simpleString() == case.type.spark.lower().replace(" ", ""), case
