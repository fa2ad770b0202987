"""One look at everything that is kept: tables, dropped tables, files, and the state store."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snowmelt.features.erasure import files
from snowmelt.features.erasure.journal import FOLDER
from snowmelt.features.erasure.searching import ErasureStatements, PersonRows, TableSearch, search_of
from snowmelt.features.erasure.texts import Texts
from snowmelt.features.erasure.tracing import Traced, TracedCondition, Tracer
from snowmelt.features.quality import quarantine
from snowmelt.govern.erasure.identifiers import Mentions, names_one_person, with_pseudonyms
from snowmelt.govern.erasure.model import ErasureRequest, Found, LocationKind
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_NO_DATA = ("owner.lock", "owner.json", "token.key")


@dataclass(slots=True)
class Look:
    """What there is of the person now."""

    conditions: Mapping[str, Sequence[TracedCondition]]
    searches: dict[str, TableSearch] = field(default_factory=dict)
    """By table id."""
    rows: dict[str, PersonRows] = field(default_factory=dict)
    """Of tables that have any."""
    held: dict[str, int] = field(default_factory=dict)
    """Files of a table's folder that have something of the person, by table id."""
    other_files: list[Path] = field(default_factory=list)
    texts: int = 0
    definitions: tuple[str, ...] = ()
    unclear: Mapping[str, str] = field(default_factory=dict)
    searched: dict[str, int] = field(default_factory=dict)

    @property
    def tables(self) -> dict[str, CatalogObject]:
        return {id: search.table for id, search in self.searches.items()}


class Looker:
    def __init__(self, run: Run, request: ErasureRequest) -> None:
        self._run, self._account, self._request = run, run.account, request
        self._statements = ErasureStatements(run.account)

    def identifiers(self) -> tuple[str, ...]:
        """What the request names wherever it stands, and what the person's rows in named tables have of that kind."""
        given = [value for name, values in self._request.columns.items() for value in values
                 if names_one_person(name.rpartition(".")[2].strip('"'), value)]  # fmt: skip
        keys = [value for values in self._request.columns.values() for value in values]
        found = {*given, *self._request.values, *self._from_rows()}
        pseudonyms = with_pseudonyms([*keys, *found], self._account.token_key)
        return tuple(dict.fromkeys([*sorted(found), *(each for each in pseudonyms if len(each) > 30)]))

    def _from_rows(self) -> set[str]:
        found: set[str] = set()
        with self._run.account.state.read() as state:
            tracer = Tracer(self._run, state)
            named = [(tracer.named(name, values)) for name, values in self._request.columns.items()]
        for item, condition in named:
            definition = item.definition
            columns = [column.name for column in getattr(definition, "columns", ())]
            for row in self._statements.own_rows(item, columns, condition):
                for column, value in zip(columns, row, strict=True):
                    text = value if isinstance(value, str) else ""
                    if text in found or not names_one_person(column, text):
                        continue
                    if not self._statements.others_have(item, column, text, condition):
                        found.add(text)
        return found

    def rows_of(self, name: str, columns: Sequence[str]) -> list[list[Any]]:
        """Columns of the person's rows in one table or dynamic table."""
        identifiers = self.identifiers()
        with self._account.state.read() as state:
            tracer = Tracer(self._run, state)
            table = tracer.object(name)
            conditions = tracer.trace(self._request).conditions.get(table.id, ())
        search = search_of(table, conditions, identifiers)
        return self._statements.person_rows(search, columns) if search.looks else []

    def look(self, identifiers: Sequence[str]) -> Look:
        with self._account.state.read() as state:
            traced = Tracer(self._run, state).trace(self._request)
            tables = list(state.catalog.objects([ObjectKind.TABLE], all_sessions=True))
            self._to_their_errors(state, traced, {item.id: item for item in tables})
            dropped = list(dropped_tables(state).values())
        look = Look(traced.conditions, unclear=traced.unclear)
        for table in tables:
            if table.session_id is not None:
                continue
            search = look.searches[table.id] = search_of(table, traced.conditions.get(table.id, ()), identifiers)
            rows = self._statements.count(search)
            if rows.own or rows.mentions:
                look.rows[table.id] = rows
        mentions = Mentions(identifiers)
        self._look_at_files(look, mentions, [*tables, *dropped])
        self._account.journal.flush()
        with self._account.state.read() as state:
            texts = state[Texts].search(mentions) if mentions else None
        if texts is not None:
            look.texts, look.definitions = texts.mentioning, texts.definitions
            look.searched["texts"] = texts.searched
        look.searched["tables"] = len(look.searches)
        return look

    # -- tables that belong to tables -----------------------------------------------------------------------------

    def _to_their_errors(self, state: StateReader, traced: Traced, tables: Mapping[str, CatalogObject]) -> None:
        """Rows that were refused have the columns of where they were to go: quarantines, and dead letters of a flow."""
        for id, conditions in list(traced.conditions.items()):
            item = tables.get(id)
            kept = quarantine.found_for(state, item) if item is not None else None
            if kept is not None:
                traced.conditions[kept.id] += [each for each in conditions if each not in traced.conditions[kept.id]]
        letters = [item for item in tables.values() if {"FLOW", "REASON", "RECORD"} <= _names(item)]
        for channel in state.channels.of_tables(list(traced.conditions)) if letters else ():
            for condition in traced.conditions[channel.table_id]:
                if condition.column is None and _names(tables[channel.table_id]) >= {"RECORD"}:
                    of_flow = TracedCondition(
                        f"FLOW = ? AND ({condition.sql})", (channel.name, *condition.values), "refused on its way"
                    )
                    for letter in letters:
                        traced.conditions[letter.id].append(of_flow)

    # -- files ----------------------------------------------------------------------------------------------------

    def _look_at_files(self, look: Look, mentions: Mentions, tables: Sequence[CatalogObject]) -> None:
        folders = {folder: item for item in tables if (folder := self._folder(item)) is not None}
        named = _keys_by_name(look.conditions, {item.id: item for item in tables})
        linked = self._inodes(look)
        count = 0
        for root in self._roots():
            for path in files.files_below(root, [self._account.data_dir / FOLDER]):
                if path.name in _NO_DATA:
                    continue
                count += 1
                item = next((folders[parent] for parent in path.parents if parent in folders), None)
                keys = self._keys_of(item, path, named, linked)
                if files.has_person(path, mentions, keys):
                    if item is not None:
                        look.held[item.id] = look.held.get(item.id, 0) + 1
                    else:
                        look.other_files.append(path)
        look.searched["files"] = count

    def _keys_of(
        self, item: CatalogObject | None, path: Path, named: Mapping[str, files.Keys], linked: frozenset[int]
    ) -> files.Keys:
        """A dropped table is known by its name, or by files that it shares with one that is there."""
        if item is None:
            return {}
        if item.dropped_on is not None and path.suffix == ".parquet" and path.stat().st_ino in linked:
            return {name: values for keys in named.values() for name, values in keys.items()}
        return named.get(str(item.name), {})

    def _inodes(self, look: Look) -> frozenset[int]:
        found: set[int] = set()
        for id in look.conditions:
            search = look.searches.get(id)
            folder = self._folder(search.table) if search is not None else None
            for path in folder.rglob("*.parquet") if folder is not None and folder.is_dir() else ():
                found.add(path.stat().st_ino)
        return frozenset(found)

    def _folder(self, item: CatalogObject) -> Path | None:
        definition = item.definition
        assert isinstance(definition, TableDefinition)
        root = self._account.store.root
        return root.path(definition.location) if root.is_local_table(definition.location) else None

    def _roots(self) -> list[Path]:
        roots = [self._account.data_dir]
        root = self._account.store.root
        if root.is_local and not Path(root.uri).is_relative_to(self._account.data_dir.resolve()):
            roots.append(Path(root.uri))
        return [Path(os.path.realpath(each)) for each in roots]


def _names(item: CatalogObject) -> set[str]:
    definition = item.definition
    return {column.name for column in definition.columns} if isinstance(definition, TableDefinition) else set()


def _keys_by_name(
    conditions: Mapping[str, Sequence[TracedCondition]], tables: Mapping[str, CatalogObject]
) -> dict[str, files.Keys]:
    found: dict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for id, each in conditions.items():
        for condition in each if id in tables else ():
            if condition.column is not None:
                known = found[str(tables[id].name)]
                values = frozenset(str(value) for value in condition.values)
                known[condition.column.upper()] = known.get(condition.column.upper(), frozenset()) | values
    return dict(found)


def dropped_tables(state: StateReader) -> dict[str, CatalogObject]:
    """Dropped tables that UNDROP could bring back, by id."""
    every = state.whole_catalog.objects([ObjectKind.TABLE], include_dropped=True, all_sessions=True)
    return {item.id: item for item in every if item.dropped_on is not None}


def found_in(look: Look, request: ErasureRequest, account_tables: Mapping[str, CatalogObject]) -> tuple[Found, ...]:
    """The answer to a search: what was found, and where."""
    found: list[Found] = []
    for id, rows in look.rows.items():
        item = look.searches[id].table
        dynamic = getattr(item.definition, "dynamic", None) is not None
        kept = request.keep.get(str(item.name))
        action = f"stays: {kept}" if kept is not None else "refreshed without them" if dynamic else "deleted"
        location = LocationKind.DYNAMIC_TABLE if dynamic else LocationKind.TABLE
        found.append(Found(
            location=location, name=str(item.name), rows=rows.own, mentions=rows.mentions, how=look.searches[id].how,
            action=action,
        ))  # fmt: skip
    for id, count in look.held.items():
        table = account_tables.get(id)
        if table is not None:
            found.append(_in_files(table, count))
    naming = "has what names the person"
    others = [path for path in look.other_files if not path.name.startswith("state.db")]
    found += [_other(LocationKind.FILE, str(path), naming) for path in others]
    if look.texts or len(others) < len(look.other_files):
        blanked = _other(LocationKind.STATE_STORE, "histories", "mentioned in texts")
        found.append(blanked.model_copy(update={"rows": look.texts, "action": "mentions are blanked"}))
    found += [_other(LocationKind.DEFINITION, name, f"its text {naming}") for name in look.definitions]
    return tuple(sorted(found, key=lambda each: (list(LocationKind).index(each.location), each.name)))


def _in_files(table: CatalogObject, count: int) -> Found:
    location, how, action = LocationKind.OLD_VERSIONS, "in its files", "removed: time travel begins anew"
    if table.dropped_on is not None:
        location, action = LocationKind.DROPPED_TABLE, "removed for good: UNDROP can't bring it back"
    elif table.session_id is not None:
        location, how, action = LocationKind.TABLE, "temporary, of a session", ""
    return Found(location=location, name=str(table.name), rows=count, how=how, action=action)


def _other(location: LocationKind, name: str, how: str) -> Found:
    """A finding that a person has to take care of."""
    return Found(location=location, name=name, rows=1, how=how)
