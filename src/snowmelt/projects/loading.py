"""From a folder to its definitions."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, split_name
from snowmelt.engine.udfs import left_undone
from snowmelt.projects import errors as project_errors
from snowmelt.projects.config import ProjectConfig
from snowmelt.projects.definitions import ProjectDefinition, ProjectHome, read_definition
from snowmelt.projects.frames import ColumnsOf, Tables
from snowmelt.projects.python import PythonDefinition
from snowmelt.projects.queries import columns_in
from snowmelt.sql.dialect import parse_snowflake
from snowmelt.sql.scd import column_names
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView
from snowmelt.sql.tokens import SqlText, split_statements

_T = TypeVar("_T")


class _LocatedError(SnowmeltError):
    """An error whose message begins with its location."""


def load(folder: Path, config: ProjectConfig, home: ProjectHome, catalog: ColumnsOf) -> list[ProjectDefinition]:
    """All definitions, by file and line. `catalog` knows the columns of what the project does not define."""
    folder = folder.resolve()
    loader = _Loader(folder, home, catalog)
    for path in _files(folder):
        if path.suffix == ".sql":
            loader.read_sql(path)
        else:
            loader.read_python(path)
    definitions = loader.finished()
    for item in definitions:
        if item.object is not None and not config.may_own(item.object.name):
            raise project_errors.project(
                f"{item.location}: {item.name} is not one of the names that the project owns "
                f"({', '.join(config.owns)})."
            )
    return definitions


def _files(folder: Path) -> Iterator[Path]:
    """The .sql and .py files, sorted; files whose name begins with a dot or an underscore are left out."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "_")) for part in parts)
        if path.suffix in (".sql", ".py") and path.is_file() and not hidden:
            yield path


@dataclass(slots=True)
class _Loader:
    folder: Path
    home: ProjectHome
    catalog: ColumnsOf
    found: dict[tuple[str, str], ProjectDefinition] = field(default_factory=dict)
    """By kind of name (relations share one) and name."""
    python: dict[ObjectName, tuple[PythonDefinition, str]] = field(default_factory=dict)
    asked: list[ObjectName] = field(default_factory=list)
    """Functions that are being called now, outermost first."""

    # -- SQL ------------------------------------------------------------------------------------------------------

    def read_sql(self, path: Path) -> None:
        with self._at(path):
            statements = split_statements(path.read_text(encoding="utf-8"))
        for sql in statements:
            self._add(sql, self._location(path, sql.line))

    def _location(self, path: Path, line: int) -> str:
        return f"{path.relative_to(self.folder)}:{line}"

    def _add(self, sql: SqlText, location: str) -> ProjectDefinition:
        with _naming(location):
            definition = read_definition(sql, location, self.home)
            key = _space(definition), definition.name
            other = self.found.get(key)
            if other is not None:
                raise project_errors.project(f"{definition.name} is already defined in {other.location}.")
        self.found[key] = definition
        return definition

    @contextmanager
    def _at(self, path: Path) -> Iterator[None]:
        with _naming(str(path.relative_to(self.folder))):
            try:
                yield
            except (OSError, UnicodeDecodeError) as error:
                raise project_errors.project(f"it can't be read: {error}.") from None

    # -- Python ---------------------------------------------------------------------------------------------------

    def read_python(self, path: Path) -> None:
        with self._at(path):
            module = _import(path, self.folder)
        for item in vars(module).values():
            # A definition that was imported from another file belongs to that one.
            if isinstance(item, PythonDefinition) and Path(item.file) == path:
                location = self._location(path, item.line)
                full = self.home.complete(split_name(item.name) or ())
                if full in self.python:
                    raise project_errors.project(f"{location}: {full} is already defined in {self.python[full][1]}.")
                self.python[full] = item, location

    def finished(self) -> list[ProjectDefinition]:
        for name in list(self.python):
            self._called(name)
        return sorted(self.found.values(), key=lambda item: (item.location.rpartition(":")[0], item.name))

    def _called(self, name: ObjectName) -> ProjectDefinition:
        """The definition that a function gives; each is called once."""
        known = self.found.get(("RELATION", str(name)))
        item, location = self.python[name]
        if known is not None and known.location == location:
            return known
        if name in self.asked:
            circle = [*self.asked[self.asked.index(name) :], name]
            raise project_errors.project(
                f"{location}: {' reads '.join(map(str, circle))}.", hint="Definitions can't form a circle."
            )
        self.asked.append(name)
        try:
            with _naming(location):
                text = _guarded(lambda: item.statement(Tables(self.columns_of)), self.folder)
            return self._add(SqlText(text), location)
        finally:
            self.asked.pop()

    # -- columns --------------------------------------------------------------------------------------------------

    def columns_of(self, parts: tuple[str, ...]) -> Sequence[str] | None:
        """The columns that a table has once the project is applied."""
        name = self.home.complete(parts)
        if name in self.python:
            return self._of(self._called(name))
        definition = self.found.get(("RELATION", str(name)))
        return self._of(definition) if definition is not None else self.catalog(parts)

    def _of(self, definition: ProjectDefinition) -> Sequence[str] | None:
        statement = definition.statement
        if not isinstance(statement, CreateTable | CreateView | CreateDynamicTable):
            return None
        if statement.columns:
            return [column.name for column in statement.columns]
        if statement.query is None:
            return self.catalog(tuple(split_name(definition.name) or ()))
        columns = columns_in(parse_snowflake(statement.query.text), self.columns_of)
        if isinstance(statement, CreateDynamicTable) and statement.dimension is not None and columns is not None:
            return column_names(statement.dimension, columns)
        return columns


def _space(definition: ProjectDefinition) -> str:
    """Tables, views and dynamic tables share one space of names."""
    statement = definition.statement
    relation = isinstance(statement, CreateTable | CreateView | CreateDynamicTable)
    return "RELATION" if relation else definition.kind.value


@contextmanager
def _naming(location: str) -> Iterator[None]:
    """Errors inside say where in the project they happened."""
    try:
        yield
    except _LocatedError:
        raise
    except SnowmeltError as error:
        raise _LocatedError(error.code, error.sqlstate, f"{location}: {error.message}", hint=error.hint) from error


def _import(path: Path, folder: Path) -> ModuleType:
    """The module of a file, under a name of its own; it may import its neighbours."""
    name = "_snowmelt_project_" + "_".join(path.relative_to(folder).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise project_errors.project("it is not a Python module.")
    loader = spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        with left_undone():
            _guarded(lambda: loader.exec_module(module), folder)
    finally:
        sys.path.remove(str(path.parent))
    return module


def _guarded(work: Callable[[], _T], folder: Path) -> _T:
    """Runs code of the project. What it raises becomes one of our errors, with the line of the project it came from."""
    try:
        return work()
    except SnowmeltError:
        raise
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(folder) in frame.filename]
        where = f" (line {frames[-1].lineno})" if frames else ""
        shown = traceback.format_exception_only(error)[-1].strip()
        raise project_errors.project(f"{shown}{where}") from error
