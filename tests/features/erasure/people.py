"""What is left of a person, asked of the files themselves and of every table, without the code that is tested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from snowmelt.runtime.session import Session

EMAIL = "ada@example.org"


def files_with(root: Path, text: str) -> Iterator[str]:
    """Files that have the text, Parquet as values."""
    for path in sorted(root.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix == ".parquet":
                content = repr(pq.read_table(path).to_pydict()).encode()
            if text.encode() in content:
                yield path.relative_to(root).as_posix()


def tables_with(session: Session, text: str) -> list[str]:
    """Tables and views that show the text in some row."""
    shown = session.execute("SHOW OBJECTS IN ACCOUNT")
    names = [column.name for column in shown.columns]
    found = []
    for row in shown.rows():
        values = dict(zip(names, row, strict=True))
        name = f'"{values["database_name"]}"."{values["schema_name"]}"."{values["name"]}"'
        if values["schema_name"] != "INFORMATION_SCHEMA" and text in repr(
            session.execute(f"SELECT * FROM {name}").rows()
        ):
            found.append(values["name"])
    return found
