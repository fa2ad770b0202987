"""`snowmelt playbook …`: runbooks that are carried out step by step, resumed and undone."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.consoles import output_console
from snowmelt.cli.groups import DataOption, FormatOption, Guard, Opener, UrlOption
from snowmelt.cli.guarding import DATA, guarded
from snowmelt.cli.opening import open_session
from snowmelt.cli.output import Format, is_interactive
from snowmelt.cli.playbook_terminal import Terminal
from snowmelt.cli.playbook_views import lint_one, list_shipped, show_plan, show_status, show_text
from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks import library
from snowmelt.playbooks.answers import Answers, load_answers
from snowmelt.playbooks.inputs import InputSpec, Scalar
from snowmelt.playbooks.journal import Journal, opened
from snowmelt.playbooks.model import CheckpointDecision, CheckpointSeverity
from snowmelt.playbooks.ports import CheckpointAnswer, PlaybookOutcome
from snowmelt.playbooks.progress import RunStatus, progress_of
from snowmelt.playbooks.running import PlaybookRunner
from snowmelt.playbooks.starting import begun, earlier, go_home, home_of
from snowmelt.playbooks.values import resolved
from snowmelt.runtime.results import Executes

EXITS = {
    PlaybookOutcome.FINISHED: 0, PlaybookOutcome.FAILED: 1, PlaybookOutcome.WAITING: 4,
    PlaybookOutcome.REFUSED: 5, PlaybookOutcome.ABORTED: 6,
}  # fmt: skip
RUNS = Path("snowmelt-runs")
_URL, _DATA = "server ", "directory "

RunsOption = Annotated[Path, typer.Option("--runs", help="Folder with the journals of runs.", envvar="SNOWMELT_RUNS")]
InputOption = Annotated[list[str] | None, typer.Option("--input", "-i", help="name=value; once for each input.")]
AnswersOption = Annotated[Path | None, typer.Option("--answers", help="YAML file with inputs and answers.")]
ApproveOption = Annotated[
    CheckpointSeverity | None,
    typer.Option("--approve", help="review: approve review checkpoints; critical: approve critical ones, too."),
]
NameArgument = Annotated[str, typer.Argument(help="A file that ends with .md, or the name of a shipped playbook.")]
RunArgument = Annotated[str, typer.Argument(help="The run, as `status` lists it.")]
LaterData = Annotated[Path | None, typer.Option("--data", help="Data directory; that of the run by default.")]
LaterUrl = Annotated[str | None, typer.Option("--url", help="Address of a server; that of the run by default.")]
DatabaseOption = Annotated[str | None, typer.Option(help="Database of names that are written without one.")]
SchemaOption = Annotated[str | None, typer.Option(help="Schema of names that are written without one.")]


def playbook_commands(opener: Opener, guarded: Guard) -> typer.Typer:
    """The group of commands; what opens a session and what reports errors is the caller's."""
    group = typer.Typer(no_args_is_help=True, help="Playbooks: probes, steps, checkpoints, and a way back.")
    _reading_commands(group, guarded)
    _running_commands(group, opener, guarded)
    _following_commands(group, opener, guarded)
    return group


def _reading_commands(group: typer.Typer, guarded: Guard) -> None:
    """What needs no account."""

    @group.command(name="list")
    def list_all() -> None:
        """List the playbooks that come with Snowmelt."""
        raise typer.Exit(guarded(list_shipped))

    @group.command()
    def show(
        name: NameArgument, raw: Annotated[bool, typer.Option("--raw", help="The file as it is.")] = False
    ) -> None:
        """Show a playbook. With --raw it is a file to copy and change."""
        raise typer.Exit(guarded(lambda: show_text(name, raw=raw)))

    @group.command()
    def lint(names: Annotated[list[str], typer.Argument(help="Files, or names of shipped playbooks.")]) -> None:
        """Find what is wrong with playbooks. The exit code is 1 when one has a problem that is more than a warning."""
        raise typer.Exit(guarded(lambda: max(lint_one(name) for name in names)))

    @group.command()
    def status(
        run: Annotated[str | None, typer.Argument(help="One run; all of them if none is given.")] = None,
        runs: RunsOption = RUNS,
        form: FormatOption = Format.TABLE,
    ) -> None:
        """Show runs and where they stand."""
        raise typer.Exit(guarded(lambda: show_status(runs, run, form)))


def _running_commands(group: typer.Typer, opener: Opener, guarded: Guard) -> None:
    @group.command()
    def plan(
        name: NameArgument,
        inputs: InputOption = None,
        answers: AnswersOption = None,
        data: DataOption = DATA,
        url: UrlOption = None,
        database: DatabaseOption = None,
        schema: SchemaOption = None,
    ) -> None:
        """Show what a run would do, with the inputs filled in. Nothing is run."""

        def work() -> int:
            playbook = library.load(name)
            with opener(data, url) as session:
                _use(session, database, schema)
                home = home_of(session.execute)
                values = resolved(playbook, _given(inputs, load_answers(answers)), home, _ask)
            return show_plan(playbook, values, home, output_console())

        raise typer.Exit(guarded(work))

    @group.command()
    def run(
        name: NameArgument,
        inputs: InputOption = None,
        answers: AnswersOption = None,
        approve: ApproveOption = None,
        again: Annotated[
            bool, typer.Option("--again", help="Run once more, even if the same run has finished.")
        ] = False,
        data: DataOption = DATA,
        url: UrlOption = None,
        database: DatabaseOption = None,
        schema: SchemaOption = None,
        runs: RunsOption = RUNS,
    ) -> None:
        """Run a playbook. With the same inputs it goes on where it was, and does nothing once it has finished."""
        account = account_text(data, url)

        def work() -> int:
            playbook = library.load(name)
            known = load_answers(answers)
            with opener(data, url) as session:
                _use(session, database, schema)
                home = home_of(session.execute)
                values = resolved(playbook, _given(inputs, known), home, _ask)
                before = earlier(runs, playbook, values, account)
                if before is not None and before.status is RunStatus.FINISHED and not again:
                    typer.echo(f"Nothing to do: the run {before.run} has finished. --again runs it once more.")
                    return 0
                ongoing = before is not None and before.status is not RunStatus.FINISHED
                journal: AbstractContextManager[Journal] = (
                    opened(runs, before.run) if before is not None and ongoing
                    else begun(runs, playbook, values, home, account)
                )  # fmt: skip
                with journal as written:
                    return _go_on(session, written, _Asked(known, approve, None))

        raise typer.Exit(guarded(work))


def _following_commands(group: typer.Typer, opener: Opener, guarded: Guard) -> None:
    @group.command()
    def resume(
        run: RunArgument,
        answers: AnswersOption = None,
        approve: ApproveOption = None,
        answer: Annotated[
            CheckpointDecision | None, typer.Option(help="The answer to the checkpoint that the run waits at.")
        ] = None,
        inputs: InputOption = None,
        data: LaterData = None,
        url: LaterUrl = None,
        runs: RunsOption = RUNS,
    ) -> None:
        """Go on with a run exactly where it stopped. --input is for --answer modify."""

        def work() -> int:
            changed = {key: str(value) for key, value in _given(inputs, Answers()).items()}
            given = CheckpointAnswer(answer, changed, "command line") if answer is not None else None
            asked = _Asked(load_answers(answers), approve, given)
            with opened(runs, run) as journal, opener(*_account(journal, data, url)) as session:
                return _go_on(session, journal, asked)

        raise typer.Exit(guarded(work))

    @group.command()
    def abort(run: RunArgument, data: LaterData = None, url: LaterUrl = None, runs: RunsOption = RUNS) -> None:
        """Undo what a run has done, newest first. An abort that was interrupted goes on."""

        def work() -> int:
            with opened(runs, run) as journal, opener(*_account(journal, data, url)) as session:
                outcome = _runner(session, journal, _Asked(Answers(), None, None)).abort("command line")
            if outcome is PlaybookOutcome.FINISHED:
                typer.echo("The run has finished: there is nothing to abort.", err=True)
            return 0 if outcome is PlaybookOutcome.ABORTED else 1

        raise typer.Exit(guarded(work))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where answers come from."""

    answers: Answers
    approve: CheckpointSeverity | None
    given: CheckpointAnswer | None


def _go_on(session: Executes, journal: Journal, asked: _Asked) -> int:
    runner = _runner(session, journal, asked)
    run = runner.progress.run
    typer.echo(f"run {run}")
    if not runner.progress.probed:
        typer.echo(runner.playbook.front.objective)
        for text in runner.playbook.front.prerequisites:
            typer.echo(f"prerequisite: {text}")
    outcome = runner.go_on()
    hints = {
        PlaybookOutcome.FINISHED: "Finished.",
        PlaybookOutcome.ABORTED: "Aborted: what the run did is undone.",
        PlaybookOutcome.WAITING: f"snowmelt playbook resume {run} --answer …",
        PlaybookOutcome.FAILED: f"snowmelt playbook resume {run}, or: snowmelt playbook abort {run}",
        PlaybookOutcome.REFUSED: f"snowmelt playbook resume {run}, once that is fixed.",
    }
    typer.echo(hints[outcome])
    return EXITS[outcome]


def _runner(session: Executes, journal: Journal, asked: _Asked) -> PlaybookRunner:
    progress = progress_of(journal.events)
    go_home(session.execute, progress.home)
    terminal = Terminal(
        output_console(), asked.answers, asked.approve, asked.given, _prompt if is_interactive() else None
    )
    playbook = library.parsed(progress.text, progress.playbook)
    return PlaybookRunner(session.execute, playbook, journal, terminal, time.sleep)


def _account(journal: Journal, data: Path | None, url: str | None) -> tuple[Path, str | None]:
    return account_of(progress_of(journal.events).account, data, url)


def account_text(data: Path, url: str | None) -> str:
    """How a journal names the account of its run."""
    return f"{_URL}{url}" if url is not None else f"{_DATA}{data.expanduser().resolve()}"


def account_of(account: str, data: Path | None, url: str | None) -> tuple[Path, str | None]:
    """Where a run belongs, unless the command says otherwise."""
    if url is None and data is None and account.startswith(_URL):
        return DATA, account.removeprefix(_URL)
    return data or Path(account.removeprefix(_DATA)), url


def _prompt(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False))


def _ask(name: str, spec: InputSpec) -> str | None:
    if not is_interactive():
        return None
    choices = f" [{', '.join(map(str, spec.choices))}]" if spec.choices else ""
    return _prompt(f"{name} ({spec.type}){choices}: {spec.description}") or None


def _given(inputs: list[str] | None, answers: Answers) -> dict[str, Scalar]:
    given: dict[str, Scalar] = dict(answers.inputs)
    for item in inputs or ():
        name, separator, value = item.partition("=")
        if not separator:
            raise playbook_errors.playbook(f"Inputs look like name=value. Got: '{item}'.")
        given[name.strip()] = value.strip()
    return given


def _use(session: Executes, database: str | None, schema: str | None) -> None:
    if database is not None:
        session.execute(f"USE DATABASE {database}")
    if schema is not None:
        session.execute(f"USE SCHEMA {schema}")


def add_to(app: typer.Typer) -> None:
    """Adds the group of commands to the program."""
    app.add_typer(playbook_commands(open_session, guarded), name="playbook")
