"""The command line: which benchmarks, how large, where the numbers go."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks import machine
from benchmarks.cases import BENCHMARKS
from benchmarks.report import Finished, as_json, show, write_json
from benchmarks.workbench import DATA_VARIABLE, Workbench, data_folder
from snowmelt.core.errors import SnowmeltError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Which to run: {', '.join(BENCHMARKS)}. Default: all.")
    ] = None,
    scale: Annotated[
        float, typer.Option(min=0.001, help="TPC-H scale factor; below 1, the other tables shrink too.")
    ] = 1.0,
    repetitions: Annotated[
        int | None, typer.Option(min=1, help="Measured rounds of every benchmark. Default: what suits each.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Also write everything measured to this file.")] = None,
    data: Annotated[
        Path | None, typer.Option(help=f"Where source data is kept. Default: {DATA_VARIABLE}, or .bench-data.")
    ] = None,
    kept: Annotated[
        Path | None, typer.Option(help="A folder that stays, with the tables that an earlier run loaded and changed.")
    ] = None,
) -> None:
    """Measures Snowmelt beside plain PySpark and Delta, in one Spark application, and checks that both agree.

    Aims are printed as met or not met. The exit code is 1 when results differ or a benchmark could not run.
    """
    chosen = names or list(BENCHMARKS)
    unknown = [name for name in chosen if name not in BENCHMARKS]
    if unknown:
        raise typer.BadParameter(f"There is no benchmark '{unknown[0]}'. There are: {', '.join(BENCHMARKS)}.")
    # In a file nobody sees what a narrow terminal would cut.
    console = Console(width=None if sys.stdout.isatty() else 160)
    described = machine.describe()
    console.print(
        f"{described['cores']} cores, {described['memory_gb']} GB, load {described['load_average']}, "
        f"pyspark {described['pyspark']}, deltalake {described['deltalake']}, commit {described['commit']}\n"
    )
    finished = _run(console, chosen, data or data_folder(), scale=scale, rounds=repetitions, kept=kept)
    if json is not None:
        settings = {"scale": scale, "repetitions": repetitions, "benchmarks": chosen}
        write_json(json, as_json(described, settings, finished))
        console.print(f"written to {json}")
    raise typer.Exit(0 if all(item.sound for item in finished) else 1)


def _run(
    console: Console, names: list[str], data: Path, *, scale: float, rounds: int | None, kept: Path | None
) -> list[Finished]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    finished: list[Finished] = []
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        prefix = ""

        def step(text: str) -> None:
            progress.update(task, description=f"{prefix} {text}")

        bench = Workbench(data, scale=scale, rounds=rounds, step=step, kept=kept)
        try:
            for number, name in enumerate(names):
                prefix = f"[{number + 1}/{len(names)}] {name}:"
                finished.append(_one(bench, name))
                show(console, finished[-1])
        finally:
            step("stopping Spark")
            bench.close()
    return finished


def _one(bench: Workbench, name: str) -> Finished:
    benchmark = BENCHMARKS[name]
    started = time.perf_counter()
    try:
        outcome = benchmark.run(bench)
    except SnowmeltError as error:
        # One benchmark that a build cannot run yet must not hide the numbers of the others.
        return Finished(name, benchmark.title, time.perf_counter() - started, None, str(error))
    return Finished(name, benchmark.title, time.perf_counter() - started, outcome)
