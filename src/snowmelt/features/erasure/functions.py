"""Forgetting a person in SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from snowmelt.features.erasure.service import Forgetting
from snowmelt.govern.erasure.model import Erasure, read_request
from snowmelt.runtime.rights import enforcement
from snowmelt.runtime.system_functions import text
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_RIGHT = "MANAGE ACCOUNT"


def find_person(run: Run, _state: StateReader, arguments: Sequence[Any]) -> str:
    """SYSTEM$FIND_PERSON('<request>'): where the person is found, and what forgetting would do there, as JSON."""
    enforcement.require_on_account(run, _RIGHT)
    if len(arguments) > 1:
        return person_rows(run, _state, arguments)
    request = read_request(text(arguments[0], "request"))
    return _json(run.account.services[Forgetting].find(run, request))


def forget_person(run: Run, _state: StateReader, arguments: Sequence[Any]) -> str:
    """SYSTEM$FORGET_PERSON('<request>'): removes all of it, searches again, and answers the record, as JSON."""
    enforcement.require_on_account(run, _RIGHT)
    request = read_request(text(arguments[0], "request"))
    return _json(run.account.services[Forgetting].forget(run, request))


def person_rows(run: Run, _state: StateReader, arguments: Sequence[Any]) -> str:
    """SYSTEM$FIND_PERSON('<request>', '<table>', '<columns>'): these columns of the person's rows there, as JSON.

    Columns are a JSON array. What destinations outside have of the person is found by it.
    """
    request = read_request(text(arguments[0], "request"))
    columns = [str(name).upper() for name in json.loads(text(arguments[2], "columns"))]
    return json.dumps(run.account.services[Forgetting].rows(run, request, text(arguments[1], "table"), columns))


def resume_erasures(run: Run, _state: StateReader, _: Sequence[Any]) -> str:
    """SYSTEM$RESUME_ERASURES(): goes on with the requests that are not done; their records, as JSON."""
    enforcement.require_on_account(run, _RIGHT)
    return json.dumps([json.loads(_json(each)) for each in run.account.services[Forgetting].resume(run)])


def erasures(run: Run, _state: StateReader, _: Sequence[Any]) -> str:
    """SYSTEM$ERASURES(): the records of all requests, the oldest first, as JSON."""
    enforcement.require_on_account(run, _RIGHT)
    return json.dumps([json.loads(_json(each)) for each in run.account.services[Forgetting].journal.all()])


def _json(erasure: Erasure) -> str:
    """The record, without what identifies the person: no role may read that."""
    return erasure.without_person().model_dump_json()
