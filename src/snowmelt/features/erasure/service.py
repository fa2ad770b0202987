"""Forgetting a person, step by step. Each step may be repeated: what is done already is not there any more.

1. Rows go from tables, and mentions from texts of others' rows.
2. Dynamic tables that were made of them are refreshed.
3. Streams pass over what that changed, where they have nothing else to give.
4. What tables were before goes: old versions, their files, change feeds, the start of the log.
5. Dropped tables that have something go for good.
6. Histories in the state store have their mentions blanked, and its file is written anew.
7. Everything is searched again. Only when nothing is found is the request done, and what names the person goes from it.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

import structlog

from snowmelt.core import errors
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.faults import reached
from snowmelt.features.erasure.journal import ErasureJournal
from snowmelt.features.erasure.looking import Look, Looker, dropped_tables, found_in
from snowmelt.features.erasure.searching import ErasureStatements
from snowmelt.features.erasure.texts import BATCH, Texts
from snowmelt.features.erasure.tracing import Tracer
from snowmelt.features.erasure.versions import clear_history, pass_over
from snowmelt.features.upkeep.purge import purge_dropped
from snowmelt.govern.erasure.identifiers import Mentions, fingerprint
from snowmelt.govern.erasure.model import Erasure, ErasureRequest, Found, LocationKind
from snowmelt.runtime.metadata.ddl_words import object_name
from snowmelt.runtime.spilling import FOLDER as RESULTS
from snowmelt.state.ids import new_id
from snowmelt.state.model import CatalogObject, ObjectKind, TableDefinition

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_log = structlog.get_logger(__name__)
_ROUNDS = 3
"""What consumers of streams write meanwhile is found by the next round."""


class Forgetting:
    def __init__(self, account: Account) -> None:
        self._account = account
        self.journal = ErasureJournal(account.data_dir)
        self._one_at_a_time = threading.Lock()

    def find(self, run: Run, request: ErasureRequest) -> Erasure:
        """What there is of the person, and what would be done. Changes nothing."""
        request = self._resolved(run, request)
        looker = Looker(run, request)
        look = looker.look(looker.identifiers())
        return Erasure(
            id="", asked_by=run.session.user, asked_at=run.now, reason=request.reason, state="FOUND",
            found=self._to_show(look, request), searched=look.searched, kept=request.keep,
        )  # fmt: skip

    def forget(self, run: Run, request: ErasureRequest) -> Erasure:
        request = self._resolved(run, request)
        looker = Looker(run, request)
        identifiers = looker.identifiers()
        look = looker.look(identifiers)
        named = [value for values in request.columns.values() for value in values]
        erasure = Erasure(
            id=new_id(), asked_by=run.session.user, asked_at=run.now, reason=request.reason, request=request,
            identifiers=identifiers, found=self._to_show(look, request), kept=request.keep,
            fingerprint=fingerprint([*named, *request.values], self._account.token_key),
        )  # fmt: skip
        self.journal.put(erasure)
        reached("erasure-noted")
        return self._finish(run, erasure)

    def rows(self, run: Run, request: ErasureRequest, table: str, columns: Sequence[str]) -> list[list[Any]]:
        """Columns of the person's rows in one table, for whoever has to find them elsewhere."""
        return Looker(run, self._resolved(run, request)).rows_of(table, columns)

    def _resolved(self, run: Run, request: ErasureRequest) -> ErasureRequest:
        """With the full names of tables that are kept."""
        with self._account.state.read() as state:
            tracer = Tracer(run, state)
            keep = {str(tracer.object(name).name): reason for name, reason in request.keep.items()}
        return request.model_copy(update={"keep": keep})

    def resume(self, run: Run) -> list[Erasure]:
        """Goes on with every request that is not done."""
        return [self._finish(run, erasure) for erasure in self.journal.all() if erasure.request is not None]

    def _finish(self, run: Run, erasure: Erasure) -> Erasure:
        if not self._one_at_a_time.acquire(blocking=False):
            raise errors.configuration(
                "Another request to forget a person is under way.", hint="Wait for it, then resume this one."
            )
        try:
            return self._rounds(run, erasure)
        finally:
            self._one_at_a_time.release()

    def _rounds(self, run: Run, erasure: Erasure) -> Erasure:
        request = erasure.request
        assert request is not None
        obstacles: dict[str, str] = {}
        left: tuple[Found, ...] = ()
        look = Looker(run, request).look(erasure.identifiers)
        for _ in range(_ROUNDS):
            round_ = _Round(run, erasure, look, self.journal)
            obstacles = round_.carry_out()
            erasure = round_.erasure
            look = Looker(run, request).look(erasure.identifiers)
            left = self._to_show(look, request, obstacles)
            if not [each for each in left if not self._is_kept(each, request)] and not obstacles:
                break
        open_ = tuple(each for each in left if not self._is_kept(each, request))
        done = erasure.model_copy(
            update={"left": left, "searched": look.searched, "done_at": self._account.clock.now()}
        )
        if open_ or obstacles:
            return self.journal.put(done.model_copy(update={"state": "INCOMPLETE"}))
        reached("erasure-proved")
        _log.info("person_forgotten", erasure=done.id, locations=len(done.found), searched=done.searched)
        return self.journal.put(done.model_copy(update={"state": "DONE"}).without_person())

    def _is_kept(self, found: Found, request: ErasureRequest) -> bool:
        return found.name in request.keep

    def _to_show(
        self, look: Look, request: ErasureRequest, obstacles: dict[str, str] | None = None
    ) -> tuple[Found, ...]:
        with self._account.state.read() as state:
            tables = {item.id: item for item in state.whole_catalog.objects(
                [ObjectKind.TABLE], include_dropped=True, all_sessions=True)}  # fmt: skip
        shown = found_in(look, request, tables)
        unclear = tuple(
            Found(location=LocationKind.TABLE, name=name, rows=0, how=why, action="")
            for name, why in look.unclear.items()
            if obstacles is None
        )
        stopped = tuple(
            Found(location=LocationKind.OLD_VERSIONS, name=name, rows=0, how=why, action="")
            for name, why in (obstacles or {}).items()
        )
        return (*shown, *unclear, *stopped)


class _Round:
    def __init__(self, run: Run, erasure: Erasure, look: Look, journal: ErasureJournal) -> None:
        assert erasure.request is not None
        self._run, self._account = run, run.account
        self.erasure, self._request, self._look, self._journal = erasure, erasure.request, look, journal
        self._statements = ErasureStatements(run.account)

    def carry_out(self) -> dict[str, str]:
        """Removes what was found. Gives what is in the way of that, by name of a table."""
        obstacles: dict[str, str] = {}
        queries = self._remove_rows(obstacles)
        reached("erasure-rows-removed")
        affected = self._refresh(self._affected(), obstacles)
        reached("erasure-refreshed")
        self._note(queries)
        pass_over(self._account, self.erasure.statements)
        reached("erasure-streams-moved")
        for table in affected:
            why = clear_history(self._run, table)
            if why is not None:
                obstacles[str(table.name)] = why
            reached("erasure-history-cleared")
        self._purge()
        self._blank_texts()
        return obstacles

    # -- rows -----------------------------------------------------------------------------------------------------

    def _remove_rows(self, obstacles: dict[str, str]) -> list[str]:
        queries: list[str] = []
        for id, rows in self._look.rows.items():
            search = self._look.searches[id]
            if _is_dynamic(search.table) or self._kept(search.table):
                continue
            try:
                if rows.own:
                    queries.append(self._statements.delete(search))
                    self._note(queries)
                if rows.mentions:
                    queries.append(self._statements.blank(search, self.erasure.identifiers))
                    self._note(queries)
            except SnowmeltError as error:
                obstacles[str(search.table.name)] = f"its rows can't be changed: {error.text}"
            reached("erasure-table-changed")
        return queries

    def _kept(self, table: CatalogObject) -> bool:
        return str(table.name) in self._request.keep

    def _note(self, queries: Iterable[str]) -> None:
        """Which statements were ours must be known after a kill, too: streams pass over what they changed."""
        known = dict.fromkeys([*self.erasure.statements, *queries])
        if len(known) > len(self.erasure.statements):
            self.erasure = self._journal.put(self.erasure.model_copy(update={"statements": tuple(known)}))

    # -- what was made of them ------------------------------------------------------------------------------------

    def _affected(self) -> list[CatalogObject]:
        ids = {*self._look.rows, *self._look.held, *(id for id, each in self._look.conditions.items() if each)}
        return [item for id, item in self._look.tables.items() if id in ids and not self._kept(item)]

    def _refresh(self, changed: list[CatalogObject], obstacles: dict[str, str]) -> list[CatalogObject]:
        """Refreshes all that was made of these tables, directly or not; returns them with it."""
        ids = {item.id for item in changed}
        tables = self._look.tables
        with self._account.state.read() as state:
            dynamic = state.dynamic.all()
        found = True
        while found:
            found = False
            for id, standing in dynamic.items():
                if id not in ids and id in tables and ids & standing.frontier.keys():
                    ids.add(id)
                    found = True
        for id in _upstream_first({id: dynamic[id].frontier.keys() for id in ids & dynamic.keys()}):
            item = tables[id]
            if dynamic[id].operator_states and (id in self._look.held or id in self._look.rows):
                # What it keeps between refreshes has rows, too: it is made anew.
                with self._account.state.begin() as state:
                    state.dynamic.change(id, reinit_reason="A person was forgotten.")
            try:
                self._statements.execute(f"ALTER DYNAMIC TABLE {object_name(item.name, qualified=True)} REFRESH")
            except SnowmeltError as error:
                obstacles[str(item.name)] = f"it can't be refreshed: {error.text}"
        return [tables[id] for id in sorted(ids) if not self._kept(tables[id])]

    # -- the rest -------------------------------------------------------------------------------------------------

    def _purge(self) -> None:
        with self._account.state.read() as state:
            dropped = dropped_tables(state)
        for id in self._look.held:
            if id in dropped:
                purge_dropped(self._account, id)
                reached("erasure-dropped-purged")

    def _blank_texts(self) -> None:
        mentions = Mentions(self.erasure.identifiers)
        if not mentions:
            return
        # Answers that nobody fetched yet are rows of tables, too.
        shutil.rmtree(self._account.data_dir / RESULTS, ignore_errors=True)
        self._account.journal.flush()
        while True:
            with self._account.state.begin() as state:
                done = state[Texts].erase(mentions, BATCH)
            reached("erasure-texts-blanked")
            if done < BATCH:
                break
        self._account.state.rewrite()


def _upstream_first(sources: Mapping[str, Iterable[str]]) -> list[str]:
    """Tables behind those that they read: one that is made anew later leaves its readers at a version that goes."""
    order = TopologicalSorter({id: sorted(set(read) & sources.keys()) for id, read in sorted(sources.items())})
    return list(order.static_order())


def _is_dynamic(table: CatalogObject) -> bool:
    return isinstance(table.definition, TableDefinition) and table.definition.dynamic is not None
