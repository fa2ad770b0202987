"""What a feature brings stands in its folder alone: no table elsewhere names its kinds again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import snowmelt
from snowmelt.accounts import FEATURES
from snowmelt.core.kinds import OWN_TYPES
from snowmelt.features.relations.show import listings
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import KindDescription, all_kinds
from snowmelt.runtime.metadata import layouts
from snowmelt.runtime.rights.privileges import privileges, rules
from snowmelt.sql.statements.kinds import grammar
from snowmelt.state import definitions

_SOURCES = Path(snowmelt.__file__).parent
_ROOMS = _SOURCES / "features"
KINDS = [(feature, kind) for feature in FEATURES for kind in feature.kinds]
_SAID_ELSEWHERE = {
    # A body that the splitter of scripts looks for, and what a query ran for, in its history.
    "ALERT": {
        "sql/tokens.py", "state/model.py", "runtime/running_tasks.py", "features/tasks/context.py",
        "features/tasks/executing.py",
    },
    # What a playbook's step can create, and the word for who moves rows in a lineage.
    "CONNECTOR": {"features/lineage/outside.py", "playbooks/step_parts.py"},
    # Names of classes of results, options of commands, what a playbook's step can create, and the definition itself.
    "CONTRACT": {
        "cli/contracts.py", "govern/data_catalog/searching.py", "features/relations/alter_tables.py",
        "playbooks/step_parts.py", "state/contract_model.py",
    },
    "DATA PRODUCT": {
        "govern/data_catalog/searching.py", "observe/freshness.py", "playbooks/step_parts.py",
        "state/contract_model.py",
    },
    # Also a scope of SHOW PARAMETERS, a body that the splitter of scripts looks for, and the purpose of a query.
    "TASK": {
        "features/lineage/events.py", "features/lineage/recording.py", "features/lineage/tracing.py",
        "playbooks/step_parts.py", "runtime/rights/errors.py", "runtime/running_tasks.py", "sql/statements/show.py",
        "sql/tokens.py", "state/model.py",
    },
    # A clause of AT, of an SCD table and of SHOW; a domain of lineages; the store's word for what shares a namespace.
    "STREAM": {
        "backfill/planning.py", "features/lineage/functions.py", "features/lineage/tracing.py",
        "govern/lineage/graph.py", "govern/lineage/pictures.py", "playbooks/step_parts.py", "runtime/resolver.py",
        "sql/node_arguments.py", "sql/statements/base.py", "sql/statements/heads.py", "sql/statements/scd.py",
        "sql/statements/show.py", "state/model.py",
    },
    # INFORMATION_SCHEMA has views of them, so the state store has their definitions; a stage is also a domain of
    # lineages and a place that tables have.
    "FILE FORMAT": {"playbooks/step_parts.py", "runtime/information_schema/files.py", "state/model.py"},
    "STAGE": {
        "features/lineage/catalog.py", "features/lineage/functions.py", "features/lineage/service.py",
        "features/relations/describe.py", "features/streams/statements.py", "govern/lineage/graph.py",
        "govern/lineage/pictures.py", "playbooks/step_parts.py", "runtime/information_schema/files.py",
        "runtime/metadata/information_schema.py", "sql/statements/describe.py", "sql/no_relations.py", "state/model.py",
    },
    # Clauses of other statements: `CREATE TABLE … WITH TAG (…)`, `COPY TAGS`.
    "TAG": {f"sql/statements/{name}.py" for name in ("changes", "columns", "dynamic_tables", "heads", "tables")},
}  # fmt: skip
"""Where the word of a kind means something else, in no table of kinds."""


def _room(feature: Feature) -> Path:
    return _ROOMS / feature.name


def _strings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _places(words: set[str], room: Path) -> set[str]:
    return {
        path.relative_to(_SOURCES).as_posix()
        for path in _SOURCES.rglob("*.py")
        if not path.is_relative_to(room) and words & set(_strings(path))
    }


@pytest.mark.parametrize(("feature", "kind"), KINDS, ids=[kind.name for _, kind in KINDS])
def test_no_other_module_names_the_kind(feature: Feature, kind: KindDescription) -> None:
    word = kind.name.value
    words = {word, f"{word}S", word.replace(" ", "_"), f"CREATE {word}", f"ALTER {word}", f"CREATE_{word}", kind.noun}
    assert _places(words, _room(feature)) == _SAID_ELSEWHERE.get(word, set())


def test_every_folder_is_a_feature() -> None:
    folders = {path.parent for path in _ROOMS.glob("*/__init__.py")}
    assert folders == {_room(feature) for feature in FEATURES}


def _imported(folder: Path) -> Iterator[str]:
    """The features that a feature's modules import, those for types included."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("snowmelt.features."):
                yield str(node.module).split(".")[2]


def test_a_feature_imports_another_only_where_the_map_says_so() -> None:
    page = (_SOURCES.parents[1] / "docs/code-map.md").read_text(encoding="utf-8")
    rows = page.split("| feature | imports |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    cells = (row.strip("| ").split(" | ") for row in rows)
    said = {name: set() if others == "-" else set(others.split(", ")) for name, others in cells}
    found = {
        feature.name.replace("_", " "): {name.replace("_", " ") for name in _imported(_room(feature))}
        for feature in FEATURES
    }
    assert {name: others - {name} for name, others in found.items()} == said


def test_tables_are_what_the_descriptions_say() -> None:
    described = all_kinds().descriptions
    assert {kind.name for kind in described}.isdisjoint(OWN_TYPES)
    for kind in described:
        assert grammar().create[kind.name] is kind.syntax.create
        assert all(FEATURES.handlers[statement] is kind.handlers[statement] for statement in kind.handlers)
        assert set(kind.handlers) == set(kind.syntax.statements) == set(kind.requests)
        assert kind.name in definitions.kinds()
        assert listings()[kind.syntax.plural] is kind.listing
        assert kind.syntax.plural not in layouts.SHOW
        assert privileges()[kind.name] == kind.privileges
        assert f"CREATE {kind.name}" in privileges()["SCHEMA"]
        assert f"CREATE {kind.name}" in rules()
        assert kind.syntax.is_described == (kind.describe is not None)
