"""Reading, running and rewriting .slt files: SQL behaviour as text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from snowmelt.core.errors import SnowmeltError
from snowmelt.runtime.account import Account
from snowmelt.runtime.render import render
from snowmelt.runtime.results import Result
from snowmelt.runtime.session import Session


@dataclass
class Record:
    """One statement and what is expected of it."""

    line: int
    head: str
    """`statement ok`, `statement error 002003 …`, or `query …`."""
    sql: str
    session: str
    expected: list[str] = field(default_factory=list)
    first_expected: int = 0
    """The line after `----`, counted from 0; with `last_expected` the part that --rewrite replaces."""
    last_expected: int = 0


class MismatchError(AssertionError):
    pass


def parse(text: str) -> list[Record]:
    lines = text.split("\n")
    records: list[Record] = []
    index, session = 0, "main"
    while index < len(lines):
        line = lines[index]
        if not line.strip() or line.startswith("#"):
            index += 1
            continue
        if line.startswith("session "):
            session = line.split()[1]
            index += 1
            continue
        head, start = line.strip(), index + 1
        index += 1
        sql: list[str] = []
        while index < len(lines) and lines[index].strip() and lines[index] != "----":
            sql.append(lines[index])
            index += 1
        record = Record(start, head, "\n".join(sql), session)
        if index < len(lines) and lines[index] == "----":
            index += 1
            record.first_expected = index
            while index < len(lines) and lines[index].strip():
                record.expected.append(lines[index])
                index += 1
            record.last_expected = index
        records.append(record)
    return records


def shown(value: str | None) -> str:
    if value is None:
        return "NULL"
    if value == "":
        return "(empty)"
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("|", "\\|").replace("\r", "\\r")


def lines_of(result: Result, head: str) -> list[str]:
    words = head.split()
    rows = [
        " | ".join(shown(render(value, column.type)) for value, column in zip(row, result.columns, strict=True))
        for row in result.rows()
    ]
    if "rowsort" in words:
        rows.sort()
    if "names" in words:
        rows.insert(0, " | ".join(column.name for column in result.columns))
    if "types" in words:
        rows.insert(0, " | ".join(str(column.type) for column in result.columns))
    return rows


class SltFile:
    """Runs one file in a database of its own."""

    def __init__(self, account: Account, path: Path) -> None:
        self.account = account
        self.path = path
        self.database = re.sub(r"\W", "_", "_".join(path.with_suffix("").parts[-2:])).upper()
        self.sessions: dict[str, Session] = {}

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            self.sessions[name] = self.account.session(database=self.database)
        return self.sessions[name]

    def run(self, *, rewrite: bool = False) -> list[str]:
        """The mismatches; with `rewrite`, queries' expected rows are replaced by what came out."""
        text = self.path.read_text(encoding="utf-8")
        records = parse(text)
        setup = self.account.session()
        setup.execute(f"CREATE OR REPLACE DATABASE {self.database}")
        setup.close()
        problems: list[str] = []
        replacements: list[tuple[Record, list[str]]] = []
        try:
            for record in records:
                try:
                    produced = self._run(record)
                    if record.head.startswith("query") and produced != record.expected:
                        replacements.append((record, produced))
                        raise MismatchError(_difference(record.expected, produced))
                except MismatchError as mismatch:
                    problems.append(f"{self.path.name}:{record.line}: {record.sql.strip()[:200]}\n{mismatch}")
        finally:
            for session in self.sessions.values():
                session.close()
            drop_database(self.account, self.database)
        if rewrite and replacements:
            self._rewrite(text, replacements)
        return problems

    def _run(self, record: Record) -> list[str]:
        words = record.head.split(maxsplit=3)
        try:
            result = self.session(record.session).execute(record.sql)
        except SnowmeltError as error:
            if words[:2] != ["statement", "error"]:
                raise MismatchError(f"  failed: {error}") from error
            wanted = words[2] if len(words) > 2 else ""
            if wanted and error.code != wanted:
                raise MismatchError(f"  expected error {wanted}, got {error}") from error
            if len(words) > 3 and words[3] not in str(error):
                raise MismatchError(f"  expected {words[3]!r} in {error}") from error
            return []
        if words[:2] == ["statement", "error"]:
            raise MismatchError(f"  expected an error, got {lines_of(result, 'query')[:3]}")
        return lines_of(result, record.head) if words[0] == "query" else []

    def _rewrite(self, text: str, replacements: list[tuple[Record, list[str]]]) -> None:
        lines = text.split("\n")
        for record, produced in reversed(replacements):
            if record.first_expected:
                lines[record.first_expected : record.last_expected] = produced
            else:
                end = record.line + len(record.sql.split("\n"))
                lines[end:end] = ["----", *produced]
        self.path.write_text("\n".join(lines), encoding="utf-8")


def drop_database(account: Account, name: str) -> None:
    """Straight in the catalog: a test of DROP must not depend on DROP."""
    with account.state.begin() as state:
        if state.catalog.database(name) is not None:
            state.catalog.drop_database(name, state.now)


def _difference(expected: list[str], produced: list[str]) -> str:
    return "\n".join(
        [
            "  expected:",
            *(f"    {line}" for line in expected[:20]),
            "  got:",
            *(f"    {line}" for line in produced[:20]),
        ]
    )
