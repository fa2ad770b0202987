"""Options of tables and connections: what each holds, and what is wrong with those that were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OptionRule:
    words: str
    """What the option must be."""
    true_of: Callable[[Any], bool]


Known = Mapping[str, OptionRule]
"""What each option holds, by its name."""


def one_of(*words: str) -> OptionRule:
    return OptionRule(f"one of {', '.join(words)}", lambda value: value in words)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


COUNT = OptionRule("a whole number above 0", lambda value: _is_number(value) and isinstance(value, int))
SECONDS = OptionRule("a number of seconds", lambda value: value == 0 or (_is_number(value) and isinstance(value, int)))
RATE = OptionRule("a number above 0", _is_number)
TEXT = OptionRule("a text", lambda value: isinstance(value, str) and value != "")
CHARACTER = OptionRule("one character", lambda value: isinstance(value, str) and len(value) == 1)
PAIRS = OptionRule("names with their values", lambda value: isinstance(value, Mapping))

S3: Known = dict.fromkeys(("region", "endpoint", "access_key", "secret_key", "session_token"), TEXT)
SFTP: Known = dict.fromkeys(("password", "private_key", "passphrase", "known_hosts"), TEXT)
STORES: Known = {**S3, **SFTP, "token": TEXT}
LOGIN: Known = {
    "auth": one_of("none", "bearer", "basic", "api_key"), "token": TEXT, "user": TEXT, "password": TEXT,
    "name": TEXT, "value": TEXT, "in": one_of("header", "query"), "requests_per_second": RATE,
}  # fmt: skip
SINK_OPTIONS: Mapping[str, Known | None] = {
    "snowmelt": {}, "postgres": {}, "parquet": STORES, "csv": STORES, "delta": STORES,
    "api": {**LOGIN, "path": TEXT, "method": one_of("POST", "PUT", "PATCH"), "idempotency_header": TEXT},
}  # fmt: skip
"""Of the connection to a destination."""


def option_problems(options: Options, known: Known | None) -> Iterator[str]:
    """Problems of the options, each with what would be right."""
    for name, value in options.items() if known is not None else ():
        rule = known.get(name) if known is not None else None
        if rule is None:
            listed = f"known are {', '.join(sorted(known))}" if known else "there are none"
            yield f"there is no option {name}; {listed}"
        elif not rule.true_of(value) and not _is_reference(value):
            # Not what it is: it may be a secret.
            yield f"{name} must be {rule.words}"


def _is_reference(value: Any) -> bool:
    """A name in the environment, whose value is known when it runs."""
    return isinstance(value, str) and value.startswith("${") and value.endswith("}")
