"""The files of a design."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.design.antipatterns.model import LintFinding
from snowmelt.design.model import Design
from snowmelt.design.output.blocks import to_html, to_markdown
from snowmelt.design.output.dbt import dbt_files
from snowmelt.design.output.diagram import picture
from snowmelt.design.output.document import document
from snowmelt.design.requirements.model import Recipe, Requirements
from snowmelt.design.requirements.reading import to_yaml
from snowmelt.govern.lineage.pictures import mermaid, svg


def written(given: Requirements, design: Design, findings: Sequence[LintFinding]) -> dict[str, str]:
    """The files by path: the final requirements, the design for the builder, and the document for people."""
    blocks = document(design, findings)
    drawn = picture(design)
    models = dbt_files(design) if design.recipe is Recipe.DBT else {}
    return models | {
        "requirements.yaml": to_yaml(given),
        "design.yaml": to_yaml(design),
        "design.md": to_markdown(blocks),
        "design.html": to_html(f"Design: {design.name}", blocks),
        "design.mmd": mermaid(drawn),
        "design.svg": svg(drawn),
    }
