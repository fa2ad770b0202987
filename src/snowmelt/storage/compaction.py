"""Putting small files together: the same rows in fewer files, by a commit that says it changes nothing.

Only neighbours are put together, and their file stands where the first of them stood: rows keep their order. The new
files carry the birthplace of every row (`storage.origins`), and say so in the log: whoever reads changes
knows that rows have kept their identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from snowmelt.core.faults import reached
from snowmelt.storage.append import TARGET_FILE_BYTES, new_file, parts, removed_on_failure, write_file
from snowmelt.storage.flushing import flush
from snowmelt.storage.log import Action
from snowmelt.storage.origins import KEPT_TAG
from snowmelt.storage.rewrite import read_rows, removals
from snowmelt.storage.snapshot import DataFile, FileList

FEWEST_FILES = 32
"""Compaction is worth while from this many small files in a row."""
MOST_BYTES = 64 << 20
"""On disk, put together at a time."""
_LARGE = 16 << 20
"""Bytes from which on a file is left alone."""
_FACTOR = 8
"""From one generation to the next, files have at least so many times as many rows."""
_SCATTERED = 8
"""Small files between large ones: once there are many, neighbours are worth while from this part of the number on."""
_BYTES_A_ROW = 64
"""A guess, for files whose writer left no row count."""


def neighbours(files: Sequence[DataFile], fewest: int = FEWEST_FILES) -> list[tuple[DataFile, ...]]:
    """Which files to put together, each group by itself; the smallest files first, and none twice.

    Files are of generations, by their number of rows. A group is worth while only when enough files of its oldest
    generation are in it, and makes one of the next: a row is written once a generation, however often
    single rows come. Did small files alone make a group with a large one worth while, they would have it written anew
    every time that there are enough of them.
    """
    generations = [_generation(file, fewest) for file in files]
    chosen: list[tuple[DataFile, ...]] = []
    taken: set[str] = set()
    # The oldest generation first, whose groups take in what lies between: where small files come all the time, there
    # is always a group of them, and the others would wait for ever.
    for generation in sorted({found for found in generations if found is not None}, reverse=True):
        for run in _worth_while(_runs(files, generations, generation), fewest, generation):
            if taken.isdisjoint(file.path for file in run):
                chosen.append(run)
                taken.update(file.path for file in run)
    return chosen[::-1]


def _worth_while(
    runs: Sequence[tuple[tuple[DataFile, ...], int]], fewest: int, generation: int
) -> list[tuple[DataFile, ...]]:
    enough = fewest if generation == 0 else max(2, fewest // 4)
    found = [run for run, count in runs if count >= enough]
    if not found and sum(count for _, count in runs) >= 4 * enough:
        return [run for run, count in runs if count >= max(2, enough // _SCATTERED)]
    return found


def _generation(file: DataFile, fewest: int) -> int | None:
    """None: the file is not to be put together with others."""
    if file.size >= _LARGE or file.deletion_vector:
        return None
    rows = file.rows if file.rows is not None else file.size // _BYTES_A_ROW
    generation = 0
    while rows >= fewest * _FACTOR**generation:
        generation += 1
    return generation


def _runs(
    files: Sequence[DataFile], generations: Sequence[int | None], oldest: int
) -> list[tuple[tuple[DataFile, ...], int]]:
    """Neighbours of no older generation, as many as are put together at a time; and how many are of just that one."""
    runs: list[tuple[list[DataFile], list[DataFile]]] = [([], [])]
    total = 0
    for file, generation in zip(files, generations, strict=True):
        if generation is None or generation > oldest:
            runs.append(([], []))
            total = 0
            continue
        total += file.size
        if total > MOST_BYTES:
            runs.append(([], []))
            total = file.size
        runs[-1][0].append(file)
        if generation == oldest:
            runs[-1][1].append(file)
    return [(tuple(run), len(counted)) for run, counted in runs if len(run) > 1]


def write_together(folder: Path, files: FileList, chosen: Sequence[DataFile], location: str) -> list[Action]:
    """Writes the rows of files into new ones; returns the actions that put them in place of the old."""
    schema = files.metadata.arrow_schema
    rows = pa.concat_tables([read_rows(file, schema, location, origins=True) for file in chosen])
    adds: list[Action] = []
    with removed_on_failure(folder, adds):
        for piece in parts(rows, TARGET_FILE_BYTES):
            path = new_file(folder)
            add = write_file(piece, path)
            # On disk before the table is taken, so that nobody waits for it then.
            flush(path)
            # Who sorts files by when they were written finds this one where the first of the old ones was.
            written = chosen[0].written_at + len(adds)
            add["add"] |= {"dataChange": False, "tags": {KEPT_TAG: "true"}, "modificationTime": written}
            adds.append(add)
            reached("rows-put-together")
    removes = removals(chosen)
    for remove in removes:
        remove["remove"]["dataChange"] = False
    return [*removes, *adds]
