"""Which files are put together, over a long life of a table: few files at any time, and each row written few times."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from snowmelt.storage.compaction import neighbours
from snowmelt.storage.snapshot import DataFile

_numbers = itertools.count()


def file_of(rows: int, row_bytes: int) -> DataFile:
    path = f"part-{next(_numbers)}.parquet"
    return DataFile(f"file:///{path}", path, 900 + rows * row_bytes, rows)


def lives(commits: int, rows: int, row_bytes: int, look: int) -> Iterator[tuple[int, int]]:
    """At every look, how many files there are after it, and how many rows were written to put files together."""
    files: list[DataFile] = []
    written = 0
    for number in range(1, commits + 1):
        files.append(file_of(rows, row_bytes))
        if number % look:
            continue
        for group in neighbours(files):
            made = file_of(sum(file.rows or 0 for file in group), row_bytes)
            written += made.rows or 0
            place = files.index(group[0])
            assert files[place : place + len(group)] == list(group), "not next to each other"
            files[place : place + len(group)] = [made]
        yield len(files), written


@pytest.mark.parametrize(("rows", "row_bytes", "look"), [(1, 22, 15), (1, 4000, 40), (100, 22, 15), (700, 300, 15)])
def test_a_commit_a_second(rows: int, row_bytes: int, look: int) -> None:
    commits = 86_400
    found = list(lives(commits, rows, row_bytes, look=look))
    total = commits * rows
    large = total * row_bytes // (16 << 20)
    # 32 of the smallest, and eight of each generation after them.
    assert max(files for files, _ in found) <= 32 + look + 8 * 6 + large
    assert found[-1][1] <= 7 * total, "rows are written too often"


def test_a_large_file_does_not_go_with_small_ones() -> None:
    large, small = file_of(100_000, 22), [file_of(1, 22) for _ in range(31)]
    assert neighbours([large, *small]) == []
    small.append(file_of(1, 22))
    assert neighbours([large, *small]) == [tuple(small)]


def test_files_without_a_row_count() -> None:
    unknown = [DataFile(f"file:///{n}", f"{n}", 1000, None) for n in range(32)]
    assert neighbours(unknown) == [tuple(unknown)]


def test_small_files_between_large_ones() -> None:
    files = [each for _ in range(20) for each in (file_of(1_000_000, 22), *(file_of(1, 22) for _ in range(7)))]
    assert [len(group) for group in neighbours(files)] == [7] * 20
