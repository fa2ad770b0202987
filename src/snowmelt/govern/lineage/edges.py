"""From flows of columns to the links between datasets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from snowmelt.govern.lineage.flows import Influence, QueryFlow
from snowmelt.govern.lineage.graph import Dataset, LineageLink

Filled = tuple[QueryFlow, Sequence[str]]
"""A query, and the target's column that each of its outputs fills."""
Links = Mapping[Dataset, tuple[LineageLink, ...]]


def links_of(filled: Iterable[Filled], datasets: Mapping[str, Dataset]) -> Links:
    """By source, how its columns reach the target. Sources that `datasets` does not know are left out: results of
    earlier statements and metadata, which are no datasets."""
    found: defaultdict[Dataset, defaultdict[tuple[str, str | None], set[Influence]]]
    found = defaultdict(lambda: defaultdict(set))
    for flow, columns in filled:
        for source in flow.sources & datasets.keys():
            found[datasets[source]]
        for output, target in zip(flow.outputs, columns, strict=False):
            for origin, influences in output.origins.items():
                if origin.source in datasets:
                    found[datasets[origin.source]][origin.column, target] |= influences
        for origin, influences in flow.rows.items():
            if origin.source in datasets:
                found[datasets[origin.source]][origin.column, None] |= influences
    return {dataset: _links(columns) for dataset, columns in sorted(found.items())}


def _links(columns: Mapping[tuple[str, str | None], set[Influence]]) -> tuple[LineageLink, ...]:
    ordered = sorted(columns.items(), key=lambda item: (item[0][1] or "", item[0][0]))
    return tuple(LineageLink(source, target, frozenset(influences)) for (source, target), influences in ordered)


def same_columns(names: Iterable[str]) -> tuple[LineageLink, ...]:
    """Every column as it is."""
    return tuple(LineageLink(name, name, frozenset({Influence.IDENTITY})) for name in names)
