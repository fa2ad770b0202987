""".env.example: every variable that a project reads, with an example of what it holds."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.design.building.parts import Parts

_ADDRESSES = {
    "postgres": "postgresql://user:password@host:5432/database", "mysql": "mysql://user:password@host:3306/database",
    "api": "https://host/v1", "s3": "s3://bucket/prefix", "gcs": "gs://bucket/prefix",
    "sftp": "sftp://user@host:22/folder", "kafka": "host:9092", "files": "incoming", "parquet": "exports",
    "csv": "exports", "delta": "exports",
}  # fmt: skip
_OBJECT_STORES = (
    ("s3://", ("AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")),
    ("gs://", ("GOOGLE_APPLICATION_CREDENTIALS=/path/to/service-account.json",)),
)


def environment_example(parts: Parts, channel: str) -> str:
    return "\n".join([*_connections(parts), *_stores(parts), *_alerts(channel)]) + "\n"


def _connections(parts: Parts) -> Iterator[str]:
    for variable, name in parts.variables.items():
        entry = parts.connections[name]
        is_address = entry["address"] == f"${{{variable}}}"
        yield f"# where {name} is" if is_address else f"# what {name} asks for"
        yield f"{variable}={_ADDRESSES[entry['kind']] if is_address else 'secret'}"
    if not parts.variables:
        yield "# no source and no sink needs a variable"


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
    if kind == "webhook":
        yield "# where alerts are posted"
        yield f"{where}=https://host/hook"
    elif kind == "email":
        yield "# the mail server that sends alerts"
        yield "MAIL_URL=mailtos://user:password@host?from=pipelines@host"
