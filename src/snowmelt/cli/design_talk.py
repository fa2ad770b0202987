"""`snowmelt design "…"`: a conversation in the terminal, from a sentence to a project."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import typer
from rich.console import Console

from snowmelt.cli.guarding import DATA
from snowmelt.core.config import load_settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.design.antipatterns.on_designs import design_findings
from snowmelt.design.building.project import project_files
from snowmelt.design.building.writing import write_project
from snowmelt.design.conversation.filling import begin, shown_findings
from snowmelt.design.conversation.language_model import read_by_model
from snowmelt.design.conversation.state import Asked, Conversation, NotUnderstoodError
from snowmelt.design.conversation.summary import QUESTION, summary
from snowmelt.design.conversation.talking import PROPOSED, next_question, open_questions, reply
from snowmelt.design.looking.talked_about import look_at, sources_to_look_at
from snowmelt.design.making.changing import logged
from snowmelt.design.model import Design
from snowmelt.design.output.writing import written
from snowmelt.design.requirements.reading import to_yaml

EXIT_OPEN = 4
_EXPLAINED = ("sources", "sinks")
"""Topics whose reason may be that what was named is not to be had."""


@dataclass(slots=True)
class Talk:
    """One conversation."""

    description: str
    output: Path
    project: Path | None
    """Where the project goes; the pipeline's name when nothing is said."""
    ask: bool
    accept: bool
    """Take every proposal without asking."""
    look: bool = False
    """Ask the sources for what they have, as soon as their tables are known."""
    seen: set[str] = field(default_factory=set)
    """Sources that were looked at."""

    def run(self) -> int:
        settings = load_settings(DATA).language_model
        state = begin(self.description, read_by_model(self.description, settings) if settings is not None else ())
        self._show_understood(state)
        return self._end(self._questions(state))

    def _questions(self, state: Conversation) -> Conversation:
        while (asked := next_question(state)) is not None:
            looked_at = self._looked(state) if self.look else state
            if looked_at is not state:
                state = looked_at
            elif self.accept and asked.proposal is not None:
                state = reply(state, asked.proposal)
            elif self.ask:
                state = self._answered(state, asked)
            else:
                break
        return state

    def _answered(self, state: Conversation, asked: Asked) -> Conversation:
        choices = f" ({' / '.join(asked.choices)})" if asked.choices else ""
        typer.echo(f"\n{asked.text}{choices}")
        if asked.why:
            typer.echo(f"  {asked.why}")
        if asked.topic.startswith("columns:"):
            typer.echo("  `look` asks the sources themselves.")
        while True:
            try:
                answer = str(typer.prompt(">", default=asked.proposal or "", show_default=asked.proposal is not None))
                if answer.strip().lower() == "look" and asked.topic.startswith("columns:"):
                    found = self._looked(state)
                    if found is not state:
                        return found
                    continue
                return reply(state, answer)
            except NotUnderstoodError as error:
                typer.echo(str(error), err=True)
            except typer.Abort:
                self._keep(state)
                raise

    def _looked(self, state: Conversation) -> Conversation:
        """With the facts of sources whose tables are named and whose columns are not, each looked at once by itself.

        What can't be reached is told, and asked for.
        """
        for source in sources_to_look_at(state):
            if self.look and source.name in self.seen:
                continue
            self.seen.add(source.name)
            try:
                state, notes = look_at(state, source)
            except SnowmeltError as error:
                typer.echo(f"{error.message} {error.hint or ''}".strip(), err=True)
                continue
            for note in notes:
                typer.echo(f"Seen: {note}")
        return state

    def _end(self, state: Conversation) -> int:
        self._keep(state)
        asked = next_question(state)
        if asked is not None:
            self._show_open(state)
            return EXIT_OPEN
        found = summary(state)
        typer.echo("")
        for line in found.lines or found.problems:
            typer.echo(line)
        for item in state.assumed if self.accept else ():
            if item.why == PROPOSED:
                typer.echo(f"Taken as proposed: {item.field}: {item.value}")
        if found.design is None:
            return EXIT_OPEN
        made = logged(found.design, self.output)
        self._write_design(state, made)
        return self._build(made) if self._wants_it() else 0

    def _wants_it(self) -> bool:
        if self.accept:
            return True
        return self.ask and bool(typer.confirm(f"\n{QUESTION}", default=True))

    def _build(self, made: Design) -> int:
        folder = self.project or Path(made.name)
        done = write_project(folder, project_files(made))
        typer.echo(
            f"{folder}: {len(done.new)} files new, {len(done.changed)} changed. Next: cd {folder} && make setup test"
        )
        return 0 if done.clean else 1

    def _write_design(self, state: Conversation, made: Design) -> None:
        for path, text in written(state.requirements, made, design_findings(made)).items():
            target = self.output / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        typer.echo(f"The design is in {self.output}: design.md, design.yaml, requirements.yaml.")

    def _keep(self, state: Conversation) -> None:
        """Whoever answered ten questions is not asked them again."""
        self.output.mkdir(parents=True, exist_ok=True)
        (self.output / "requirements.yaml").write_text(to_yaml(state.requirements), encoding="utf-8")

    def _show_understood(self, state: Conversation) -> None:
        typer.echo("Understood:")
        for name, value, words in shown_findings(state):
            typer.echo(f'  {name}: {value}  (from "{words}")')
        if not state.findings:
            typer.echo("  nothing yet.")
        if state.assumed:
            typer.echo("Assumed:")
        for item in state.assumed:
            typer.echo(f"  {item.field}: {item.value}  ({item.why})")

    def _show_open(self, state: Conversation) -> None:
        problems = Console(stderr=True, highlight=False, soft_wrap=True)
        for asked in open_questions(state):
            proposal = f" [proposed: {asked.proposal}]" if asked.proposal is not None else ""
            problems.print(f"open: {asked.topic}: {asked.text}{proposal}", markup=False)
            if asked.topic in _EXPLAINED and asked.why:
                problems.print(f"      {asked.why}", markup=False)
        path = self.output / "requirements.yaml"
        problems.print(f"What is known is in {path}: complete it, or answer here with --interactive.", markup=False)
