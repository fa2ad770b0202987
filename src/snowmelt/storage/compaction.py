"""Putting small files together: the same rows in fewer files, by a commit that says it changes nothing.

The new files carry the birthplace of every row (`storage.origins`), and say so in the log: whoever reads changes
knows that rows have kept their identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from snowmelt.storage.append import TARGET_FILE_BYTES, new_file, parts, removed_on_failure, write_file
from snowmelt.storage.log import Action
from snowmelt.storage.origins import KEPT_TAG
from snowmelt.storage.rewrite import read_rows, removals
from snowmelt.storage.snapshot import DataFile, FileList


def write_together(folder: Path, files: FileList, chosen: Sequence[DataFile], location: str) -> list[Action]:
    """Writes the rows of files into new ones; returns the actions that put them in place of the old."""
    schema = files.metadata.arrow_schema
    rows = pa.concat_tables([read_rows(file, schema, location, origins=True) for file in chosen])
    adds: list[Action] = []
    with removed_on_failure(folder, adds):
        for piece in parts(rows, TARGET_FILE_BYTES):
            add = write_file(piece, new_file(folder))
            add["add"] |= {"dataChange": False, "tags": {KEPT_TAG: "true"}}
            adds.append(add)
    removes = removals(chosen)
    for remove in removes:
        remove["remove"]["dataChange"] = False
    return [*removes, *adds]
