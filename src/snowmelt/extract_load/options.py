"""Options of tables and connections: which there are for each kind, and what each holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from snowmelt.core import errors

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Holds:
    words: str
    true_of: Callable[[Any], bool]


Known = Mapping[str, _Holds]
"""What each option holds, by its name."""


def _one_of(*words: str) -> _Holds:
    return _Holds(f"one of {', '.join(words)}", lambda value: value in words)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


_COUNT = _Holds("a whole number above 0", lambda value: _is_number(value) and isinstance(value, int))
_RATE = _Holds("a number above 0", _is_number)
_TEXT = _Holds("a text", lambda value: isinstance(value, str) and value != "")
_CHARACTER = _Holds("one character", lambda value: isinstance(value, str) and len(value) == 1)
_PAIRS = _Holds("names with their values", lambda value: isinstance(value, Mapping))

_DATABASE = {"batch_rows": _COUNT, "parallel": _COUNT}
_FILES = {
    "batch_rows": _COUNT, "format": _one_of("csv", "tsv", "json", "jsonl", "parquet", "avro"), "delimiter": _CHARACTER,
}  # fmt: skip
_API = {
    "batch_rows": _COUNT, "paging": _one_of("none", "page", "offset", "cursor", "link", "next"), "page_size": _COUNT,
    "page_parameter": _TEXT, "size_parameter": _TEXT, "cursor_path": _TEXT, "cursor_parameter": _TEXT,
    "records": _TEXT, "since_parameter": _TEXT, "parameters": _PAIRS, "requests_per_second": _RATE,
}  # fmt: skip
TABLE_OPTIONS: Mapping[str, Known] = {
    "postgres": _DATABASE, "mysql": _DATABASE, "mariadb": _DATABASE, "files": _FILES, "s3": _FILES, "gcs": _FILES,
    "sftp": _FILES, "kafka": {"batch_rows": _COUNT}, "api": _API, "snowmelt": {},
}  # fmt: skip
"""How a table, topic, endpoint or kind of file is read, by the kind of its source."""

_S3 = ("region", "endpoint", "access_key", "secret_key", "session_token")
_SFTP = ("password", "private_key", "passphrase", "known_hosts")
_STORES = dict.fromkeys((*_S3, *_SFTP, "token"), _TEXT)
_LOGIN: Known = {
    "auth": _one_of("none", "bearer", "basic", "api_key"), "token": _TEXT, "user": _TEXT, "password": _TEXT,
    "name": _TEXT, "value": _TEXT, "in": _one_of("header", "query"), "requests_per_second": _RATE,
}  # fmt: skip
SOURCE_OPTIONS: Mapping[str, Known | None] = {
    "postgres": {}, "mysql": {}, "mariadb": {}, "snowmelt": {}, "files": _STORES, "s3": dict.fromkeys(_S3, _TEXT),
    "gcs": {"endpoint": _TEXT}, "sftp": dict.fromkeys(_SFTP, _TEXT), "kafka": None, "api": _LOGIN,
}  # fmt: skip
"""Of the connection to a source; None where any may be one (those of librdkafka)."""
SINK_OPTIONS: Mapping[str, Known | None] = {
    "snowmelt": {}, "postgres": {}, "parquet": _STORES, "csv": _STORES, "delta": _STORES,
    "api": {**_LOGIN, "path": _TEXT, "method": _one_of("POST", "PUT", "PATCH"), "idempotency_header": _TEXT},
}  # fmt: skip
"""Of the connection to a destination."""


def option_problems(options: Options, known: Known | None) -> Iterator[str]:
    """What is wrong with options, each with what would be right."""
    for name, value in options.items() if known is not None else ():
        held = known.get(name) if known is not None else None
        if held is None:
            listed = f"known are {', '.join(sorted(known))}" if known else "there are none"
            yield f"there is no option {name}; {listed}"
        elif not held.true_of(value) and not _is_reference(value):
            # Not what it is: it may be a secret.
            yield f"{name} must be {held.words}"


def _is_reference(value: Any) -> bool:
    """A name in the environment, whose value is known when it runs."""
    return isinstance(value, str) and value.startswith("${") and value.endswith("}")


def check_table_options(kind: str, table: str, options: Options) -> None:
    problems = list(option_problems(options, TABLE_OPTIONS.get(kind)))
    if problems:
        raise errors.configuration(f"{table}: {'; '.join(problems)}.", hint="docs/reference/pipelines.md lists them.")
