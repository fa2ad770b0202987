"""`snowmelt design review`: an existing pipeline read as an expert would read it: mode, gaps, flaws, cost, a patch."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from snowmelt.core.lag import parse_lag
from snowmelt.design.antipatterns.dbt import dbt_home
from snowmelt.design.antipatterns.linting import fixes, lint_paths, mended, read_text, source_files, unread_in
from snowmelt.design.antipatterns.model import LintFinding, Unread
from snowmelt.design.making.estimating import money, rates
from snowmelt.design.requirements.amounts import show_seconds

_DAY = 86_400
_MINUTE = 60
_LAG = re.compile(r"TARGET_LAG\s*=\s*'([^']+)'", re.IGNORECASE)
_COMPUTED = re.compile(r"CREATE\s+(?:OR\s+\w+\s+)?(?:DYNAMIC|SCD\s+TYPE\s+\d)\s+TABLE", re.IGNORECASE)
_GAPS = (
    (r"CREATE\s+(OR\s+\w+\s+)?ALERT|on_failure_callback|email_on_failure|alert_channel|CREATE\s+NOTIFICATION",
     "monitoring", "nobody is told when it fails or falls behind: alerts, with a channel that somebody reads"),
    (r"data_tests\s*:|\btests\s*:|QUALITY\s+CHECK|EXPECT|_quality_checks|DATA\s+METRIC", "quality",
     "nothing checks the rows before they are read: keys not empty and unique, freshness, accepted values"),
    (r"CONTRACT\b|contract\s*:", "contracts", "nothing says what readers may rely on: a contract on what is published"),
    (r"PRIMARY\s+KEY|UNIQUE|unique_key|KEY\s*\(|MERGE\s+INTO|ON\s+CONFLICT", "keys",
     "nothing identifies a row: what comes twice counts twice"),
    (r"dead_letters|ON_ERROR|error_table|dead.?letter|quarantine", "bad records",
     "nothing says what becomes of a record that does not fit"),
    (r"\braw_|\braw\b|bronze|landing|source\(", "raw data", "rows are not kept as they came: a mistake is final"),
)  # fmt: skip
"""What a pipeline should have: how it shows, its name, and the advice if it is missing."""


@dataclass(frozen=True, slots=True)
class Review:
    mode: str
    why: str
    gaps: tuple[tuple[str, str], ...]
    findings: tuple[LintFinding, ...]
    unread: tuple[Unread, ...]
    costs: tuple[str, ...]
    patch: str
    """As `git apply` takes it, for what can be mended without a decision."""


def review(paths: Sequence[Path]) -> Review:
    """Raises for a path that is not there. Nothing is run, and nothing is written."""
    files = [path for path in source_files(paths) if path.suffix in (".sql", ".py", ".yml", ".yaml")]
    texts = {path: read_text(path) for path in files}
    found = lint_paths(paths)
    mode, why = _mode(texts)
    gaps = tuple(
        (name, advice) for shown, name, advice in _GAPS
        if not any(re.search(shown, text, re.IGNORECASE) for text in texts.values())
    )  # fmt: skip
    return Review(mode, why, gaps, tuple(found), tuple(unread_in(paths)), tuple(_costs(texts.values())), _patch(found))


def review_texts(name: str, text: str, found: Sequence[LintFinding]) -> Review:
    """A review of an account, by its DDL and what was found in it."""
    texts = {Path(f"{name}.sql"): text}
    mode, why = _mode(texts)
    gaps = tuple((gap, advice) for shown, gap, advice in _GAPS if not re.search(shown, text, re.IGNORECASE))
    return Review(mode, why, gaps, tuple(found), (), tuple(_costs([text])), "")


def _mode(texts: dict[Path, str]) -> tuple[str, str]:
    whole = "\n".join(texts.values())
    lags = [seconds for lag in _LAG.findall(whole) if (seconds := parse_lag(lag))]
    if lags and min(lags) < _MINUTE:
        return "STREAMING", f"a table is kept within {show_seconds(min(lags))}"
    if re.search(r"readStream|kafka", whole, re.IGNORECASE):
        return "STREAMING", "it reads a stream of events"
    if lags:
        pattern = "micro-batch" if min(lags) < 900 else "ELT"
        return f"BATCH ({pattern})", f"the quickest table may be {show_seconds(min(lags))} old"
    if re.search(r"SYSTEM\$STREAM_HAS_DATA", whole, re.IGNORECASE):
        return "BATCH (micro-batch)", "tasks run when their stream has data"
    if any(dbt_home(path) is not None for path in texts):
        return "BATCH (ELT)", "dbt builds its models in the warehouse when somebody starts it"
    if found := re.search(r"USING CRON ([^'\"\n]+)|schedule(?:_interval)?\s*=\s*['\"]([^'\"]+)", whole, re.IGNORECASE):
        return "BATCH", f"it runs by schedule: {found[1] or found[2]}"
    return "BATCH", "nothing in it runs by itself"


def _costs(texts: Iterable[str]) -> Iterator[str]:
    """From the lags, by the measured time of a refresh; what it costs otherwise is not in the files."""
    whole = "\n".join(texts)
    tables = len(_COMPUTED.findall(whole))
    lags = [seconds for lag in _LAG.findall(whole) if (seconds := parse_lag(lag))]
    if tables and lags:
        rate = rates()["refresh_seconds"]
        busy = _DAY / min(lags) * tables * rate.value
        yield f"refreshes: {_DAY / min(lags):,.0f} a day of {tables} tables, {money(busy / 3600)} ({rate.benchmark})"
        yield f"twice the lag ({show_seconds(2 * min(lags))}): {money(busy / 7200)}"


def _patch(found: Sequence[LintFinding]) -> str:
    parts: list[str] = []
    for file, edits in sorted(fixes(found).items()):
        before = read_text(Path(file))
        after = mended(before, edits)
        name = file.lstrip("/")
        parts += difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
        )
    return "".join(parts)
