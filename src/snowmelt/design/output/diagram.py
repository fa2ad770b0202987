"""The design as boxes and arrows, drawn by what draws lineage."""

from __future__ import annotations

from snowmelt.design.model import Design, StageKind
from snowmelt.design.requirements.model import SinkKind
from snowmelt.govern.lineage.pictures import Arrow, Picture

_DOMAINS = {
    StageKind.TABLE: "TABLE", StageKind.DYNAMIC_TABLE: "DYNAMIC TABLE", StageKind.SCD_TABLE: "DYNAMIC TABLE",
}  # fmt: skip


def picture(design: Design) -> Picture:
    drawn = Picture()
    for source in design.sources:
        key = f"{source.name} ({source.kind})"
        drawn.add_box(key, "EXTERNAL")
        for table in source.tables:
            drawn.add_box(table.stage, "TABLE")
            drawn.add_arrow(Arrow(key, table.stage, label=source.capture.way))
    for stage in design.stages:
        drawn.add_box(stage.name, _DOMAINS[stage.kind])
    known = {name: table.name for name, table in design.models.items()}
    known |= {stage.name.lower(): stage.name for stage in design.stages}
    for stage in design.stages:
        for name in stage.reads:
            if name.lower() in known:
                drawn.add_arrow(Arrow(known[name.lower()], stage.name, label=stage.target_lag or ""))
    for sink in design.sinks:
        key = f"{sink.name} ({sink.kind})"
        drawn.add_box(key, "TABLE" if sink.kind is SinkKind.SNOWMELT else "EXTERNAL", focus=True)
        for name in sink.reads:
            if name.lower() in known:
                drawn.add_arrow(Arrow(known[name.lower()], key, label=sink.load))
    return drawn
