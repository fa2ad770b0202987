"""A statement, a function or a module that reads rows, and that nobody has looked at, fails here."""

from __future__ import annotations

import ast
from pathlib import Path

from snowmelt.accounts import FEATURES
from tests.features.policies.ways import WAYS
from tests.support.sources import SOURCES, nodes, paths

RAW = {
    # Rows of a statement go through these; what they read was pinned in `resolver`.
    "runtime/resolver.py": "pins what a query reads; policies are put on in `guarded`",
    "runtime/rewriting/sides.py": "targets of DML, whose plan has the policies (`rewriting/binding.py`)",
    "runtime/rewriting/local.py": "the same",
    "features/streams/changes.py": "changes of tables, guarded in `features/streams/service.py`",
    "features/streams/views.py": "changes of views, whose query was bound with the policies",
    "runtime/incremental/definitions.py": "sources of dynamic tables, whose query was bound with the policies",
    "runtime/spilling.py": "rows that a query has given",
    "runtime/staged_rows.py": "rows that a query or a stream has given",
    # Nothing of what these read is shown; they write it back, count it, or compare it.
    "runtime/cloning.py": "sizes of files",
    "runtime/drifts.py": "names of columns",
    "runtime/incremental/applying.py": "a dynamic table's own rows, to change them",
    "runtime/incremental/filling.py": "a dynamic table's own rows, to fill it",
    "runtime/incremental/lookups.py": "a dynamic table's own rows, to change them",
    "runtime/incremental/operator_states.py": "states of dynamic tables, which no query reads",
    "runtime/reshaping.py": "rows of an ALTER TABLE, written back",
    "runtime/rewriting/by_spark.py": "sizes of files",
    "runtime/row_checks.py": "whether rows satisfy a constraint",
    "runtime/tables.py": "sizes of files",
    "runtime/writing.py": "sizes of files",
    "features/connectors/mirror_rows.py": "rows that a connector changes",
    "features/data_products/pii.py": "samples, of which classes are told",
    "features/dynamic_tables/by_changes.py": "changes of sources, for a plan that has the policies",
    "features/dynamic_tables/checking.py": "refused for what has policies (`checks.py`)",
    "features/dynamic_tables/redefining.py": "a dynamic table's own rows, carried over to its new definition",
    "features/dynamic_tables/inspecting.py": "refused for what has policies (`checks.py`)",
    "features/iceberg/tables.py": "refused for what has policies",
    "features/lineage/written.py": "names of files",
    "features/loading/sink.py": "sizes of files",
    "features/quality/asking.py": "counts of rows that fail checks",
    "features/quality/gate.py": "rows that were written, and those that go to quarantine, which has the policies",
    "features/quality/looked_at.py": "the same",
    "features/quality/new_keys.py": "whether keys are there already",
    "features/quality/quarantine.py": "the schema of files",
    "features/upkeep/compacting.py": "files, written back",
}
"""The modules that come by rows without the binder, and why nobody sees what they read."""


def _reads(path: Path) -> bool:
    called = {ast.unparse(node.func) for node in nodes(path) if isinstance(node, ast.Call)}
    return any(
        name in ("TableFiles", "find_rows") or name.endswith((".pin", "store.files", "store.sample", ".commit_files"))
        for name in called
    )


def test_every_module_that_reads_files_was_looked_at() -> None:
    rooms = ("runtime/", "features/", "serve/", "dbapi")
    found = {path.relative_to(SOURCES).as_posix() for path in paths() if _reads(path)}
    assert {name for name in found if name.startswith(rooms)} == set(RAW)


def test_sessions_without_policies_are_those_of_erasure() -> None:
    """Nothing else may read as if there were no policies."""
    wanted = {"features/erasure/searching.py", "features/quality/commands.py"}
    set_in = {
        path.relative_to(SOURCES).as_posix()
        for path in paths()
        for node in nodes(path)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith((".sees_stored", "run.exempt"))
    }
    assert {name for name in set_in if name != "runtime/session.py"} == wanted


def _listed(kind: str) -> set[str]:
    lines = (Path(__file__).parent / "without_rows.txt").read_text(encoding="utf-8").splitlines()
    return {line.removeprefix(f"{kind} ") for line in lines if line.startswith(f"{kind} ")}


STATEMENTS = {
    "Query": "everything", "CreateTable": "table of a query", "CreateView": "own view",
    "CreateDynamicTable": "own dynamic table", "CreateStream": "consumed stream", "InsertStatement": "insert",
    "MultiInsertStatement": "multi-table insert", "MergeStatement": "merge from", "UpdateStatement": "update from",
    "CopyIntoLocation": "unload", "Explain": "explain", "SetVariables": "variable", "ExecuteImmediate": "script",
    "AnonymousBlock": "script", "CreateSchema": "clone of a schema", "CreateDatabase": "clone of a schema",
    "Call": "procedure", "ExecuteTask": "task", "AlterDynamicTable": "refreshed dynamic table",
    "DescribeStatement": "description", "ShowStatement": "listing",
}  # fmt: skip
"""The way in which each statement that gives or copies rows is tried."""
CHANGING = {"DeleteStatement"}
"""Tried below, by what is left."""
WITHOUT_ROWS = _listed("statement")
"""They answer what they did, or what was declared."""
OF_FILES = {"CopyFiles", "CopyIntoTable", "Get", "ListFiles", "Put", "RemoveFiles"}
"""Rows of files; those of tables came there by COPY INTO."""
COUNTS = {
    "CheckContract": "which promises are broken, by how many rows", "ExecuteQualityChecks": "how many rows fail",
    "ExecuteAlert": "runs queries with its owner's rights, as a task does",
    "ExecuteFile": "runs the statements of a file, each as if the session had sent it",
}  # fmt: skip


def test_every_statement_was_looked_at() -> None:
    known = [*STATEMENTS, *CHANGING, *WITHOUT_ROWS, *OF_FILES, *COUNTS]
    assert len(known) == len(set(known))
    assert set(known) == {statement.__name__ for statement in FEATURES.handlers}
    assert set(STATEMENTS.values()) <= WAYS.keys()


FUNCTIONS = {
    "SYSTEM$CHECK_DYNAMIC_TABLE": "check of a dynamic table", "SYSTEM$REFRESH_CHANGES": "changes of a refresh",
    "SYSTEM$CHECK_SCD": "check of a dimension", "QUERY_HISTORY": "history", "ERROR_TABLE": "rejected rows",
    "SYSTEM$GET_ICEBERG_TABLE_INFORMATION": "files for other engines",
}  # fmt: skip
"""Functions that read rows or tell of them, and the way in which each is tried."""
READS_AS_STORED = {
    "SYSTEM$FIND_PERSON": "asks for a privilege on the account", "SYSTEM$FORGET_PERSON": "the same",
    "SYSTEM$RESUME_ERASURES": "the same", "SYSTEM$CLASSIFY": "answers classes, and no value",
    "QUALITY_CHECK_HISTORY": "measures of whole tables, for who may look at the table",
    "SYSTEM$CLUSTERING_DEPTH": "counts of files", "SYSTEM$CLUSTERING_INFORMATION": "counts of files",
}  # fmt: skip
METADATA = _listed("function")
"""They read the state store alone."""


def test_every_function_was_looked_at() -> None:
    known = [*FUNCTIONS, *READS_AS_STORED, *METADATA]
    assert len(known) == len(set(known))
    tables = (FEATURES.table_functions, FEATURES.core_functions, FEATURES.relation_functions)
    assert set(known) == {*FEATURES.system_functions, *(name for each in tables for name in each)}
    assert set(FUNCTIONS.values()) <= WAYS.keys()
