"""What translation adds to a statement: parse, bind and emit, with no Spark in the process' way."""

from __future__ import annotations

from functools import partial

from benchmarks.measuring import Aim, Outcome, alone, quantile
from benchmarks.tpch.queries import query_names, query_text
from benchmarks.tpch.tables import TABLES, create_table
from benchmarks.typical import TABLES as TYPICAL_TABLES
from benchmarks.typical import statements
from benchmarks.workbench import Workbench
from snowmelt.runtime.run import Run
from snowmelt.runtime.session import Session
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql.dialect import to_spark_sql
from snowmelt.sql.output import presented
from snowmelt.sql.statements.base import Query
from snowmelt.sql.statements.dml import InsertStatement
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import SqlText, split_statements

_AIM_MS = 20
_WARMUP = 2


def run(bench: Workbench) -> Outcome:
    account = bench.account_without_spark("translation")
    session = account.session()
    for name in TABLES:
        session.execute(create_table(name))
    for statement in split_statements(TYPICAL_TABLES):
        session.execute(statement)
    texts = {name: query_text(name, 1.0) for name in query_names()} | statements()
    measures = [
        alone(name, partial(_translated, session, text), rounds=bench.rounds(15), warmup=_WARMUP, step=bench.step)
        for name, text in texts.items()
    ]
    medians = [measure.snowmelt.median for measure in measures]
    largest = max(measures, key=lambda measure: measure.snowmelt.median)
    aims = (
        Aim(f"p50 over all statements under {_AIM_MS} ms", f"{quantile(medians, 0.5):.1f} ms",
            quantile(medians, 0.5) < _AIM_MS),
        Aim(f"each statement's median under {_AIM_MS} ms", f"at most {max(medians):.1f} ms ({largest.name})",
            max(medians) < _AIM_MS),
        Aim("Spark not started", "started" if account.engine.started.is_set() else "not started",
            not account.engine.started.is_set()),
    )  # fmt: skip
    return Outcome(tuple(measures), aims)


def _translated(session: Session, text: str, _: int) -> str:
    """The Spark SQL that the statement becomes."""
    run = Run(session, SqlText(text))
    statement = parse_statement(run.sql)
    if isinstance(statement, Query):
        return to_spark_sql(presented(run.bind_query(statement.text)))
    assert isinstance(statement, InsertStatement)
    writer = RowWriter(run, run.find_table(statement.target))
    with run.environment() as environment:
        bound = run.bind_query(statement.source)
        names = statement.columns or tuple(column.name for column in writer.definition.columns)
        return to_spark_sql(writer.matched(environment, bound, names))
