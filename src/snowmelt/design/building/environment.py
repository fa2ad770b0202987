""".env.example: every variable that a project reads, with an example of what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snowmelt.design.building.parts import Parts
from snowmelt.extract_load.sources.registry import SOURCES
from snowmelt.extract_load.transforming import TOKEN_KEY

_FOLDER = "exports"
_OBJECT_STORES = (
    ("s3://", ("AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")),
    ("gs://", ("GOOGLE_APPLICATION_CREDENTIALS=/path/to/service-account.json",)),
)


def environment_example(parts: Parts, channels: Iterable[str], *, keyed: bool) -> str:
    key = ["# the key by which personal data is hidden: long, random, and never changed", f"{TOKEN_KEY}=secret"]
    alerts = dict.fromkeys(line for channel in channels for line in _alerts(channel))
    return "\n".join([*_connections(parts), *_stores(parts), *(key if keyed else []), *alerts]) + "\n"


def _connections(parts: Parts) -> Iterator[str]:
    for variable, name in parts.variables.items():
        entry = parts.connections[name]
        is_address = entry["address"] == f"${{{variable}}}"
        yield f"# where {name} is" if is_address else f"# what {name} asks for"
        yield f"{variable}={_example_address(entry['kind']) if is_address else 'secret'}"
    if not parts.variables:
        yield "# no source and no sink needs a variable"


def _example_address(kind: str) -> str:
    """Destinations that are no kind of source are files of a folder."""
    return SOURCES[kind].example_address if kind in SOURCES else _FOLDER


def _stores(parts: Parts) -> Iterator[str]:
    kinds = {"s3": "s3://", "gcs": "gs://"}
    for scheme, variables in _OBJECT_STORES:
        used = any(
            str(entry["address"]).startswith(scheme) or kinds.get(str(entry["kind"])) == scheme
            for entry in parts.connections.values()
        )
        if used:
            yield "# credentials of the object store; none where the machine has a role"
            yield from variables


def _alerts(channel: str) -> Iterator[str]:
    kind, _, where = channel.partition(":")
    if kind in ("webhook", "slack"):
        yield "# where alerts are posted"
        yield f"{where}=https://host/hook"
    elif kind == "email":
        yield "# the mail server that sends alerts"
        yield "MAIL_URL=mailtos://user:password@host?from=pipelines@host"
