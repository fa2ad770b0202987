"""What a change costs, as far as it can be told before: rows that are read, and how refreshes go on afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.core.names import ObjectName
from snowmelt.projects.catalog import LiveCatalog
from snowmelt.projects.definitions import AnyCreate, ProjectDefinition
from snowmelt.projects.ordering import sources_of
from snowmelt.sql import spark_frames
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.statements.base import ObjectType
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView


class Costs:
    def __init__(self, catalog: LiveCatalog, definitions: Sequence[ProjectDefinition]) -> None:
        self._catalog = catalog
        self._definitions = {item.object: item for item in definitions if item.object is not None}

    def of_creation(self, definition: ProjectDefinition) -> tuple[str, int | None]:
        """The cost in words, and the number of rows read; None where it is not known yet."""
        statement = definition.statement
        if isinstance(statement, CreateTable) and statement.query is None:
            return "an empty table" if statement.clone is None else "shares the files of its source", 0
        if not isinstance(statement, CreateDynamicTable | CreateTable):
            return "nothing", 0
        if statement.clone is not None:
            return "shares the files of its source", 0
        read, rows = self._read(statement)
        if isinstance(statement, CreateTable):
            return read, rows
        then = self._then(statement)
        if statement.options.initialize == "ON_SCHEDULE":
            return f"nothing now; the first refresh {read}{then}", rows
        return f"full: {read}{then}", rows

    def of_change(self, definition: ProjectDefinition, *, recomputed: bool) -> tuple[str, int | None]:
        statement = definition.statement
        if isinstance(statement, CreateView):
            readers = sorted(str(name) for name in self._readers(definition))
            note = f"; recomputed at their next refresh: {', '.join(readers)}" if readers else ""
            return f"no rows are touched{note}", 0
        if not recomputed:
            return "keeps its data", 0
        read, rows = self._read(statement)
        then = self._then(statement) if isinstance(statement, CreateDynamicTable) else ""
        return f"full: the next refresh {read}{then}", rows

    def _read(self, statement: AnyCreate) -> tuple[str, int | None]:
        rows, unknown = 0, []
        for name in sorted(self._tables(sources_of(statement, self._catalog.home), set())):
            count = self._rows(name)
            if count is None:
                unknown.append(str(name))
            else:
                rows += count
        if not unknown:
            return f"reads {rows:,} rows", rows
        return f"reads {rows:,} rows and those of {', '.join(unknown)}, which is not there yet", None

    def _tables(self, names: set[ObjectName], seen: set[ObjectName]) -> set[ObjectName]:
        """Tables below the views among these names."""
        found: set[ObjectName] = set()
        for name in names - seen:
            seen.add(name)
            statement = self._statement(name)
            if isinstance(statement, CreateView):
                found |= self._tables(sources_of(statement, self._catalog.home), seen)
            else:
                found.add(name)
        return found

    def _statement(self, name: ObjectName) -> AnyCreate | None:
        definition = self._definitions.get(name)
        return definition.statement if definition else self._catalog.present(ObjectType.TABLE, str(name))

    def _rows(self, name: ObjectName) -> int | None:
        known = self._catalog.rows.get(name)
        if known is not None:
            return known
        statement = self._statement(name)
        # A table that the project is about to create is empty.
        return 0 if isinstance(statement, CreateTable) and statement.query is None else None

    def _then(self, statement: CreateDynamicTable) -> str:
        if statement.query is None:
            return ""
        if statement.options.refresh_mode == "FULL":
            return "; later refreshes are full, as declared"
        if any(spark_frames.calls(parse_snowflake(statement.query.text))):
            # Asking how it is refreshed would run the function.
            return "; later refreshes are full: a Python function over Spark DataFrames (PYTHON)"
        found = self._catalog.refresh_mode(statement.query.text) if self._catalog.ready else None
        if found is None:
            return ""
        mode, reason = found
        return f"; later refreshes are {mode.lower()}" + (f": {reason}" if reason and mode == "FULL" else "")

    def _readers(self, definition: ProjectDefinition) -> set[ObjectName]:
        """Dynamic tables of the project that read the view, directly or through other views."""
        home = self._catalog.home
        readers: set[ObjectName] = set()
        waiting, seen = [definition.object], set()
        while waiting:
            name = waiting.pop()
            for other, item in self._definitions.items():
                if other in seen or name not in sources_of(item.statement, home):
                    continue
                seen.add(other)
                if isinstance(item.statement, CreateDynamicTable):
                    readers.add(other)
                elif isinstance(item.statement, CreateView):
                    waiting.append(other)
        return readers
