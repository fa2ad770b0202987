"""A run of a playbook at a terminal: what is shown, and who answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rich.console import Console
from rich.markdown import Markdown
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from snowmelt.cli.output import Format, write_result
from snowmelt.playbooks.answers import Answers
from snowmelt.playbooks.model import CheckpointDecision, CheckpointSeverity, PlaybookStep, Probe
from snowmelt.playbooks.ports import CheckpointAnswer, CheckpointQuestion
from snowmelt.runtime.results import Result

Prompt = Callable[[str], str]
_SHOWN_ROWS = 20


class Terminal:
    """Shows a run and answers its questions: from a file, by a general approval, or by asking."""

    def __init__(
        self,
        console: Console,
        answers: Answers,
        approved: CheckpointSeverity | None,
        given: CheckpointAnswer | None,
        prompt: Prompt | None,
    ) -> None:
        self._console = console
        self._answers = answers
        self._approved = approved
        self._given = given
        self._prompt = prompt

    def say(self, text: str) -> None:
        self._console.print(Text(text))

    def probe(self, probe: Probe, sql: str, result: Result, problems: list[str]) -> None:
        failed = "yellow" if probe.warns else "red"
        mark = Text("ok", style="green") if not problems else Text("; ".join(problems), style=failed)
        self._console.print(Text.assemble(("probe ", "dim"), probe.title, ": ", mark))
        self.sql(sql)
        self.result(result)

    def step(self, step: PlaybookStep, number: int, count: int, prose: str) -> None:
        self._console.rule(Text(f"step {number} of {count}: {step.title}"), align="left")
        if prose:
            self._console.print(Markdown(prose))

    def sql(self, text: str) -> None:
        self._console.print(Syntax(text, "sql", background_color="default", word_wrap=True))

    def result(self, result: Result) -> None:
        write_result(replace(result, data=result.data.slice(0, _SHOWN_ROWS)), Format.TABLE, self._console)
        if result.row_count > _SHOWN_ROWS:
            self.say(f"… {result.row_count - _SHOWN_ROWS} more rows")

    def trouble(self, error: str, recovery: str) -> None:
        self._console.print(Text(error, style="red"))
        self._console.print(Text(f"recovery: {recovery}", style="yellow"))

    def decide(self, question: CheckpointQuestion) -> CheckpointAnswer | None:
        checkpoint = question.checkpoint
        style = "red" if checkpoint.severity is CheckpointSeverity.CRITICAL else "yellow"
        options = ", ".join(checkpoint.options)
        text = f"{question.present}\n\noptions: {options}".strip()
        title = f"{checkpoint.severity} checkpoint: {question.step.id}"
        self._console.print(Panel(Text(text), title=Text(title), border_style=style))
        answer = self._answers.to(question) or self._taken() or self._by_approval(question) or self._asked(question)
        if answer is not None:
            self.say(f"answer: {answer.decision} ({answer.by})")
        return answer

    def _taken(self) -> CheckpointAnswer | None:
        """The answer that came with the command counts once."""
        given, self._given = self._given, None
        return given

    def _by_approval(self, question: CheckpointQuestion) -> CheckpointAnswer | None:
        severity = question.checkpoint.severity
        if self._approved is CheckpointSeverity.CRITICAL or self._approved is severity:
            return CheckpointAnswer(CheckpointDecision.APPROVE, by=f"--approve {self._approved}")
        return None

    def _asked(self, question: CheckpointQuestion) -> CheckpointAnswer | None:
        if self._prompt is None:
            return None
        options = question.checkpoint.options
        while (word := self._prompt(f"{' / '.join(options)}").strip()) not in options:
            self.say(f"'{word}' is not one of {', '.join(options)}.")
        decision = CheckpointDecision(word)
        inputs: dict[str, str] = {}
        while decision is CheckpointDecision.MODIFY:
            name, separator, value = self._prompt("input = value (an empty line ends)").partition("=")
            if not separator:
                break
            inputs[name.strip()] = value.strip()
        return CheckpointAnswer(decision, inputs, "terminal")
