"""Widely used dbt packages: the projects that test them pass against this server, unmodified."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.clients.conftest import Client, passed
from tests.clients.dbt_packages import PACKAGES, Package, copy_project

GOOD = {"success", "pass", "no-op"}


def _results(project: Path) -> Counter[str]:
    """How many nodes of the last command ended how; only good ends, or it says which did not."""
    results = json.loads((project / "target" / "run_results.json").read_text(encoding="utf-8"))["results"]
    bad = {result["unique_id"]: result["message"] for result in results if result["status"] not in GOOD}
    assert not bad, json.dumps(bad, indent=1)
    return Counter(result["unique_id"].split(".")[0] for result in results)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.folder)
def test_the_project_that_tests_a_package(
    package: Package, tmp_path: Path, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    project = copy_project(package, tmp_path)

    def dbt(*arguments: str) -> str:
        return passed(
            client(
                "dbt", "dbt", "--no-use-colors", *arguments, cwd=project, deadline=3000.0, SNOWMELT_SCHEMA="TRIED",
                DBT_PROFILES_DIR=str(project), **package.variables,
            )
        )  # fmt: skip

    dbt("deps")
    counted: Counter[str] = Counter()
    for command in package.commands:
        dbt(*command)
        if command[0] != "run-operation":
            counted += _results(project)
    with capsys.disabled():
        print(f"\n{package.folder} {package.release}: {counted.total()} nodes, {dict(counted)}")
    assert counted.total() > 0
