"""A pipe as the catalog has it."""

from __future__ import annotations

from typing import Literal

from snowmelt.core.kinds import ObjectType
from snowmelt.state.model import CatalogObject
from snowmelt.state.record import Definition

PIPE = ObjectType("PIPE")


class PipeDefinition(Definition):
    kind: Literal["PIPE"] = "PIPE"
    copy_text: str
    """The COPY INTO, as written. Names in it are looked up in the pipe's schema."""
    auto_ingest: bool = False
    """Whether the server looks for new files by itself."""
    paused: bool = False


def definition_of(item: CatalogObject) -> PipeDefinition:
    assert isinstance(item.definition, PipeDefinition)
    return item.definition
