"""CREATE SCD TABLE: the query of the dynamic table is made from the columns that the events have now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from snowmelt.sql import scd
from snowmelt.sql.scd import Dimension, EventColumn, Events
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.tokens import SqlText

if TYPE_CHECKING:
    from snowmelt.service.run import Run


def expanded(run: Run, statement: CreateDynamicTable, dimension: Dimension) -> CreateDynamicTable:
    """The statement with the query that it stands for, in the session's warehouse unless it names one."""
    options = statement.options
    if options.warehouse is None and run.session.warehouse is not None:
        options = replace(options, warehouse=NameRef((run.session.warehouse,)))
    query = scd.query_of(events_of(run, dimension))
    return replace(statement, query=SqlText(query), options=options)


def events_of(run: Run, dimension: Dimension) -> Events:
    """The events as a query of the session would see them."""
    probe = run.bind_query(SqlText(scd.probe_of(dimension, dimension.source)))
    columns = [EventColumn(column.name, column.type) for column in probe.columns]
    return scd.events_of(dimension, dimension.source, columns)
