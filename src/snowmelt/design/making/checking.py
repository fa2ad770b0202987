"""Whether what somebody wrote fits what the design makes: SQL, names, and the columns that are spoken of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.design.antipatterns.library import Library, LintedStatement, library
from snowmelt.design.making.clean_tables import named
from snowmelt.design.model import Design, DesignStage


def check_design(design: Design) -> None:
    """Raises for stages that can't be made; those that read tables from elsewhere are left to whoever makes them."""
    names = [stage.name.lower() for stage in design.stages]
    wrong = [
        f"{name} would be made twice: give it another name" for name in sorted(set(names)) if names.count(name) > 1
    ]
    wrong += _unknown_stages(design, {*names, *design.models})
    if wrong:
        raise errors.configuration("\n".join(wrong), hint=f"There are {', '.join(names)}.")
    catalog = library((stage.name, stage.sql) for stage in design.stages)
    stages = list(zip(catalog.items, design.stages, strict=True))
    wrong = [problem for item, stage in stages for problem in _wrong_sql(catalog, item, stage, set(names))]
    if wrong:
        unknown = [table.name for source in design.sources for table in source.tables if not table.columns]
        advice = f"The columns of {', '.join(unknown)} are unknown" if unknown else "Check the names"
        raise errors.configuration(
            "\n".join(wrong),
            hint=f"{advice}: give the columns of the source's tables in the requirements, or let --look find them.",
        )
    columns = {stage.name.lower(): _columns(catalog, item) for item, stage in stages}
    wrong = [*_unknown_columns(design, columns), *_wrong_examples(design, columns)]
    if wrong:
        raise errors.configuration("\n".join(wrong))


def _unknown_stages(design: Design, names: set[str]) -> Iterator[str]:
    for sink in design.sinks:
        for name in sink.reads:
            if name.lower() not in names:
                yield f"sink {sink.name} reads {name}, which the design does not make"
    for gate in design.quality:
        referred = (gate.rule.references or gate.rule.table).partition("(")[0]
        for name in dict.fromkeys((gate.rule.table, referred)):
            if name.lower() not in names:
                yield f"{gate.rule.check} is asked of {name}, which the design does not make"


def _wrong_sql(catalog: Library, item: LintedStatement, stage: DesignStage, names: set[str]) -> Iterator[str]:
    if stage.layer == "bronze" or not {name.lower() for name in stage.reads} <= names:
        return
    try:
        text = catalog.full_query(item)
        if text is not None:
            catalog.bind(text)
    except SnowmeltError as error:
        yield f"{stage.name}: {' '.join(error.message.split())}"


def _columns(catalog: Library, item: LintedStatement) -> Sequence[str] | None:
    """The columns that a statement defines; None if they can't be told."""
    found = catalog.columns_of(item)
    return None if found is None else [named(column.name) for column in found]


def _unknown_columns(design: Design, columns: dict[str, Sequence[str] | None]) -> Iterator[str]:
    """Each once: gates follow from keys."""
    asked = {(stage.name, name): "is its key" for stage in design.stages for name in stage.key}
    for gate in design.quality:
        for name in gate.rule.columns:
            asked.setdefault((gate.rule.table.lower(), name), f"is asked by {gate.rule.check}")
    for (table, name), why in asked.items():
        known = columns.get(table.lower())
        if known is not None and named(name) not in known:
            yield f"{table} has no column {name}, which {why}: there are {', '.join(known)}"


def _wrong_examples(design: Design, columns: dict[str, Sequence[str] | None]) -> Iterator[str]:
    """Of tables that the query does not read, and of columns that are not there."""
    for stage in design.stages:
        for example in stage.examples:
            about = f"the example of {stage.name}, '{example.about}',"
            rows = {stage.name: example.expect, **example.given}
            for name, given in rows.items():
                if name != stage.name and name.lower() not in stage.reads:
                    yield f"{about} gives rows of {name}, which is not read: {', '.join(stage.reads)}"
                    continue
                known = columns.get(name.lower())
                used = dict.fromkeys(column for row in given for column in row)
                unknown = [column for column in used if known is not None and named(column) not in known]
                if unknown:
                    yield f"{about} has a column {', '.join(unknown)} of {name}: there are {', '.join(known or ())}"
