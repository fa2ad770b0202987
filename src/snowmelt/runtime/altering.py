"""What an ALTER TABLE makes of a table's definition, action by action; nothing is carried out here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import quote
from snowmelt.core.types import DataType, Kind
from snowmelt.runtime import declaring, defaults
from snowmelt.runtime import errors as statement_errors
from snowmelt.runtime.reshaping import ReshapedColumns
from snowmelt.runtime.retyping import retyped
from snowmelt.sql.bound import fold_identifier
from snowmelt.sql.dialect import as_written, identifier, parse_snowflake
from snowmelt.sql.statements import alter_table as actions
from snowmelt.sql.statements.base import Action
from snowmelt.sql.statements.changes import SetColumnComment
from snowmelt.sql.statements.columns import CheckSpec, ColumnSpec, Constraint, PrimaryKey
from snowmelt.sql.tokens import SqlText, tokenize
from snowmelt.state.model import CatalogObject, CheckConstraint, Column, ForeignKey, Key, TableDefinition
from snowmelt.state.quality_model import QualityCheck

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run


@dataclass(slots=True)
class Alteration:
    """The definition to be, where its columns come from, and what the rows must satisfy for it."""

    run: Run
    table: CatalogObject
    definition: TableDefinition
    rows: int
    """Rows in the table now."""
    sources: dict[str, str] = field(default_factory=dict)
    fills: dict[str, Any] = field(default_factory=dict)
    literals: dict[str, str] = field(default_factory=dict)
    not_null: set[str] = field(default_factory=set)
    """Present names of columns in which no row may have NULL."""
    narrowed: dict[str, tuple[DataType, DataType]] = field(default_factory=dict)
    """Present name to present and new type, where the new one has fewer digits."""
    checks: list[CheckConstraint] = field(default_factory=list)
    """Conditions that existing rows must satisfy, over the new columns."""
    dropped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sources = {column.name: column.name for column in self.definition.columns}

    @property
    def change(self) -> ReshapedColumns:
        return ReshapedColumns(self.definition.columns, self.sources, self.fills, self.literals)

    @property
    def renamed(self) -> dict[str, str]:
        """Every column that stays, from its present to its new name."""
        return {old: new for new, old in self.sources.items()}

    def apply(self, action: Action) -> None:
        handler = _ACTIONS.get(type(action))
        if handler is None:
            raise errors.unsupported_action("TABLE", action)
        handler(self, action)

    # -- columns --------------------------------------------------------------------------------------------------

    def find(self, name: str) -> Column | None:
        return next((column for column in self.definition.columns if column.name == name), None)

    def _existing(self, name: str) -> Column:
        found = self.find(name)
        if found is None:
            line, position = _position(self.run.sql, name)
            raise errors.invalid_identifier(quote(name), line, position)
        return found

    def _put(self, of: str, **values: Any) -> None:
        """Other values for one column."""
        columns = tuple(
            column.model_copy(update=values) if column.name == of else column for column in self.definition.columns
        )
        self._set(columns=columns)

    def _set(self, **values: Any) -> None:
        self.definition = self.definition.model_copy(update=values)

    def add_column(self, action: actions.AddColumn) -> None:
        spec = action.column
        if self.find(spec.name) is not None:
            if action.if_not_exists:
                return
            raise statement_errors.column_exists(spec.name)
        column = self._new_column(spec)
        required = not column.nullable or any(isinstance(item, PrimaryKey) for item in spec.constraints)
        if required and self.rows and spec.name not in self.fills:
            raise errors.SnowmeltError(
                "002227", "22000",
                f"SQL compilation error: Non-nullable column '{spec.name}' cannot be added to non-empty table "
                f"'{quote(self.table.name.name)}' unless it has a non-null default value.",
            )  # fmt: skip
        self._set(columns=(*self.definition.columns, column))
        declaring.check_names(self.definition.columns)
        for constraint in spec.constraints:
            self._constrain(constraint)

    def _new_column(self, spec: ColumnSpec) -> Column:
        if spec.default is None:
            if spec.identity is not None and self.rows:
                raise errors.unsupported(
                    "ADD COLUMN with AUTOINCREMENT to a table that has rows", hint="Create a table AS SELECT instead."
                )
            return declaring.column_of(self.run, spec)
        column = declaring.column_of(self.run, replace(spec, default=None))
        if column.identity is not None:
            raise errors.compilation(
                "002220", "42601", f"Column '{spec.name}' can't have both a default and an identity."
            )
        if defaults.sequence_of(parse_snowflake(spec.default.text)) is not None:
            if self.rows:
                raise statement_errors.invalid_default(spec.default.text)
            default = defaults.checked(self.run, spec.default, spec.name, column.type)
            return column.model_copy(update={"default": default})
        value = defaults.literal_for_added(spec.default, spec.name, column.type)
        if value is not None:
            self.fills[spec.name] = value
            self.literals[spec.name] = spec.default.text
        return column.model_copy(update={"default": spec.default.text})

    def drop_column(self, action: actions.DropColumn) -> None:
        column = self.find(action.column)
        if column is None:
            if action.if_exists:
                return
            raise statement_errors.no_such_column(action.column)
        if len(self.definition.columns) == 1:
            raise errors.compilation("002224", "42601", f"cannot drop column '{column.name}': it is the only column")
        for keys in self.definition.cluster_by:
            if column.name in _names(keys):
                raise errors.compilation(
                    "002225", "42601", f"cannot drop column '{column.name}': it is part of the clustering key"
                )
        for check in self.definition.checks:
            if column.name in _names(check.expression):
                raise errors.compilation(
                    "002226", "42601", f"cannot drop column '{column.name}': CHECK constraint {check.name} needs it"
                )
        for quality in self.definition.quality:
            if column.name in quality.columns or (quality.expression and column.name in _names(quality.expression)):
                raise errors.compilation(
                    "002226", "42601", f"cannot drop column '{column.name}': quality check {quality.name} needs it"
                )
        definition = self.definition
        primary = definition.primary_key
        self._set(
            columns=tuple(item for item in definition.columns if item.name != column.name),
            primary_key=None if primary is not None and column.name in primary.columns else primary,
            unique_keys=tuple(key for key in definition.unique_keys if column.name not in key.columns),
            foreign_keys=tuple(key for key in definition.foreign_keys if column.name not in key.columns),
        )
        self.dropped.append(self.sources.pop(column.name, column.name))

    def rename_column(self, action: actions.RenameColumn) -> None:
        old, new = action.column, action.new_name
        if self.find(old) is None:
            raise errors.not_found("Object", quote(old))
        if old == new:
            return
        if self.find(new) is not None:
            raise errors.already_exists(f"{quote(self.table.name.name)}.{quote(new)}")
        definition = self.definition

        def columns(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(new if name == old else name for name in names)

        def key(item: Key) -> Key:
            return item.model_copy(update={"columns": columns(item.columns)})

        def foreign(item: ForeignKey) -> ForeignKey:
            changed = {"columns": columns(item.columns)}
            if item.references == self.table.name:
                changed["referenced_columns"] = columns(item.referenced_columns)
            return item.model_copy(update=changed)

        def quality(item: QualityCheck) -> QualityCheck:
            expression = item.expression and _rename(item.expression, old, new)
            changed: dict[str, Any] = {"columns": columns(item.columns), "expression": expression}
            if item.references == self.table.name:
                changed["referenced_columns"] = columns(item.referenced_columns)
            return item.model_copy(update=changed)

        self._put(old, name=new)
        self._set(
            quality=tuple(quality(item) for item in definition.quality),
            primary_key=key(definition.primary_key) if definition.primary_key is not None else None,
            unique_keys=tuple(key(item) for item in definition.unique_keys),
            foreign_keys=tuple(foreign(item) for item in definition.foreign_keys),
            checks=tuple(
                item.model_copy(update={"expression": _rename(item.expression, old, new)}) for item in definition.checks
            ),
            cluster_by=tuple(_rename(item, old, new) for item in definition.cluster_by),
        )
        declaring.check_names(self.definition.columns)
        self.sources[new] = self.sources.pop(old)

    def set_not_null(self, action: actions.SetNotNull) -> None:
        column = self._existing(action.column)
        if column.nullable:
            if column.type.is_semi_structured and self.rows:
                raise errors.unsupported(f"SET NOT NULL on a {column.type.kind} column of a table that has rows")
            self._put(column.name, nullable=False)
            self.not_null.add(self.sources[column.name])

    def drop_not_null(self, action: actions.DropNotNull) -> None:
        column = self._existing(action.column)
        primary = self.definition.primary_key
        if primary is not None and column.name in primary.columns:
            raise errors.compilation(
                "002228", "42601", f"cannot drop NOT NULL of column '{column.name}': it is part of the primary key"
            )
        self._put(column.name, nullable=True)

    def set_type(self, action: actions.SetType) -> None:
        column = self._existing(action.column)
        wanted = declaring.type_of(action.type)
        changed = retyped(column.name, column.type, wanted)
        if changed.kind is Kind.NUMBER and (changed.precision or 0) < (column.type.precision or 0):
            self.narrowed[self.sources[column.name]] = (column.type, changed)
        self._put(column.name, type=changed)

    def set_default(self, action: actions.SetDefault) -> None:
        """Only a sequence can be exchanged, for another one; everything else Snowflake refuses as well."""
        column = self._existing(action.column)
        is_sequence = defaults.sequence_of(parse_snowflake(action.default.text)) is not None
        had = column.default is not None and defaults.sequence_of(parse_snowflake(column.default)) is not None
        if not is_sequence or not had:
            raise errors.unsupported("Alter Column Set Default")
        self._put(column.name, default=defaults.checked(self.run, action.default, column.name, column.type))

    def drop_default(self, action: actions.DropDefault) -> None:
        self._put(self._existing(action.column).name, default=None)

    def set_comment(self, action: SetColumnComment) -> None:
        self._put(self._existing(action.column).name, comment=action.comment)

    # -- constraints ----------------------------------------------------------------------------------------------

    def add_constraint(self, action: actions.AddConstraint) -> None:
        self._constrain(action.constraint)

    def _constrain(self, constraint: Constraint) -> None:
        before = self.definition
        self.definition = declaring.with_constraint(self.run, self.table.name, before, constraint)
        if isinstance(constraint, CheckSpec) and constraint.validate:
            self.checks.append(self.definition.checks[-1])
        for old, new in zip(before.columns, self.definition.columns, strict=True):
            if old.nullable and not new.nullable and new.name in self.sources:
                self.not_null.add(self.sources[new.name])

    def drop_constraint(self, action: actions.DropConstraint) -> None:
        definition = self.definition
        primary = definition.primary_key
        if action.kind == "PRIMARY KEY" or (primary is not None and action.name == primary.name):
            if primary is None:
                raise statement_errors.no_such_constraint("PRIMARY KEY")
            self._set(primary_key=None)
            return

        def goes(item: Key | ForeignKey | CheckConstraint, kind: str) -> bool:
            if action.name is not None:
                return item.name == action.name
            return kind == action.kind and not isinstance(item, CheckConstraint) and item.columns == action.columns

        kept = {
            "unique_keys": tuple(item for item in definition.unique_keys if not goes(item, "UNIQUE")),
            "foreign_keys": tuple(item for item in definition.foreign_keys if not goes(item, "FOREIGN KEY")),
            "checks": tuple(item for item in definition.checks if not goes(item, "CHECK")),
        }
        if all(len(items) == len(getattr(definition, name)) for name, items in kept.items()):
            raise statement_errors.no_such_constraint(action.name or f"{action.kind} ({', '.join(action.columns)})")
        self._set(**kept)

    def rename_constraint(self, action: actions.RenameConstraint) -> None:
        definition = self.definition
        if action.name not in declaring.constraint_names(definition):
            raise statement_errors.no_such_constraint(action.name)
        if action.new_name in declaring.constraint_names(definition):
            raise errors.compilation("002209", "42710", f"constraint '{action.new_name}' already exists")

        def rename(item: Any) -> Any:
            return item.model_copy(update={"name": action.new_name}) if item.name == action.name else item

        self._set(
            primary_key=rename(definition.primary_key) if definition.primary_key is not None else None,
            unique_keys=tuple(map(rename, definition.unique_keys)),
            foreign_keys=tuple(map(rename, definition.foreign_keys)),
            checks=tuple(map(rename, definition.checks)),
        )

    def cluster_by(self, action: actions.ClusterBy) -> None:
        keys = declaring.clustering_key(self.run, self.table.name, self.definition.columns, action.keys)
        self._set(cluster_by=keys)

    def set_recluster(self, _: actions.SetRecluster) -> None:
        """Rows are not reordered behind anybody's back here, so there is nothing to suspend or resume."""


def _names(expression: str) -> set[str]:
    """The columns that an expression names."""
    return {fold_identifier(node.this) for node in parse_snowflake(expression).find_all(exp.Column)}


def _rename(expression: str, old: str, new: str) -> str:
    tree = parse_snowflake(expression)
    found = [node for node in tree.find_all(exp.Column) if fold_identifier(node.this) == old]
    if not found:
        return expression
    for node in found:
        node.set("this", identifier(new) if quote(new) != new else exp.to_identifier(new))
    return as_written(tree)


def _position(sql: SqlText, name: str) -> tuple[int, int]:
    """Where the statement mentions the name."""
    source = tokenize(sql)
    for token in source.tokens:
        if name in (token.text, token.word):
            return source.position(token.start)
    return source.position(0)


_ACTIONS: dict[type[Action], Callable[[Alteration, Any], None]] = {
    actions.AddColumn: Alteration.add_column,
    actions.DropColumn: Alteration.drop_column,
    actions.RenameColumn: Alteration.rename_column,
    actions.SetNotNull: Alteration.set_not_null,
    actions.DropNotNull: Alteration.drop_not_null,
    actions.SetType: Alteration.set_type,
    actions.SetDefault: Alteration.set_default,
    actions.DropDefault: Alteration.drop_default,
    actions.AddConstraint: Alteration.add_constraint,
    actions.DropConstraint: Alteration.drop_constraint,
    actions.RenameConstraint: Alteration.rename_constraint,
    actions.ClusterBy: Alteration.cluster_by,
    actions.SetRecluster: Alteration.set_recluster,
    SetColumnComment: Alteration.set_comment,
}
