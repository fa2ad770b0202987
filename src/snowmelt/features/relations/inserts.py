"""INSERT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snowmelt.runtime.default_cells import with_defaults
from snowmelt.runtime.literal_rows import literal_rows
from snowmelt.runtime.results import Result, counts
from snowmelt.runtime.writing import RowWriter
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.queries import QueryBinder
from snowmelt.sql.statements.dml import InsertStatement

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


def insert(run: Run, statement: InsertStatement) -> Result:
    table = run.target_table(statement.target)
    writer = RowWriter(run, table)
    tree = parse_snowflake(statement.source.text, line=statement.source.line, column=statement.source.column)
    tree = with_defaults(run, table, tree, statement.columns)
    ready = literal_rows(run, table, tree, statement.columns)
    if ready is not None:
        result = writer.write_arrow(ready, overwrite=statement.overwrite)
    else:
        with run.environment() as environment:
            query = QueryBinder(environment).bind(tree)
            result = writer.insert(environment, query, statement.columns, overwrite=statement.overwrite)
    return counts("INSERT", number_of_rows_inserted=result.rows_inserted)
