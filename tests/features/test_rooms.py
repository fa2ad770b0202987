"""What a feature brings stands in its folder alone: no table elsewhere names its kinds again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from snowmelt.accounts import FEATURES
from snowmelt.core.kinds import OWN_TYPES
from snowmelt.features.relations.show import listings
from snowmelt.runtime.feature import Feature
from snowmelt.runtime.kinds import DescribedKind, all_kinds
from snowmelt.runtime.metadata import layouts
from snowmelt.runtime.rights.privileges import privileges, rules
from snowmelt.sql.statements.kinds import grammar
from snowmelt.state import definitions
from tests.support.sources import SOURCES, nodes, paths, tree

_ROOMS = SOURCES / "features"
KINDS = [(feature, kind) for feature in FEATURES for kind in feature.kinds]
_EVERYDAY = {"USER", "ROLE", "FUNCTION", "PROCEDURE", "DYNAMIC TABLE"}
"""Words that mean much else by themselves: other modules may have them, but not in a table."""
_USAGE = {"runtime/account_usage/layouts.py", "runtime/account_usage/rows.py"}
"""Views of ACCOUNT_USAGE that are called after what they list."""
_SAID_ELSEWHERE: dict[str, set[str]] = {
    # A body that the splitter of scripts looks for, and what a query ran for, in its history.
    "ALERT": {
        "sql/tokens.py", "state/model.py", "runtime/running_tasks.py", "features/tasks/context.py",
        "features/tasks/executing.py",
    },
    # The word for who moves rows in a lineage.
    "CONNECTOR": {"features/lineage/outside.py"},
    # Names of classes of results, and options of commands.
    "CONTRACT": {
        "cli/contracts.py", "govern/data_catalog/searching.py", "features/relations/alter_tables.py",
    },
    "DATA PRODUCT": {"govern/data_catalog/searching.py", "observe/freshness.py"},
    # Also a scope of SHOW PARAMETERS, a body that the splitter of scripts looks for, and the purpose of a query.
    "TASK": {
        "features/lineage/events.py", "features/lineage/recording.py", "features/lineage/tracing.py",
        "runtime/rights/errors.py", "runtime/running_tasks.py", "sql/statements/show.py",
        "sql/tokens.py", "state/model.py",
    },
    # A clause of AT, of an SCD table and of SHOW; a domain of lineages; the store's word for what shares a namespace.
    "STREAM": {
        "backfill/planning.py", "features/lineage/functions.py", "features/lineage/tracing.py",
        "govern/lineage/graph.py", "govern/lineage/pictures.py", "runtime/resolver.py",
        "sql/node_arguments.py", "sql/statements/base.py", "sql/statements/heads.py", "sql/statements/scd.py",
        "sql/statements/show.py", "state/model.py",
    },
    # A scope of SHOW PARAMETERS.
    "PIPE": {"sql/statements/show.py"},
    # A domain of lineages, what tables have of their own, and where a pipe's files come from.
    "STAGE": {
        "features/lineage/catalog.py", "features/lineage/functions.py", "features/lineage/service.py",
        "features/pipes/listing.py", "features/relations/describe.py", "features/streams/statements.py",
        "govern/lineage/graph.py", "govern/lineage/pictures.py", "sql/statements/describe.py", "sql/no_relations.py",
        "state/model.py",
    },
    # Clauses of other statements: `CREATE TABLE … WITH TAG (…)`, `COPY TAGS`.
    "TAG": {f"sql/statements/{name}.py" for name in ("changes", "columns", "dynamic_tables", "heads", "tables")},
    # A purpose of queries and an option of sources; SHOW PARAMETERS IN USER.
    "USER": {"runtime/metadata/settings.py", "state/access.py", *_USAGE},
    # USE ROLE.
    "ROLE": {"sql/statements/session.py", "state/access.py", *_USAGE},
    # A parameter of the account, the events of the audit log, and a word of an error.
    "NETWORK POLICY": {"runtime/parameters.py", "runtime/rights/network.py", "state/access_model.py"},
    # The one policy of a whole object that GET_DDL writes with SET.
    "AGGREGATION POLICY": {"runtime/metadata/ddl_scripts.py"},
    # A node of lineages and of costs; the words that SHOW PARAMETERS and errors have for relations.
    "DYNAMIC TABLE": {
        "core/errors.py", "features/lineage/events.py", "features/observing/costs.py", "runtime/metadata/scopes.py",
    },
}  # fmt: skip
"""Where the word of a kind means something else, in no table of kinds."""


def _room(feature: Feature) -> Path:
    return _ROOMS / feature.name


@cache
def _strings(path: Path) -> set[str]:
    return {node.value for node in nodes(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _places(words: set[str], room: Path) -> set[str]:
    return {
        path.relative_to(SOURCES).as_posix()
        for path in paths()
        if not path.is_relative_to(room) and words & _strings(path)
    }


@pytest.mark.parametrize(("feature", "kind"), KINDS, ids=[kind.name for _, kind in KINDS])
def test_no_other_module_names_the_kind(feature: Feature, kind: DescribedKind) -> None:
    word = kind.name.value
    words = {f"{word}S", f"CREATE {word}", f"ALTER {word}", f"CREATE_{word.replace(' ', '_')}", kind.noun}
    if word not in _EVERYDAY:
        words |= {word, word.replace(" ", "_")}
    assert _places(words, _room(feature)) == _SAID_ELSEWHERE.get(word, set())


_TABLES_OF_OTHER_THINGS = {
    # The words that open a body, for the splitter of scripts, and clauses of other statements.
    "sql/tokens.py", "sql/node_arguments.py", "sql/statements/columns.py", "sql/statements/dynamic_tables.py",
    # SHOW PARAMETERS IN …; kinds that queries know; what is a relation.
    "sql/statements/show.py", "core/kinds.py", "runtime/metadata/scopes.py", "projects/definitions.py",
    "playbooks/objects.py", "features/tags/references.py", "features/streams/statements.py",
    # Domains of lineages and options of sources.
    "features/lineage/functions.py", "govern/lineage/pictures.py", "features/connectors/declaring.py",
    *_USAGE,
}  # fmt: skip


@cache
def _table_words(path: Path) -> set[str]:
    """The words in tables at the top of a module: keys of mappings, elements of sets, lists and tuples."""
    return set(_words_in(tree(path).body))


def _words_in(statements: list[ast.stmt]) -> Iterator[str]:
    for node in statements:
        for part in ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign) else ():
            elements = part.keys if isinstance(part, ast.Dict) else getattr(part, "elts", ())
            for element in elements:
                if isinstance(element, ast.Constant) and isinstance(element.value, str):
                    yield element.value
                elif isinstance(element, ast.Attribute) and ast.unparse(element.value) in ("ObjectType", "ObjectKind"):
                    yield element.attr.replace("_", " ")


def test_no_table_names_the_kinds_of_a_feature() -> None:
    """The tables that are kept by hand are about kinds that no feature brings."""
    for feature, kind in KINDS:
        word = kind.name.value
        words = {word, f"{word}S", word.replace(" ", "_"), f"CREATE {word}", f"ALTER {word}", f"DROP {word}"}
        for path in paths():
            if not path.is_relative_to(_room(feature)) and words & _table_words(path):
                assert path.relative_to(SOURCES).as_posix() in _TABLES_OF_OTHER_THINGS, word


def test_every_folder_is_a_feature() -> None:
    folders = {path.parent for path in _ROOMS.glob("*/__init__.py")}
    assert folders == {_room(feature) for feature in FEATURES}


def _imported(folder: Path) -> Iterator[str]:
    """The features that a feature's modules import, those for types included."""
    for path in folder.rglob("*.py"):
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("snowmelt.features."):
                yield str(node.module).split(".")[2]


def test_a_feature_imports_another_only_where_the_map_says_so() -> None:
    page = (SOURCES.parents[1] / "docs/code-map.md").read_text(encoding="utf-8")
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
    assert {kind.name for kind in all_kinds().all}.isdisjoint(OWN_TYPES)
    for kind in all_kinds().all:
        assert grammar().create[kind.name] is kind.syntax.create
        assert all(FEATURES.handlers[statement] is kind.handlers[statement] for statement in kind.handlers)
        assert set(kind.handlers) == set(kind.syntax.statements) == set(kind.requests)
        assert listings()[kind.syntax.plural] is kind.listing
        assert kind.syntax.plural not in layouts.SHOW
        assert privileges()[kind.name] == kind.privileges
        of_account = kind.name in all_kinds().of_account
        assert f"CREATE {kind.name}" in privileges()["ACCOUNT" if of_account else "SCHEMA"]
        assert f"CREATE {kind.name}" in rules()
    for kind in described:
        assert kind.name in definitions.kinds()
        assert kind.syntax.is_described == (kind.describe is not None)
