"""Playbooks and their runs, shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Text

from snowmelt.cli.consoles import output_console
from snowmelt.cli.output import Format
from snowmelt.playbooks import library
from snowmelt.playbooks.inputs import PlaybookHome
from snowmelt.playbooks.journal import read_events
from snowmelt.playbooks.linting import lint
from snowmelt.playbooks.model import Playbook
from snowmelt.playbooks.performing import units_in
from snowmelt.playbooks.progress import RunProgress, progress_of
from snowmelt.playbooks.starting import runs_in
from snowmelt.playbooks.templates import names_in, plainly_filled
from snowmelt.playbooks.values import values_of

EXIT_PROBLEMS = 1


def list_shipped() -> int:
    table = Table(Column("playbook", no_wrap=True), "objective", "inputs", box=SIMPLE_HEAD, pad_edge=False)
    for name in library.shipped():
        front = library.load(name).front
        table.add_row(Text(name), Text(front.objective), Text(", ".join(front.inputs)))
    output_console().print(table)
    return 0


def show_text(name: str, *, raw: bool) -> int:
    text = library.text_of(name)
    if raw:
        typer.echo(text, nl=False)
    else:
        output_console().print(Syntax(text, "markdown", background_color="default", word_wrap=True))
    return 0


def lint_one(name: str) -> int:
    _, problems = lint(library.text_of(name))
    for problem in problems:
        typer.echo(f"{name}: {problem}")
    wrong = any(not problem.warning for problem in problems)
    if not problems:
        typer.echo(f"{name}: ok")
    return EXIT_PROBLEMS if wrong else 0


def show_plan(playbook: Playbook, inputs: Mapping[str, str], home: PlaybookHome, console: Console) -> int:
    values = values_of(playbook, inputs, {}, home)
    console.print(Markdown(f"# {playbook.title}\n\n{playbook.front.objective}"))
    for text in playbook.front.prerequisites:
        console.print(Text(f"prerequisite: {text}"))
    for probe in playbook.probes:
        console.print(Text(f"probe: {probe.title}"))
    for number, step in enumerate(playbook.steps, start=1):
        named = {test.name for test in step.when.tests} if step.when is not None else set()
        unknown = named & playbook.facts
        if step.when is not None and not unknown and not step.when.holds(inputs):
            console.print(Text(f"step {number}: {step.title}: skipped, since not {step.when.text}", style="dim"))
            continue
        when = f" (if {step.when.text})" if step.when is not None and unknown else ""
        console.rule(Text(f"step {number}: {step.title}{when}"), align="left")
        for sql in step.sql:
            if names_in(sql.text) & playbook.facts:
                console.print(Text(plainly_filled(sql.text, values)))
                continue
            for unit in units_in((sql,), values):
                console.print(Syntax(unit.sql, "sql", background_color="default", word_wrap=True))
        for created in step.creates:
            console.print(Text(f"creates {created.kind.lower()} {plainly_filled(created.name, values)}"))
        if step.checkpoint is not None:
            checkpoint = step.checkpoint
            console.print(Text(f"{checkpoint.severity} checkpoint {checkpoint.at} it: {', '.join(checkpoint.options)}"))
    return 0


def show_status(folder: Path, run: str | None, form: Format) -> int:
    found = [progress_of(read_events(folder, run))] if run is not None else runs_in(folder)
    console = output_console()
    if form is Format.JSON:
        typer.echo(json.dumps([_as_json(item) for item in found], ensure_ascii=False, indent=2))
    elif run is not None:
        show_progress(found[0], console)
    else:
        table = Table(
            Column("run", no_wrap=True), "playbook", "status", "last", "account", box=SIMPLE_HEAD, pad_edge=False
        )
        for item in found:
            table.add_row(*map(Text, (item.run, item.playbook, item.status, item.last_at[:19], item.account)))
        console.print(table)
    return 0


def _as_json(run: RunProgress) -> dict[str, Any]:
    steps = {
        name: {"done": step.done, "skipped": step.skipped, "created": [list(item) for item in step.created]}
        for name, step in run.steps.items()
    }
    values = asdict(run)
    names = ("run", "playbook", "account", "status", "problem", "began_at", "last_at", "inputs", "facts", "probed")
    return {**{name: values[name] for name in names}, "steps": steps}


def show_progress(run: RunProgress, console: Console) -> None:
    """One run in full."""
    console.print(Text(f"{run.run}: {run.playbook} on {run.account}, {run.status}"))
    if run.problem:
        console.print(Text(run.problem, style="red"))
    table = Table("input", "value", box=None, pad_edge=False)
    for name, value in run.inputs.items():
        table.add_row(Text(name), Text(value))
    console.print(table)
    steps = Table("step", "state", "created", box=None, pad_edge=False)
    for name, step in run.steps.items():
        created = ", ".join(f"{kind.lower()} {item}" for kind, item in step.created)
        words = {"done": step.done, "skipped": step.skipped, "undoing": step.undoing, "begun": step.began}
        state = next((word for word, holds in words.items() if holds), "undone" if step.attempt > 1 else "not begun")
        steps.add_row(Text(name), Text(state), Text(created))
    console.print(steps)
