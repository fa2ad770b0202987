"""Who may do what with the tables of a project: an owner, writers and readers, each a role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from snowmelt.design.making.stages import WAREHOUSE
from snowmelt.design.model import Design, DesignStage, StageKind
from snowmelt.design.requirements.model import SinkKind

KEPT_NAMES = ("dead_letters", "heartbeats", "schema_changes", "reconciliations", "settled_letters")
"""Tables in which runs keep what they see."""


def roles(design: Design) -> tuple[str, str, str]:
    """Owner, writer and reader."""
    name = design.name.lower()
    return f"{name}_owner", f"{name}_writer", f"{name}_reader"


def published(design: Design) -> list[str]:
    """Tables for readers: what sinks here show. Raw tables, dead letters and quarantines are not for them."""
    inside = [sink for sink in design.sinks if sink.kind is SinkKind.SNOWMELT]
    named = {name.lower() for sink in inside for name in sink.reads}
    return [stage.name for stage in design.stages if stage.name.lower() in named]


def grants(design: Design) -> str:
    """The statements. `${DATABASE}` and `${SCHEMA}` are where a run's tables are."""
    about = (
        "-- owner: all tables, and so what changes them. writer: brings rows and refreshes. reader: published tables "
        "alone.\n-- Give people roles: GRANT ROLE {2} TO USER ann;\n"
    ).format(*roles(design))
    return about + "".join(f"{statement};\n" for statement in _statements(design))


def _statements(design: Design) -> Iterator[str]:
    owner, writer, reader = roles(design)
    for role in (owner, writer, reader):
        yield f"CREATE ROLE IF NOT EXISTS {role}"
        yield f"GRANT USAGE ON DATABASE ${{DATABASE}} TO ROLE {role}"
        yield f"GRANT USAGE ON SCHEMA ${{DATABASE}}.${{SCHEMA}} TO ROLE {role}"
        yield f"GRANT USAGE ON WAREHOUSE {WAREHOUSE} TO ROLE {role}"
    yield f"GRANT ROLE {owner} TO ROLE SYSADMIN"
    raw = [stage.name for stage in design.stages if stage.kind is StageKind.TABLE]
    computed = [stage for stage in design.stages if stage.kind is not StageKind.TABLE]
    for name in (*raw, *KEPT_NAMES):
        yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE {name} TO ROLE {writer}"
    for stage in computed:
        yield f"GRANT SELECT, OPERATE ON DYNAMIC TABLE {stage.name} TO ROLE {writer}"
    for name in published(design):
        yield f"GRANT SELECT ON DYNAMIC TABLE {name} TO ROLE {reader}"
    for view in design.views:
        yield f"GRANT SELECT ON VIEW {view.name} TO ROLE {reader}"
    yield from _owned(design, raw, computed, owner)


def _owned(design: Design, raw: Sequence[str], computed: Sequence[DesignStage], owner: str) -> Iterator[str]:
    """Last: who grants must own."""
    kept = {check.table for gate in design.quality for check in gate.checks if check.quarantines}
    quarantines = [f"{stage.name}_quarantine" for stage in computed if stage.name in kept]
    for name in (*raw, *KEPT_NAMES, *quarantines):
        yield f"GRANT OWNERSHIP ON TABLE {name} TO ROLE {owner} COPY CURRENT GRANTS"
    # A table is computed with its owner's rights, which reach no table that others make.
    for stage in computed if not design.models else ():
        yield f"GRANT OWNERSHIP ON DYNAMIC TABLE {stage.name} TO ROLE {owner} COPY CURRENT GRANTS"
    for view in design.views:
        yield f"GRANT OWNERSHIP ON VIEW {view.name} TO ROLE {owner} COPY CURRENT GRANTS"
