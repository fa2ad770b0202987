"""Checks of a table as a whole: all that must read it in one query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.types import parse_type
from snowmelt.features.quality.looked_at import WrittenTable
from snowmelt.features.quality.runs import fetched
from snowmelt.govern.quality import expressions, verdicts
from snowmelt.govern.quality.verdicts import CheckVerdict
from snowmelt.sql.bound import Bound, FromItem, Scope, SourceColumn
from snowmelt.sql.clauses import MEASURE
from snowmelt.sql.dialect import identifier, parse_snowflake, spark
from snowmelt.sql.expressions import ExpressionBinder
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.columns import column_spec
from snowmelt.sql.statements.cursor import TokenCursor
from snowmelt.sql.tokens import SqlText
from snowmelt.state.quality_model import CheckKind, QualityCheck, QualityResult


class TableChecks:
    """The table checks over one version of a table."""

    def __init__(
        self, written: WrittenTable, checks: Sequence[QualityCheck], rows: int, rows_before: int | None
    ) -> None:
        """`rows_before`: as many there were before the write; None where there is none."""
        self.written = written
        self.run = written.run
        self.checks = tuple(checks)
        self.rows = rows
        self.rows_before = rows_before
        with self.run.state.read() as state:
            table_id = written.table.id
            self._earlier = {
                check.name: state.quality.last(table_id, check.name, check.window or 1) for check in checks
            }

    def verdicts(self, measured: Sequence[float | None] | None = None) -> list[CheckVerdict]:
        """`measured`: the values of `aggregates`, where somebody read the rows already."""
        values = iter(self._measured(self.aggregates()) if measured is None else measured)
        answers = {name: [next(values) for _ in trees] for name, trees in self._together.items()}
        answers |= {check.name: self._measured(self._asked(check)) for check in self.checks if _alone(check)}
        return [self._verdict(check, answers[check.name]) for check in self.checks]

    def aggregates(self) -> list[exp.Expr]:
        """All that one pass over the rows of the table must measure."""
        return [tree for trees in self._together.values() for tree in trees]

    # -- what is read ---------------------------------------------------------------------------------------------

    @cached_property
    def _together(self) -> dict[str, list[exp.Expr]]:
        return {check.name: self._asked(check) for check in self.checks if not _alone(check)}

    def _asked(self, check: QualityCheck) -> list[exp.Expr]:
        if check.kind is CheckKind.DRIFT:
            limits = self._limits(check)
            return self._bound(expressions.counts_upto(check, limits) if limits else expressions.bounds(check))
        tree = expressions.measure(check)
        return self._bound([tree]) if tree is not None else []

    def _baseline(self, check: QualityCheck) -> tuple[float, ...]:
        """The distribution that the check's first result found, which each carries on."""
        return next((item.profile for item in self._earlier[check.name] if item.profile), ())

    def _limits(self, check: QualityCheck) -> tuple[float, ...]:
        return self._baseline(check)[: expressions.BINS - 1]

    def _bound(self, trees: Sequence[exp.Expr]) -> list[exp.Expr]:
        columns = self.written.definition.columns
        source = FromItem(
            alias=None, columns=tuple(SourceColumn(c.name, c.type, exp.column(identifier(c.name))) for c in columns)
        )
        with self.run.environment() as environment:
            binder = ExpressionBinder(environment, Scope(sources=[source]), QueryBinder(environment), MEASURE)
            return [_as_number(binder.bind(tree)) for tree in trees]

    def _measured(self, trees: Sequence[exp.Expr]) -> list[float | None]:
        if not trees:
            return []
        named = [exp.alias_(tree, f"m{index}") for index, tree in enumerate(trees)]
        reference = self.written.view(self.written.after.files, "all")
        found = fetched(self.run, exp.select(*named).from_(exp.Table(this=identifier(reference))))
        return [column[0].as_py() for column in found.columns]

    # -- what it means --------------------------------------------------------------------------------------------

    def _verdict(self, check: QualityCheck, answers: Sequence[float | None]) -> CheckVerdict:
        earlier: list[QualityResult] = self._earlier[check.name]
        match check.kind:
            case CheckKind.ROW_COUNT:
                return verdicts.of_rows_left(check, self.rows, self.rows_before, earlier)
            case CheckKind.VOLUME:
                if self.rows_before is None:
                    return CheckVerdict(check, True)
                return verdicts.of_value(check, float(self.rows - self.rows_before), earlier)
            case CheckKind.SCHEMA:
                return self._schema(check)
            case CheckKind.SQL:
                return verdicts.of_value(check, self._queried(check))
            case CheckKind.DRIFT:
                return self._drift(check, answers)
        return verdicts.of_value(check, answers[0], earlier)

    def _drift(self, check: QualityCheck, answers: Sequence[float | None]) -> CheckVerdict:
        known = [value for value in answers if value is not None]
        if self._limits(check):
            return verdicts.of_distribution(check, self._baseline(check), known)
        if len(known) < len(answers):
            return CheckVerdict(check, True)  # No rows, and so nothing to compare later ones to.
        # Values that are frequent make bins that are not of the same size: how large they are is counted.
        counted = self._measured(self._bound(expressions.counts_upto(check, known)))
        shares = verdicts.shares([value or 0.0 for value in counted])
        return CheckVerdict(check, True, 0.0, profile=(*known, *shares))

    def _queried(self, check: QualityCheck) -> float | None:
        """The one number of a query of the user's own."""
        result = self.run.fetch(self.run.bind_query(SqlText(check.expression or "")))
        rows = result.rows()
        value: Any = rows[0][0] if rows else None
        try:
            return None if value is None else float(value)
        except (TypeError, ValueError):
            raise errors.invalid_value(str(value), check.name) from None

    def _schema(self, check: QualityCheck) -> CheckVerdict:
        """Whether the columns that are listed are there, with these types. Others may be too."""
        present = {column.name: column.type for column in self.written.definition.columns}
        problems: list[str] = []
        for text in check.values:
            name, type_ = declared_column(text)
            wanted = parse_type(type_) if type_ is not None else None
            if name not in present:
                problems.append(f"column {name} is missing")
            elif wanted is not None and present[name].kind is not wanted.kind:
                problems.append(f"column {name} is {present[name]} and not {wanted}")
        return CheckVerdict(check, not problems, float(len(problems)), message="; ".join(problems) or None)


def _alone(check: QualityCheck) -> bool:
    """Distinct values are counted by sorting rows by them, and all other aggregates would have to go along."""
    return check.kind is CheckKind.DUPLICATES


def declared_column(text: str) -> tuple[str, str | None]:
    """The name and type in `'order_id NUMBER(38,0)'`."""
    inner = parse_snowflake(text)
    written = inner.this if isinstance(inner, exp.Literal) else text
    spec = column_spec(TokenCursor(str(written)))
    return spec.name, spec.type.text if spec.type is not None else None


def _as_number(bound: Bound) -> exp.Expr:
    return spark("cast(_0 as double)", bound.tree)
