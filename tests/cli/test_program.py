"""The program and its commands: what is listed, and what is imported for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_group

from snowmelt.cli.main import COMMANDS, app
from tests.crash.test_processes import environment, snowmelt

HEAVY = {"pandas", "pyarrow", "pyspark", "rich.console", "sqlalchemy", "sqlglot"}


def called(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, which names at its end what it imported."""
    code = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        f"sys.argv = ['snowmelt', *{arguments!r}]; from snowmelt.cli.start import run; run()"
    )
    return subprocess.run(
        [sys.executable, "-c", code], env=environment() | variables, check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ()], ids=str)
def test_what_needs_no_command_imports_none(arguments: tuple[str, ...]) -> None:
    done = called(*arguments)
    imported = set(done.stderr.split())
    assert not imported & HEAVY
    assert {name for name in imported if name.startswith("snowmelt.")} == {
        "snowmelt.cli", "snowmelt.cli.imports", "snowmelt.cli.main", "snowmelt.cli.start", "snowmelt.core",
        "snowmelt.core.version",
    }  # fmt: skip
    assert (done.stdout + done.stderr).startswith("snowmelt " if arguments == ("--version",) else "Usage: snowmelt")


def test_help_lists_all_commands_with_their_texts() -> None:
    lines = called("--help").stdout.splitlines()
    listed = dict(line.split(maxsplit=1) for line in lines[lines.index("Commands:") + 1 :])
    assert list(listed) == list(COMMANDS)
    for name, (_, text) in COMMANDS.items():
        assert text.startswith(listed[name].removesuffix("..."))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_listed_text_is_the_command_s_own(name: str) -> None:
    program = get_group(app)
    listed = program.commands[name]
    with program.make_context("snowmelt", [name]) as context:
        found, real, rest = program.resolve_command(context, [name, "--help"])
    assert (found, rest) == (name, ["--help"])
    assert real is not listed
    assert real.name == name
    for width in (45, 60, 1000):
        assert listed.get_short_help_str(width) == real.get_short_help_str(width)


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant() -> None:
    done = called("serv")
    assert done.returncode == 2
    assert "No such command 'serv'. Did you mean 'serve'?" in done.stderr


def test_a_shell_completes_commands_without_importing_them() -> None:
    done = called(_SNOWMELT_COMPLETE="complete_bash", COMP_WORDS="snowmelt co", COMP_CWORD="1")
    assert done.stdout.split() == ["cost", "connector", "contract"]
    assert not set(done.stderr.split()) & HEAVY


def test_a_shell_completes_the_options_of_a_command() -> None:
    done = called(_SNOWMELT_COMPLETE="complete_bash", COMP_WORDS="snowmelt serve --tls", COMP_CWORD="2")
    assert done.stdout.split() == ["--tls-certificate", "--tls-key"]


def test_nothing_is_written_when_the_process_ends(tmp_path: Path) -> None:
    """Extensions complain at the end when what they made was kept from garbage collection."""
    statements = "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); SELECT SUM(a) AS s FROM t"
    done = snowmelt("sql", "--data", str(tmp_path / "data"), "--format", "csv", "-q", statements)
    assert (done.stdout.splitlines()[-2:], done.stderr) == (["S", "3"], "")
