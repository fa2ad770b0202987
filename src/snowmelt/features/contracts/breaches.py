"""Whether columns are what was promised, and the error that says what is not and who is hit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snowmelt.core import errors
from snowmelt.features.contracts import errors as contract_errors
from snowmelt.features.contracts.promises import Promise
from snowmelt.govern.contracts.conformance import Breach, BreachKind
from snowmelt.govern.contracts.model import Contract, TableColumn
from snowmelt.state.model import CatalogObject


def lost(found: Iterable[Breach]) -> set[str]:
    """The declared columns that are not what was promised: a column more takes nothing from anybody."""
    return {breach.column for breach in found if breach.kind is not BreachKind.UNDECLARED}


def check_columns(
    promise: Promise, item: CatalogObject, now: Sequence[TableColumn], then: Sequence[TableColumn]
) -> None:
    """Raises, naming each breach and who is hit, when an object with those columns may not have these then."""
    floor = promise.satisfied(now)
    if floor is None:
        _check_no_worse(promise, item, now, then)
        return
    allowed = promise.versions[promise.versions.index(floor) :]
    if any(not promise.breaches(version, then) for version in allowed):
        return
    raise _breaking(promise, item, floor, promise.breaches(floor, then))


def _check_no_worse(
    promise: Promise, item: CatalogObject, now: Sequence[TableColumn], then: Sequence[TableColumn]
) -> None:
    """What broke its contract by other ways may be mended step by step, and not broken further."""
    newest = promise.versions[-1]
    worse = [item for item in promise.breaches(newest, then) if item not in promise.breaches(newest, now)]
    if worse:
        raise _breaking(promise, item, newest, worse)


def _breaking(
    promise: Promise, item: CatalogObject, version: Contract, found: Sequence[Breach]
) -> errors.SnowmeltError:
    return broken(promise, item, version, list(map(str, found)), promise.hit(lost(found)))


def broken(
    promise: Promise, item: CatalogObject, version: Contract, problems: list[str], hit: list[str]
) -> errors.SnowmeltError:
    return contract_errors.contract_broken(str(item.name), str(promise.contract), str(version.version), problems, hit)
