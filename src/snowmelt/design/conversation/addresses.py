"""Stores that a description names by a URI: `s3://lake/events/*.parquet`."""

from __future__ import annotations

from snowmelt.design.conversation.tokens import AnswerToken
from snowmelt.design.conversation.vocabulary import Store, vocabulary

_SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gcs", "sftp": "sftp", "http": "api", "https": "api", "file": "files",
            "postgres": "postgres", "postgresql": "postgres", "mysql": "mysql", "kafka": "kafka", "hdfs": "hdfs",
            "abfss": "azure_blob", "abfs": "azure_blob", "wasbs": "azure_blob", "az": "azure_blob"}  # fmt: skip


def store_of(token: AnswerToken) -> Store | None:
    name = _SCHEMES.get(token.word.partition("://")[0]) if token.kind == "uri" else None
    return vocabulary().stores[name] if name is not None else None


def folder_and_files(uri: str) -> tuple[str | None, tuple[str, ...]]:
    """The folder, and the files in it that are meant. Of an address that may hold a password nothing is kept."""
    if "@" in uri or not uri.startswith(("s3", "gs", "file", "http")):
        return None, ()
    if uri.startswith("http"):
        return uri, ()
    scheme, _, rest = uri.partition("://")
    folder, _, last = rest.rpartition("/")
    whole = "*" not in folder and ("*" in last or "." in last)
    return (f"{scheme}://{folder}", (last,)) if whole and folder else (uri.partition("*")[0].rstrip("/"), ())
