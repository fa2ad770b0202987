"""The change log of a design: what became another, when, and by whom. A design that stayed the same gets no entry."""

from __future__ import annotations

import getpass
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

from snowmelt.design.model import Design, DesignChange
from snowmelt.design.requirements.reading import read

_FIRST = "0.1.0"


def logged(made: Design, folder: Path) -> Design:
    """With the log of the design that is in the folder, and an entry for what is another now.

    The day is that of SOURCE_DATE_EPOCH where it is set, the person GIT_AUTHOR_NAME, git's user or the login. Raises
    when what is there can't be read: its log would be lost.
    """
    path = folder / "design.yaml"
    before = read(path, Design) if path.is_file() else None
    return with_change(made, before, _today(), _person())


def with_change(made: Design, before: Design | None, today: date, person: str) -> Design:
    """Only designs of the same name are versions of one another."""
    if before is None or before.name.lower() != made.name.lower():
        return _with(made, (), DesignChange(version=_FIRST, date=today, by=person, what="first design"))
    if made.model_copy(update={"changes": before.changes}) == before:
        return before
    version = _next(before.changes[-1].version if before.changes else _FIRST)
    what = "; ".join(_differences(before, made)) or "details of what is there"
    return _with(made, before.changes, DesignChange(version=version, date=today, by=person, what=what))


def _with(made: Design, earlier: tuple[DesignChange, ...], change: DesignChange) -> Design:
    return made.model_copy(update={"changes": (*earlier, change)})


def _next(version: str) -> str:
    major, minor, _ = version.split(".")
    return f"{major}.{int(minor) + 1}.0"


# -- what is another --------------------------------------------------------------------------------------------------


def _differences(before: Design, after: Design) -> Iterator[str]:
    """For people: names that came, went or changed, and values as they were and are."""
    for what, pairs in (("sources", _sources), ("tables", _tables), ("sinks", _sinks), ("gates", _gates)):
        text = _listed(pairs(before), pairs(after))
        if text:
            yield f"{what}: {text}"
    old, new = _values(before), _values(after)
    for name, value in new.items():
        if value != old.get(name):
            yield f"{name}: {old.get(name) or 'none'} is now {value or 'none'}"


def _listed(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    words = [("new", [name for name in new if name not in old]), ("gone", [name for name in old if name not in new])]
    words.append(("changed", [name for name in new if name in old and new[name] != old[name]]))
    return ", ".join(f"{word} {_several(names)}" for word, names in words if names)


_MOST = 6


def _several(names: Iterable[str]) -> str:
    given = list(names)
    return ", ".join(given[:_MOST]) + (f" and {len(given) - _MOST} more" if len(given) > _MOST else "")


def _sources(design: Design) -> dict[str, object]:
    return {f"{item.name}.{table.name}": (table, item.capture.way) for item in design.sources for table in item.tables}


def _tables(design: Design) -> dict[str, object]:
    return {stage.name: (stage.sql, stage.key, stage.load) for stage in design.stages if stage.layer != "bronze"}


def _sinks(design: Design) -> dict[str, object]:
    return {sink.name: sink for sink in design.sinks}


def _gates(design: Design) -> dict[str, object]:
    found: dict[str, object] = {}
    for gate in design.quality:
        name = f"{gate.rule.check} of {gate.rule.table}"
        columns = ", ".join(gate.rule.columns)
        name = f"{name} ({columns})" if columns else name
        found[name if name not in found else f"{name}, once more"] = gate.rule
    return found


def _values(design: Design) -> dict[str, str]:
    pii = design.pii
    fixed = {
        "owner": design.owner, "freshness": design.service_level.freshness,
        "availability": design.service_level.availability, "runs": design.schedule.cron or "",
        "personal data": f"{pii.strategy} {', '.join(pii.columns)}" if pii is not None else "",
        "retention": design.retention or "",
    }  # fmt: skip
    contracts = {f"contract of {item.stage}": item.version for item in design.contracts}
    return fixed | {item.topic: item.outcome for item in design.decisions} | contracts


# -- when, and who ----------------------------------------------------------------------------------------------------


def _today() -> date:
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)).date()


def _person() -> str:
    named = os.environ.get("GIT_AUTHOR_NAME", "").strip()
    if named:
        return named
    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return getpass.getuser()
    return done.stdout.strip() or getpass.getuser()
