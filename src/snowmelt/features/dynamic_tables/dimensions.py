"""CREATE SCD TABLE: the query of the dynamic table is made from the columns that the events have now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from snowmelt.core.names import ObjectName
from snowmelt.features.dynamic_tables.landing import EventLanding
from snowmelt.sql import scd
from snowmelt.sql.scd import Dimension, EventColumn, ScdEvents
from snowmelt.sql.statements.base import NameRef
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.tokens import SqlText
from snowmelt.state.model import CatalogObject

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@contextmanager
def expanded(
    run: Run, name: ObjectName, found: CatalogObject | None, statement: CreateDynamicTable, dimension: Dimension
) -> Iterator[CreateDynamicTable]:
    """The statement with the query that it stands for, in the session's warehouse unless it names one.

    What a dimension from a stream needs beside it is made around the creation, and is gone again when that fails.
    """
    options = statement.options
    if options.warehouse is None and run.session.warehouse is not None:
        options = replace(options, warehouse=NameRef((run.session.warehouse,)))
    if dimension.stream is None:
        yield replace(statement, query=_query(run, dimension, dimension.source), options=options)
        return
    landing = EventLanding(run, name, dimension, found)
    landing.check()
    try:
        landing.create(options.warehouse)
        query = _query(run, *landing.events())
        yield replace(statement, query=query, options=options, dimension=landing.dimension)
    except BaseException:
        if landing.is_new:
            landing.remove()
        else:
            landing.start()
        raise
    landing.start()


def _query(run: Run, dimension: Dimension, source: str) -> SqlText:
    return SqlText(scd.query_of(events_of(run, dimension, source)))


def events_of(run: Run, dimension: Dimension, source: str) -> ScdEvents:
    """The events as a query of the session would see them."""
    probe = run.bind_query(SqlText(scd.probe_of(dimension, source)))
    return scd.events_of(dimension, source, [EventColumn(column.name, column.type) for column in probe.columns])
