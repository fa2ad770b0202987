"""Whether the random cases would notice a wrong rule: each mutant must be caught by some of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.ivm.mutants import KILLED, MUTANTS, Mutant


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_rule_is_noticed(mutant: Mutant) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.ivm.mutants", mutant.name], capture_output=True, text=True, check=False
    )
    assert done.returncode == KILLED, f"{mutant.name}: {done.stdout}{done.stderr[-2000:]}"
