"""A little account that knows just enough SQL for runs to be interrupted at every place, in milliseconds."""

from __future__ import annotations

import re

import pyarrow as pa

from snowmelt.core import errors, types
from snowmelt.playbooks.model import CheckpointDecision, PlaybookStep, Probe
from snowmelt.playbooks.ports import CheckpointAnswer, CheckpointQuestion
from snowmelt.runtime.results import Result, ResultColumn

_CREATE = re.compile(r"CREATE TABLE IF NOT EXISTS (\S+)")
_DROP = re.compile(r"DROP TABLE IF EXISTS (\S+)")
_SHOW = re.compile(r"SHOW (.+)S LIKE '(.*)' IN SCHEMA (\S+)")
_INSERT = re.compile(r"INSERT INTO (\S+) VALUES \((.*)\)\Z")
_DELETE = re.compile(r"DELETE FROM (\S+) WHERE id = (.*)\Z")
_MERGE = re.compile(r"MERGE INTO (\S+) claims USING \(SELECT '(.*?)' AS CLAIM\)")


class World:
    """Tables with rows of one value. A block is one transaction."""

    def __init__(self) -> None:
        self.tables: dict[str, list[str]] = {}
        self.fails: dict[str, list[errors.SnowmeltError]] = {}
        """Errors that the next statements which contain some words have."""

    def execute(self, text: str) -> Result:
        for words, failures in self.fails.items():
            if words in text and failures:
                raise failures.pop(0)
        if text.startswith("BEGIN"):
            return self._block(text)
        if match := _CREATE.match(text):
            self.tables.setdefault(match[1], [])
        elif match := _DROP.match(text):
            self.tables.pop(match[1], None)
        elif match := _SHOW.match(text):
            name = match[2].replace("\\\\", "")
            there = match[1] == "TABLE" and f"{match[3]}.{name}" in self.tables
            return result("name", [name] if there else [])
        elif match := _INSERT.match(text):
            self._rows(match[1]).append(match[2])
        elif match := _DELETE.match(text):
            self.tables[match[1]] = [row for row in self._rows(match[1]) if row != match[2]]
        elif text.startswith("SELECT"):
            return result("N", [str(sum(map(len, self.tables.values())))])
        return result("status", ["done"])

    def _rows(self, name: str) -> list[str]:
        if name not in self.tables:
            raise errors.not_found("Table", name)
        return self.tables[name]

    def _block(self, text: str) -> Result:
        match = _MERGE.search(text)
        assert match is not None
        claims = self._rows(match[1])
        if match[2] in claims:
            return result("anonymous block", ["-1"])
        before = {name: list(rows) for name, rows in self.tables.items()}
        statements = [line.rstrip(";") for line in text.splitlines() if line.startswith(("INSERT", "DELETE"))]
        try:
            for statement in statements:
                self.execute(statement)
        except BaseException:
            self.tables = before
            raise
        self.tables[match[1]].append(match[2])
        return result("anonymous block", [str(len(statements))])


def result(name: str, values: list[str]) -> Result:
    return Result((ResultColumn(name, types.VARCHAR),), pa.table({"0": pa.array(values, pa.string())}))


class Script:
    """An operator that answers from a list, and remembers what was shown."""

    def __init__(self, answers: dict[str, list[CheckpointAnswer]] | None = None) -> None:
        self.answers = answers
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def probe(self, probe: Probe, sql: str, result: Result, problems: list[str]) -> None:
        self.said.append(f"probe {probe.id}: {problems or 'ok'}")

    def step(self, step: PlaybookStep, number: int, count: int, prose: str) -> None:
        self.said.append(f"step {step.id}")

    def sql(self, text: str) -> None:
        self.said.append(text)

    def result(self, result: Result) -> None:
        self.said.append(str(result.rows()))

    def trouble(self, error: str, recovery: str) -> None:
        self.said.append(f"{error} -> {recovery}")

    def decide(self, question: CheckpointQuestion) -> CheckpointAnswer | None:
        if self.answers is None:
            return CheckpointAnswer(CheckpointDecision.APPROVE)
        given = self.answers.get(question.step.id, [])
        return given[question.answered] if question.answered < len(given) else None
