"""How a locale orders texts: a key that compares, byte for byte, as ICU compares the text. Here ICU is DuckDB's."""

from __future__ import annotations


def sort_key(texts: list[str | None], locale: str) -> list[str | None]:
    """The keys of texts, in hexadecimal. `locale` is one of ICU's and the number of levels: `en:2`.

    A connection of this call's own: one that a thread held would be ended by a fork, and crash the process of it.
    """
    try:
        import duckdb  # noqa: PLC0415 - a worker of a cluster may have no packages until it is asked for a key
    except ImportError as error:
        raise RuntimeError("Collations with a locale need the package duckdb on Spark's workers.") from error
    name, _, levels = locale.partition(":")
    asked = f"SELECT list_transform($1::VARCHAR[], lambda t: icu_sort_key(t, '{name}'))"
    with duckdb.cursor() as cursor:
        keys: list[str | None] = cursor.execute(asked, [texts]).fetchall()[0][0]
    return [None if key is None else _cut(key, int(levels)) for key in keys]


def _cut(key: str, levels: int) -> str:
    """The first levels of a key. ICU ends each with a byte 01, which no weight has."""
    return b"\x01".join(bytes.fromhex(key).split(b"\x01")[:levels]).hex()
