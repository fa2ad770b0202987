"""Whether the SQL that somebody wrote fits the tables that the design makes."""

from __future__ import annotations

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.design.antipatterns.library import library
from snowmelt.design.model import Design


def check_sql(design: Design) -> None:
    """Raises for stages that can't be made; those that read tables from elsewhere are left to whoever makes them."""
    catalog = library((stage.name, stage.sql) for stage in design.stages)
    names = {stage.name.lower() for stage in design.stages}
    problems = []
    for item, stage in zip(catalog.items, design.stages, strict=True):
        if stage.layer == "bronze" or not {name.lower() for name in stage.reads} <= names:
            continue
        try:
            text = catalog.full_query(item)
            if text is not None:
                catalog.bind(text)
        except SnowmeltError as error:
            problems.append(f"{stage.name}: {' '.join(error.message.split())}")
    if problems:
        unknown = [table.name for source in design.sources for table in source.tables if not table.columns]
        named = f"Nobody said which columns {', '.join(unknown)} has" if unknown else "Look at the names"
        raise errors.configuration(
            "\n".join(problems),
            hint=f"{named}: give the columns of the source's tables in the requirements, or let --look find them.",
        )
