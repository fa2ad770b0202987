"""`snowmelt design`: from requirements to a design, with a question for everything that is open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from snowmelt.cli.consoles import output_console
from snowmelt.cli.design_review import add_review
from snowmelt.cli.design_talk import Talk
from snowmelt.cli.groups import Guard
from snowmelt.cli.guarding import guarded
from snowmelt.cli.output import Format, is_interactive
from snowmelt.core import errors
from snowmelt.design.answering import answer_field, with_answers
from snowmelt.design.antipatterns.model import LintFinding, SarifLevel, known_antipatterns
from snowmelt.design.antipatterns.on_designs import design_findings
from snowmelt.design.deciding import MODE_TOPIC, Decision, DesignDecisions, decide
from snowmelt.design.looking.filling import looked
from snowmelt.design.making.changing import logged
from snowmelt.design.making.checking import check_design
from snowmelt.design.making.designing import design
from snowmelt.design.model import Design
from snowmelt.design.output.writing import written
from snowmelt.design.requirements.missing import MissingAnswer, answered, questions
from snowmelt.design.requirements.model import Mode, Recipe, Requirements
from snowmelt.design.requirements.reading import json_schema, read, read_requirements, to_yaml
from snowmelt.design.rules.table import ABOUT, RuleEffect, rules

EXIT_REFUSED = 1
EXIT_OPEN = 4
"""Something is missing, or was not answered."""
_RECIPES = {
    Recipe.ETL: "Batch or micro-batch, shaped on the way. The default.",
    Recipe.ELT: "Land first, transform in the warehouse.",
    Recipe.STREAM: "Events through channels, within seconds.",
    Recipe.DBT: "Staging models and products as dbt models.",
    Recipe.CDC: "The changes of a database, from its log: snapshot, publication, slot, hand-over.",
    Recipe.REVERSE: "From a model in the warehouse to an application: key, fields, cadence, rate limit.",
    Recipe.QUALITY: "Gates for freshness, completeness, uniqueness, validity and distribution.",
}

FileOption = Annotated[Path | None, typer.Option("--file", "-f", help="Requirements (YAML).")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="Folder for the design.")]
AskOption = Annotated[
    bool | None,
    typer.Option(
        "--interactive/--non-interactive", help="Ask open questions, or list them with exit code 4. Asks on a terminal."
    ),
]
ApproveOption = Annotated[
    list[str] | None, typer.Option("--approve", help="RULE=person, reason: who approved what a rule asks about.")
]
LookOption = Annotated[bool, typer.Option("--look", help="Ask the sources for tables, types, keys, rows and rates.")]
FormatOption = Annotated[Format, typer.Option("--format", help="table for people, json for programs.")]


_TALK = "talk"


class _Described(TyperGroup):
    """Takes what is no command for a description: `snowmelt design "Move orders …"`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        described = (
            bool(args) and args[0] not in self.commands and (" " in args[0].strip() or not args[0].isidentifier())
        )
        return super().resolve_command(ctx, [_TALK, *args] if described else args)


def design_commands(guarded: Guard) -> typer.Typer:
    about = "Design a pipeline: a description or requirements in, decisions, SQL and a document out."
    group = typer.Typer(cls=_Described, help=about)

    @group.callback(invoke_without_command=True)
    def default(
        context: typer.Context, file: FileOption = None, output: OutputOption = Path("design"),
        interactive: AskOption = None, approve: ApproveOption = None, look: LookOption = False,
    ) -> None:  # fmt: skip
        if context.invoked_subcommand is None:
            work = _Work(None, file, output, approve or [], ask=interactive, look=look)
            raise typer.Exit(guarded(work.run))

    for recipe, about in _RECIPES.items():
        _recipe_command(group, guarded, recipe, about)
    _talk_command(group, guarded)
    _tables(group, guarded)
    add_review(group, guarded)
    return group


def _talk_command(group: typer.Typer, guarded: Guard) -> None:
    @group.command(name=_TALK)
    def talk(
        description: Annotated[str, typer.Argument(help="What is wanted, in a few sentences.")] = "",
        output: OutputOption = Path("design"),
        project: Annotated[Path | None, typer.Option("--project", help="Folder for the project.")] = None,
        interactive: AskOption = None,
        accept: Annotated[bool, typer.Option("--accept", help="Take every proposal, and build.")] = False,
        look: LookOption = False,
    ) -> None:
        """Talk about a pipeline: what is understood, what must be asked, a summary, and a project."""
        ask = is_interactive() if interactive is None else interactive
        raise typer.Exit(guarded(Talk(description, output, project, ask=ask, accept=accept, look=look).run))


def _recipe_command(group: typer.Typer, guarded: Guard, recipe: Recipe, about: str) -> None:
    @group.command(name=recipe.value, help=about)
    def command(
        file: FileOption = None, output: OutputOption = Path("design"), interactive: AskOption = None,
        approve: ApproveOption = None, look: LookOption = False,
    ) -> None:  # fmt: skip
        work = _Work(recipe, file, output, approve or [], ask=interactive, look=look)
        raise typer.Exit(guarded(work.run))


def _tables(group: typer.Typer, guarded: Guard) -> None:
    @group.command(name="rules")
    def rules_(form: FormatOption = Format.TABLE) -> None:
        """List the rules: id, condition, outcome, reason."""
        if form is Format.JSON:
            typer.echo(_rules_as_json())
        else:
            _show_rules(output_console())

    @group.command()
    def patterns(form: FormatOption = Format.TABLE) -> None:
        """List the anti-patterns: what each looks like, why it hurts, what to do."""
        if form is Format.JSON:
            typer.echo(_patterns_as_json())
        else:
            _show_patterns(output_console())

    @group.command()
    def schema(
        of: Annotated[str, typer.Argument(help="requirements or design.")] = "requirements",
    ) -> None:
        """Print the JSON Schema of the requirements file, or of design.yaml."""
        models: dict[str, type[BaseModel]] = {"requirements": Requirements, "design": Design}
        if of not in models:
            raise typer.BadParameter(f"'{of}' is not one of {', '.join(models)}.")
        typer.echo(json_schema(models[of], f"https://snowmelt.dev/schemas/{of}-1.json"), nl=False)

    @group.command()
    def check(file: Annotated[Path, typer.Argument(help="A design.yaml.")]) -> None:
        """Hold a design to all anti-patterns. The exit code is 1 when one that is an error is found."""
        raise typer.Exit(guarded(lambda: _print_findings(output_console(), design_findings(read(file, Design)))))

    @group.command()
    def look(file: Annotated[Path, typer.Argument(help="Requirements (YAML).")]) -> None:
        """Ask the sources, and print the requirements with the facts that were seen."""

        def work() -> int:
            seen, notes = looked(read_requirements(file))
            for note in notes:
                typer.echo(note, err=True)
            typer.echo(to_yaml(seen), nl=False)
            return 0

        raise typer.Exit(guarded(work))


class _Work:
    """One run: read, look, ask, decide, write."""

    def __init__(
        self,
        recipe: Recipe | None,
        file: Path | None,
        output: Path,
        approvals: list[str],
        *,
        ask: bool | None,
        look: bool,
    ) -> None:
        self.recipe, self.file, self.output, self.approvals, self.look = recipe, file, output, approvals, look
        self.ask = is_interactive() if ask is None else ask
        self.console = output_console()
        self.problems = Console(stderr=True, highlight=False, soft_wrap=True)
        self.answers: Requirements | None = None
        """The requirements with what was answered in the terminal; None before the first answer."""
        self.written = False

    def run(self) -> int:
        try:
            code = self._run()
        except typer.Abort:
            self._keep_answers()
            raise
        if code in (EXIT_REFUSED, EXIT_OPEN) and not self.written:
            self._keep_answers()
        return code

    def _keep_answers(self) -> None:
        """Whoever answered ten questions is not asked them again."""
        if self.answers is None:
            return
        path = self.output / "requirements.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_yaml(self.answers), encoding="utf-8")
        self.problems.print(f"What was answered is kept: go on with snowmelt design -f {path}", markup=False)

    def _run(self) -> int:
        given = self._given()
        if self.look:
            given, notes = looked(given)
            for note in notes:
                self.console.print(note, markup=False)
        if self.ask:
            given = self._ask(given)
        missing = [item for item in questions(given) if item.essential]
        verdict = decide(given)
        if verdict.refusals:
            return self._refused(verdict)
        if self.ask and not missing:
            given = self._approve(given, verdict)
            verdict = decide(given)
        if missing or verdict.asks:
            return self._open(missing, verdict)
        return self._write(given, design(given, verdict))

    def _given(self) -> Requirements:
        given = read_requirements(self.file) if self.file is not None else Requirements()
        approvals = dict(given.approvals)
        for word in self.approvals:
            rule, _, answer = word.partition("=")
            if not answer:
                raise errors.configuration(f"Approvals look like RULE=person, reason. Got: '{word}'.")
            approvals[rule.upper()] = answer
        update: dict[str, object] = {"approvals": approvals}
        if self.recipe is not None:
            update["recipe"] = self.recipe
        return with_answers(given.model_copy(update=update))

    def _ask(self, given: Requirements) -> Requirements:
        """Until nothing is open: an answer may open the next question."""
        done: set[str] = set()
        while True:
            item = next((item for item in questions(given) if item.field not in done), None)
            if item is None:
                return given
            done.add(item.field)
            given = self.answers = self._answer(given, item)

    def _answer(self, given: Requirements, item: MissingAnswer) -> Requirements:
        choices = f" [{', '.join(item.choices)}]" if item.choices else ""
        while True:
            text = typer.prompt(f"{item.text}{choices}", default=item.default)
            if item.choices and text not in item.choices:
                typer.echo(f"'{text}' is not one of {', '.join(item.choices)}.", err=True)
                continue
            try:
                return answered(given, item, text)
            except (ValidationError, ValueError) as error:
                message = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
                typer.echo(f"That does not fit: {message}.", err=True)

    def _approve(self, given: Requirements, verdict: DesignDecisions) -> Requirements:
        for item in verdict.asks:
            typer.echo(f"{item.rule.id}: {item.outcome}\n  {item.rule.reason}")
            if item.rule.topic == MODE_TOPIC:
                given = given.model_copy(update={"mode": _asked_mode() or given.mode})
            elif item.rule.field is not None:
                given = self._answer_field(given, item.rule.field)
            elif answer := typer.prompt("Who approved this, and why (empty: nobody)", default="", show_default=False):
                given = with_answers(given.model_copy(update={"approvals": {**given.approvals, item.rule.id: answer}}))
            self.answers = given
        return given

    def _answer_field(self, given: Requirements, field: str) -> Requirements:
        while answer := typer.prompt("The answer (empty: nobody knows)", default="", show_default=False):
            try:
                return answer_field(given, field, answer)
            except ValueError as error:
                message = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
                typer.echo(f"That does not fit: {message}.", err=True)
                if not any(table.columns for source in given.sources for table in source.tables):
                    typer.echo("Describe the columns in the requirements, or let --look find them.", err=True)
                    break
        return given

    def _refused(self, verdict: DesignDecisions) -> int:
        for item in verdict.refusals:
            self.problems.print(f"{item.rule.id}: refused: {item.outcome}.", style="red", markup=False)
            self.problems.print(f"  {item.rule.reason}\n  {_cited(item)}", markup=False)
        return EXIT_REFUSED

    def _open(self, missing: list[MissingAnswer], verdict: DesignDecisions) -> int:
        for question in missing:
            self.problems.print(f"missing: {question.field}: {question.text}", style="red", markup=False)
        for item in verdict.asks:
            self.problems.print(f"{item.rule.id}: asks first: {item.outcome}", style="red", markup=False)
            self.problems.print(f"  {item.rule.reason}\n  {_cited(item)}", markup=False)
            if item.rule.field is not None:
                self.problems.print(f"  answer: in `{item.rule.field}` of the requirements", markup=False)
            else:
                answer = f'--approve {item.rule.id}="who and why", or approvals in the requirements'
                self.problems.print(f"  answer: {answer}", markup=False)
        return EXIT_OPEN

    def _write(self, given: Requirements, made: Design) -> int:
        check_design(made)
        made = logged(made, self.output)
        findings = design_findings(made)
        for path, text in written(given, made, findings).items():
            target = self.output / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        self.written = True
        _show_decisions(self.console, made)
        code = _print_findings(self.console, findings)
        self.console.print(f"Written to {self.output}: design.yaml, design.md, design.html, design.svg", markup=False)
        return code


# -- output -----------------------------------------------------------------------------------------------------------


def _asked_mode() -> Mode | None:
    while True:
        said = str(typer.prompt(f"Mode [{', '.join(Mode)}] (empty: not decided)", default="", show_default=False))
        if not said or said.upper() in set(Mode):
            return Mode(said.upper()) if said else None
        typer.echo(f"'{said}' is not one of {', '.join(Mode)}.", err=True)


def _cited(item: Decision) -> str:
    return "because " + "; ".join(fact.shown() for fact in item.facts)


def _show_decisions(console: Console, made: Design) -> None:
    table = Table("phase", "topic", "decision", "rule", title=None)
    phase = ""
    for item in made.decisions:
        table.add_row(item.phase if item.phase != phase else "", item.topic, item.outcome, item.rule)
        phase = item.phase
    console.print(table)


def _print_findings(console: Console, findings: list[LintFinding]) -> int:
    for item in findings:
        console.print(f"{item.pattern.id} {item.pattern.level}: {item.object}: {item.message}", markup=False)
    if not findings:
        console.print("No anti-pattern was found.")
    return EXIT_REFUSED if any(item.pattern.level is SarifLevel.ERROR for item in findings) else 0


def _show_rules(console: Console) -> None:
    phase = None
    for rule in rules():
        if rule.phase is not phase:
            phase = rule.phase
            console.print(f"\n{phase}: {ABOUT[phase]}", style="bold", markup=False)
        effect = "" if rule.effect is RuleEffect.DECIDE else f" [{rule.effect}]"
        console.print(f"{rule.id:<17}{rule.topic}{effect}: {rule.outcome}", markup=False)
        console.print(f"{'':<17}when {rule.condition}", markup=False, style="dim")
        console.print(f"{'':<17}{rule.reason}", markup=False, style="dim")


def _rules_as_json() -> str:
    rows = [
        {"id": rule.id, "phase": rule.phase, "topic": rule.topic, "effect": rule.effect, "when": rule.condition,
         "outcome": rule.outcome, "reason": rule.reason, "facts": rule.facts}
        for rule in rules()
    ]  # fmt: skip
    return json.dumps(rows, indent=2)


def _show_patterns(console: Console) -> None:
    for item in known_antipatterns().values():
        mark = " [--fix]" if item.fixable else ""
        console.print(f"{item.id} {item.level}: {item.title}{mark}", markup=False, style="bold")
        for word, text in (("looks like", item.looks), ("hurts", item.hurts), ("do", item.remedy)):
            console.print(f"      {word}: {text}", markup=False)


def _patterns_as_json() -> str:
    rows = [
        {"id": item.id, "family": item.family, "level": item.level, "title": item.title,
         "looked_for_in": item.looked_for_in, "looks_like": item.looks, "why_it_hurts": item.hurts,
         "what_to_do": item.remedy, "fixable": item.fixable}
        for item in known_antipatterns().values()
    ]  # fmt: skip
    return json.dumps(rows, indent=2)


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    app.add_typer(design_commands(guarded), name="design")
