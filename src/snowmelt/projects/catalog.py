"""The running catalog as a project sees it: through SQL, so that a server's and an embedded one look the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from snowmelt.core.errors import SnowmeltError
from snowmelt.core.names import ObjectName, literal
from snowmelt.projects.config import single_name
from snowmelt.projects.definitions import RELATIONS, AnyCreate, ProjectHome
from snowmelt.runtime.results import Result
from snowmelt.sql.statements.base import ObjectType
from snowmelt.sql.statements.dynamic_tables import CreateDynamicTable
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.statements.spelling import spelled
from snowmelt.sql.statements.tables import CreateTable
from snowmelt.sql.statements.views import CreateView
from snowmelt.sql.tokens import split_statements

Execute = Callable[[str], Result]
ROWS_THERE_ARE, CARRIED_OVER = "Rows there are", "carried over: "
"""What EXPLAIN calls the rows of a table whose query is to change, and says of those that are kept."""
_NOT_FOUND = "002003"
DEFAULT_DATABASE, DEFAULT_SCHEMA = "SNOWMELT", "PUBLIC"
"""Where a session is that nobody has told where to be."""
_ROWS = ("SHOW TABLES IN ACCOUNT", "SHOW DYNAMIC TABLES IN ACCOUNT")


@dataclass(frozen=True, slots=True)
class Noted:
    """What the state store knows about an object of the project."""

    kind: ObjectType
    name: str
    owned: bool
    """Created by the project: only then may it be dropped."""
    pending: bool
    """A run was interrupted before it could note that it was done."""
    fingerprint: str


@dataclass
class LiveCatalog:
    execute: Execute
    home: ProjectHome
    _present: dict[tuple[str, str], AnyCreate | None] = field(default_factory=dict)

    @cached_property
    def ready(self) -> bool:
        """Whether the project's schema exists. Then names in the session mean what they mean in the project."""
        schema = ObjectName(self.home.database, self.home.schema, "").parent
        try:
            self.execute(f"USE SCHEMA {schema}")
        except SnowmeltError as error:
            if error.code not in (_NOT_FOUND, "002043"):
                raise
            return False
        return True

    def forget(self) -> None:
        """After something was changed."""
        self._present.clear()
        self.__dict__.pop("ready", None)

    def present(self, kind: ObjectType, name: str) -> AnyCreate | None:
        """The statement that would create what is there, parsed; of another kind where that has the name."""
        word = "TABLE" if kind in RELATIONS else kind.value.replace(" ", "_")
        key = word, name
        if key not in self._present:
            self._present[key] = self._read(word, name)
        return self._present[key]

    def _read(self, word: str, name: str) -> AnyCreate | None:
        try:
            text = str(self._value(f"SELECT GET_DDL('{word}', {literal(name)}, TRUE)"))
        except SnowmeltError as error:
            if error.code != _NOT_FOUND:
                raise
            return None
        # Of a schema or database, GET_DDL gives all that is in it; of a table, also its quality checks.
        statement = parse_statement(split_statements(text)[0])
        assert isinstance(statement, AnyCreate)
        return statement

    def columns_of(self, parts: tuple[str, ...]) -> Sequence[str] | None:
        """The columns of a table or view that exists."""
        found = self.present(ObjectType.TABLE, str(self.home.complete(parts)))
        if not isinstance(found, CreateTable | CreateView | CreateDynamicTable):
            return None
        if isinstance(found, CreateDynamicTable) and found.dimension is not None:
            # Its statement says what it is made from, not its columns.
            return [str(row[0]) for row in self.execute(f"DESCRIBE TABLE {self.home.complete(parts)}").rows()]
        return [column.name for column in found.columns] or None

    def newest_document(self, contract: str) -> str:
        """What a contract says since its last version."""
        result = self.execute(f"DESCRIBE CONTRACT {contract}")
        index = [column.name for column in result.columns].index("document")
        return str(result.rows()[-1][index])

    @cached_property
    def rows(self) -> dict[ObjectName, int]:
        """Rows of every table there is."""
        counts: dict[ObjectName, int] = {}
        for query in _ROWS:
            result = self.execute(query)
            indexes = {column.name: index for index, column in enumerate(result.columns)}
            named = [indexes[name] for name in ("database_name", "schema_name", "name")]
            for row in result.rows():
                counts[ObjectName(*(str(row[index]) for index in named))] = int(row[indexes["rows"]] or 0)
        return counts

    def noted(self, project: str) -> list[Noted]:
        rows = json.loads(str(self._value(f"SELECT SYSTEM$PROJECT_OBJECTS({literal(project)})")))
        return [
            Noted(ObjectType(row["kind"]), row["name"], row["owned"], row["pending"], row["fingerprint"])
            for row in rows
        ]

    def refresh_mode(self, query: str) -> tuple[str, str | None] | None:
        """How a dynamic table of that query would be refreshed, and why; None while it reads what is not there yet."""
        try:
            result = self.execute(f"EXPLAIN DYNAMIC TABLE AS {query}")
        except SnowmeltError:
            return None
        steps = {str(row[0]): str(row[1]) for row in result.rows()}
        return steps["Refresh mode"], steps.get("Reason")

    def carried_over(self, name: str, query: str) -> str | None:
        """How the rows of a dynamic table would become those of another query; None where they are computed anew."""
        try:
            result = self.execute(f"EXPLAIN DYNAMIC TABLE {name} AS {query}")
        except SnowmeltError:
            return None
        said = {str(row[0]): str(row[1]) for row in result.rows()}[ROWS_THERE_ARE]
        return said.removeprefix(CARRIED_OVER) if said.startswith(CARRIED_OVER) else None

    def call(self, function: str, *arguments: str) -> None:
        self.execute(f"SELECT SYSTEM$PROJECT_{function}({', '.join(map(literal, arguments))})")

    def _value(self, query: str) -> object:
        return self.execute(query).rows()[0][0]


def home_of(execute: Execute, database: str | None, schema: str | None, warehouse: str | None) -> ProjectHome:
    """Where the project lives: what it says, else where the session is."""
    row = execute("SELECT CURRENT_DATABASE(), CURRENT_SCHEMA()").rows()[0]
    here = str(row[0] or DEFAULT_DATABASE), str(row[1] or DEFAULT_SCHEMA)
    beside = here[1] if database is None else DEFAULT_SCHEMA
    return ProjectHome(
        here[0] if database is None else single_name(database, "database"),
        beside if schema is None else single_name(schema, "schema"),
        None if warehouse is None else spelled(single_name(warehouse, "warehouse")),
    )
