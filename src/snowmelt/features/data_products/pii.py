"""Personal data in columns: found, classified, hidden in views, and never published unclassified."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from snowmelt.core import errors
from snowmelt.core.names import ObjectName, split_name
from snowmelt.core.types import Kind
from snowmelt.features.data_products.definitions import DataProductDefinition
from snowmelt.features.data_products.describing import all_pii, tagged_columns
from snowmelt.features.lineage.service import Lineage
from snowmelt.govern.lineage.graph import LineageGraph
from snowmelt.govern.pii.classes import CLASSES, by_name
from snowmelt.govern.pii.classifying import Confidence, PiiFinding, classify
from snowmelt.govern.pii.strategies import ClassifiedColumn, Strategy, parse_strategies, parse_strategy, protected
from snowmelt.runtime import pii_at_ingest
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.runtime.pii_at_ingest import CLASS, NOT_PERSONAL, STRATEGY
from snowmelt.runtime.rights.authority import SYSTEM
from snowmelt.state.model import RELATIONS, CatalogObject, ParameterLevel, TableDefinition, ViewDefinition
from snowmelt.state.sight import Owned
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments as Named

Arguments = Sequence[Any]
COLUMNS = columns(
    "DATABASE_NAME, SCHEMA_NAME, NAME, COLUMN_NAME, SEMANTIC_CATEGORY, PRIVACY_CATEGORY, STATUS, AT_INGEST"
)
_SAMPLE, _MOST_SAMPLED = 1_000, 10_000
_TEXTS = frozenset({Kind.VARCHAR, Kind.NUMBER})


# -- what is known ----------------------------------------------------------------------------------------------------


def classes_of(state: StateReader, item: CatalogObject) -> dict[str, str]:
    """The classes that somebody gave to columns, by column."""
    kept = state.parameters.all(ParameterLevel.TABLE, item.id)
    return {key.removeprefix(CLASS): value for key, value in kept.items() if key.startswith(CLASS)}


def _column_names(item: CatalogObject) -> list[str]:
    assert isinstance(item.definition, TableDefinition | ViewDefinition)
    return [column.name for column in item.definition.columns]


def check_published(run: Run, state: StateReader, product: DataProductDefinition) -> None:
    """Raises when a column looks personal, by name or content, and neither it nor the product says so."""
    declared = {name.upper() for name in all_pii(state, product)}
    tagged = tagged_columns(state, product)
    for name in product.objects:
        item = state.catalog.find(name, RELATIONS)
        if item is None:
            continue
        known = classes_of(state, item)
        missing = [
            f"{each.column} ({each.found.name})"
            for each in _findings(run, state, item, _SAMPLE)
            if each is not None and each.column not in known and each.column.upper() not in tagged
            if each.found.name not in declared
        ]
        if missing:
            raise _unclassified(str(name), missing)


def _unclassified(name: str, missing: Sequence[str]) -> errors.SnowmeltError:
    return errors.SnowmeltError(
        "370031",
        "22023",
        f"'{name}' has columns that look personal and are not classified: {', '.join(missing)}.",
        hint=f"""CALL SYSTEM$CLASSIFY('{name}', '{{"auto_tag": true}}'), name the class in PII = (…), or """
        f"CALL SYSTEM$SET_PII_CLASS('{name}', '<column>', 'NONE') if it is not personal.",
    )


def all_columns(run: Run, state: StateReader, _: Named) -> list[Row]:
    """Every column that is classified, or looks as if it should be."""
    return [
        {
            "DATABASE_NAME": item.name.database,
            "SCHEMA_NAME": item.name.schema,
            "NAME": item.name.name,
            "COLUMN_NAME": column,
            "SEMANTIC_CATEGORY": kind,
            "PRIVACY_CATEGORY": CLASSES[kind].privacy.value if kind in CLASSES else None,
            "STATUS": status,
            "AT_INGEST": hidden.get(column),
        }
        for item in state.catalog.objects(RELATIONS)
        for hidden in [pii_at_ingest.strategies_of(state, item)]
        for column, kind, status in _listed(state, item)
    ]


def _listed(state: StateReader, item: CatalogObject) -> Iterator[tuple[str, str, str]]:
    known = classes_of(state, item)
    for column in _column_names(item):
        suspected = by_name(column)
        if column in known:
            yield column, known[column], "CLASSIFIED"
        elif suspected is not None:
            yield column, suspected.name, "SUSPECTED"


# -- classifying ------------------------------------------------------------------------------------------------------


def classify_table(run: Run, state: StateReader, arguments: Arguments) -> str:
    """SYSTEM$CLASSIFY('<table>' [, '{"sample_count": n, "auto_tag": true}'])."""
    item = _find(run, state, arguments[0])
    _require(run, item, "SELECT")
    options = _options(arguments[1] if len(arguments) > 1 else None)
    findings = [found for found in _findings(run, state, item, options["sample_count"]) if found is not None]
    if options["auto_tag"]:
        _require(run, item, "OWNERSHIP")
        certain = {each.column: each.found.name for each in findings if each.confidence is not Confidence.LOW}
        with run.state.begin() as writer:
            for column, kind in certain.items():
                if column not in classes_of(writer, item):
                    writer.parameters.set(ParameterLevel.TABLE, item.id, f"{CLASS}{column}", kind)
    return json.dumps({"classification_result": {each.column: each.as_json() for each in findings}})


def _findings(run: Run, state: StateReader, item: CatalogObject, rows: int) -> Iterator[PiiFinding | None]:
    """By column: what its values or its name speak for, or else what the column is that it is a copy of."""
    definition = item.definition
    assert isinstance(definition, TableDefinition | ViewDefinition)
    texts = [column.name for column in definition.columns if column.type.kind in _TEXTS]
    sampled = _sample(run, state, item, texts, rows) if texts and rows else {}
    graph = run.account.services[Lineage].whole_graph(run, state)
    for column in definition.columns:
        values = [str(value) for value in sampled.get(column.name, ()) if value is not None]
        yield classify(column.name, values) or _of_origin(state, graph, item, column.name)


def _sample(
    run: Run, state: StateReader, item: CatalogObject, columns: Sequence[str], rows: int
) -> Mapping[str, Sequence[Any]]:
    """Some values of each column."""
    definition = item.definition
    if isinstance(definition, TableDefinition):
        visible = state.versions.visible(item.id)
        if visible is None or not visible.rows:
            return {}
        sampled = run.account.store.sample(definition.location, visible.version, list(columns), rows)
        return {name: sampled.column(name).to_pylist() for name in columns}
    name = item.name
    query = exp.select(*(exp.column(exp.to_identifier(column, quoted=True)) for column in columns))
    text = query.from_(_table(name)).limit(rows).sql(dialect="snowflake")
    session = run.account.session(
        user=SYSTEM, role=item.owner, database=name.database, schema=name.schema, warehouse=run.session.warehouse
    )
    with closing(session):
        session.acts_as_owner = True
        return dict(zip(columns, zip(*session.execute(text).rows(), strict=True), strict=False))


def _of_origin(state: StateReader, graph: LineageGraph, item: CatalogObject, column: str) -> PiiFinding | None:
    """Under whatever name, and through however many tables, views and statements a value came: it is what it was."""
    for source, name in graph.copied_from(item.id, column):
        known = state.parameters.get(ParameterLevel.TABLE, source.object_id, f"{CLASS}{name}")
        if known == NOT_PERSONAL:
            return None
        found = CLASSES.get(known) if known is not None else by_name(name)
        if found is not None:
            return PiiFinding(column, found, Confidence.MEDIUM, 0.0)
    return None


def _options(given: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"sample_count": _SAMPLE, "auto_tag": False}
    if given is not None:
        try:
            read = json.loads(given) if isinstance(given, str) else dict(given)
        except ValueError:
            raise errors.invalid_value(str(given), "options") from None
        unknown = set(read) - set(found)
        if unknown:
            raise errors.invalid_value(min(unknown), "options")
        found |= read
    count = found["sample_count"]
    if not isinstance(count, int) or not 0 <= count <= _MOST_SAMPLED:
        raise errors.invalid_value(str(count), "sample_count")
    return found


def set_class(run: Run, state: StateReader, arguments: Arguments) -> str:
    """SYSTEM$SET_PII_CLASS('<table>', '<column>', '<class>'): NONE for what is not personal, NULL to forget."""
    item = _find(run, state, arguments[0])
    _require(run, item, "OWNERSHIP")
    column = _column_of(item, arguments[1])
    kind = None if arguments[2] is None else str(arguments[2]).upper()
    if kind is not None and kind != NOT_PERSONAL and kind not in CLASSES:
        raise errors.invalid_value(str(arguments[2]), "class")
    with run.state.begin() as writer:
        if kind is None:
            writer.parameters.unset(ParameterLevel.TABLE, item.id, f"{CLASS}{column}")
        else:
            writer.parameters.set(ParameterLevel.TABLE, item.id, f"{CLASS}{column}", kind)
    return f"{column}: {kind or 'not classified'}"


def set_strategy(run: Run, state: StateReader, arguments: Arguments) -> str:
    """SYSTEM$SET_PII_STRATEGY('<table>', '<column>', '<strategy>'): what is kept of values that come from outside."""
    item = _find(run, state, arguments[0])
    _require(run, item, "OWNERSHIP")
    definition = item.definition
    if not isinstance(definition, TableDefinition) or definition.dynamic is not None:
        raise errors.wrong_kind("VIEW" if not isinstance(definition, TableDefinition) else "DYNAMIC_TABLE", "TABLE")
    name = _column_of(item, arguments[1])
    strategy = Strategy.KEEP if arguments[2] is None else parse_strategy(str(arguments[2]))
    pii_at_ingest.check(next(column for column in definition.columns if column.name == name), strategy)
    key = f"{STRATEGY}{name}"
    with run.state.begin() as writer:
        if strategy is Strategy.KEEP:
            writer.parameters.unset(ParameterLevel.TABLE, item.id, key)
        else:
            writer.parameters.set(ParameterLevel.TABLE, item.id, key, strategy)
    return f"{name}: {strategy} at ingest"


def _column_of(item: CatalogObject, given: Any) -> str:
    parts = split_name(str(given))
    name = parts[-1] if parts is not None else str(given)
    if name not in _column_names(item):
        raise errors.invalid_identifier(str(given), 0, 0)
    return name


# -- hiding -----------------------------------------------------------------------------------------------------------


def view_text(run: Run, state: StateReader, arguments: Arguments) -> str:
    """SYSTEM$PII_VIEW('<table>', '<view>' [, '{"EMAIL": "HASH", "*": "MASK"}']): the CREATE VIEW that hides it."""
    item = _find(run, state, arguments[0])
    target = split_name(str(arguments[1]))
    if target is None or len(target) > 3:
        raise errors.invalid_value(str(arguments[1]), "view_name")
    try:
        given = json.loads(arguments[2]) if len(arguments) > 2 and arguments[2] is not None else {}
        strategies = parse_strategies({str(key): str(value) for key, value in given.items()})
    except (ValueError, AttributeError):
        raise errors.invalid_value(str(arguments[2]), "strategies") from None
    personal = {column: kind for column, kind, _ in _listed(state, item) if kind != NOT_PERSONAL}
    shown = protected([ClassifiedColumn(name, personal.get(name)) for name in _column_names(item)], strategies)
    query = exp.select(*shown).from_(_table(item.name))
    view = exp.Create(this=_table(run.object_name(target)), kind="VIEW", replace=True, expression=query)
    return view.sql(dialect="snowflake")


def _table(name: ObjectName) -> exp.Table:
    table, schema, database = (exp.to_identifier(part, quoted=True) for part in (name.name, name.schema, name.database))
    return exp.table_(table, schema, database)


def _find(run: Run, state: StateReader, named: Any) -> CatalogObject:
    parts = split_name(str(named))
    if parts is None or len(parts) > 3:
        raise errors.invalid_value(str(named), "table_name")
    full = run.object_name(parts)
    found = state.catalog.find(full, RELATIONS, run.session.id)
    if found is None:
        raise errors.not_found("Table", str(full))
    return found


def _require(run: Run, item: CatalogObject, privilege: str) -> None:
    if not run.authority.holds(privilege, Owned(item.id, item.owner)):
        raise errors.insufficient_privileges(item.kind.lower(), item.name.name)
