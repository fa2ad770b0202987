"""`snowmelt build`: a project from a design."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from snowmelt.cli.groups import Guard
from snowmelt.design.building.project import project_files
from snowmelt.design.building.writing import differences, write_project
from snowmelt.design.model import Design
from snowmelt.design.requirements.reading import read

EXIT_DIFFERENT = 1


def build_command(app: typer.Typer, guarded: Guard) -> None:
    @app.command()
    def build(
        file: Annotated[Path, typer.Argument(help="A design.yaml.")],
        output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the project.")],
        check: Annotated[
            bool, typer.Option("--check", help="Write nothing; the exit code is 1 when the specification differs.")
        ] = False,
    ) -> None:
        """Write the project of a design. Built again, it keeps what somebody changed."""

        def work() -> int:
            files = project_files(read(file, Design))
            return _checked(output, files) if check else _written(output, files)

        raise typer.Exit(guarded(work))


def _checked(folder: Path, files: dict[str, str]) -> int:
    specification = {path: text for path, text in files.items() if path in ("data-pipeline-spec.md", "design.yaml")}
    for path in differences(folder, specification):
        typer.echo(f"{folder / path} is not what the design says.")
        return EXIT_DIFFERENT
    typer.echo("The specification is what the design says.")
    return 0


def _written(folder: Path, files: dict[str, str]) -> int:
    done = write_project(folder, files)
    for word, paths in (("changed", done.changed), ("kept, see .new", done.kept), ("no longer built", done.gone)):
        for path in paths:
            typer.echo(f"{word}: {path}")
    typer.echo(f"{folder}: {len(files)} files, {len(done.new)} of them new")
    return 0
