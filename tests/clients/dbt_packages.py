"""dbt packages with projects that test them, run as their own continuous integration runs them on Snowflake.

Their code is not in this repository: SNOWMELT_DBT_PACKAGES names a folder with checkouts. A copy of a project is made
to fit here: each package that it takes from dbt's hub becomes the checkout beside it, and its profile leads to this
server.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

VARIABLE = "SNOWMELT_DBT_PACKAGES"
PROFILE = Path(__file__).parent / "dbt_features" / "profiles.yml"
_NOT_FOR_SNOWFLAKE = ("--exclude", "tag:skip+", "tag:temporary_skip+")
_BUILD = (("build", "--full-refresh"),)


@dataclass(frozen=True, slots=True)
class Package:
    """A checkout of a release, and how its own project is run."""

    folder: str
    address: str
    release: str
    project: str = "integration_tests"
    commands: tuple[tuple[str, ...], ...] = _BUILD
    needs: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def clone(self) -> str:
        return f"git clone --branch {self.release} {self.address} {self.folder}"


_LABS = "https://github.com/dbt-labs"
_UTILS = ("dbt-utils",)
PACKAGES = (
    Package("dbt-utils", f"{_LABS}/dbt-utils", "1.4.1"),
    Package(
        "dbt-audit-helper", f"{_LABS}/dbt-audit-helper", "0.12.2", needs=_UTILS,
        # A test that is for another warehouse has the tag `skip` on Snowflake.
        commands=(("seed", "--full-refresh"), ("run", *_NOT_FOR_SNOWFLAKE), ("test", *_NOT_FOR_SNOWFLAKE)),
    ),
    Package(
        "dbt-codegen", f"{_LABS}/dbt-codegen", "0.14.1", needs=_UTILS,
        commands=(("run-operation", "create_source_table"), *_BUILD),
    ),
    Package("dbt-date", "https://github.com/godatadriven/dbt-date", "0.21.0"),
    Package(
        "dbt_artifacts", "https://github.com/brooklyn-data/dbt_artifacts", "2.10.1", project="integration_test_project",
        variables={"TEST_ENV_VAR_NUMBER": "3", "TEST_ENV_VAR_EMPTY": "", "TEST_ENV_VAR_WITH_QUOTE": "Triple' quote"},
    ),
    Package(
        "dbt-data-reliability", "https://github.com/elementary-data/dbt-data-reliability", "0.25.1", needs=_UTILS,
        # Its tests are a program of their own; the models are what every project with the package builds.
        project="integration_tests/dbt_project", commands=(("run", "--select", "elementary"),),
    ),
)  # fmt: skip
HUB = {"dbt_utils": "dbt-utils", "dbt_date": "dbt-date"}
"""The folder of the checkout, by the name that dbt's hub has for the package."""


def package(folder: str) -> Package:
    return next(each for each in PACKAGES if each.folder == folder)


def checkouts(wanted: Package) -> Path:
    """The folder with the checkouts. Says what to do when one is missing."""
    needed = (wanted, *map(package, wanted.needs))
    folder = Path(os.environ.get(VARIABLE) or "")
    missing = [each for each in needed if not (folder / each.folder / "dbt_project.yml").exists()]
    if VARIABLE not in os.environ or missing:
        clones = "; ".join(each.clone for each in missing or needed)
        pytest.skip(f"needs {VARIABLE}=<folder> with checkouts of dbt packages. In the folder: {clones}")
    return folder


def copy_project(wanted: Package, into: Path) -> Path:
    """A copy of the package's own project, and of what it needs, that runs against this server."""
    source = checkouts(wanted)
    for each in (wanted, *map(package, wanted.needs)):
        shutil.copytree(source / each.folder, into / each.folder, ignore=shutil.ignore_patterns(".git", "target"))
        for lock in (into / each.folder).rglob("package-lock.yml"):
            lock.unlink()
        for listed in (into / each.folder).rglob("packages.yml"):
            _use_checkouts(listed, into)
    project = into / wanted.folder / wanted.project
    profile = yaml.safe_load((project / "dbt_project.yml").read_text(encoding="utf-8"))["profile"]
    ours = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))["snowmelt"]
    # Macros ask for the target's name where they mean the kind of warehouse.
    ours = {"target": "snowflake", "outputs": {"snowflake": ours["outputs"][ours["target"]]}}
    (project / "profiles.yml").write_text(yaml.safe_dump({profile: ours}), encoding="utf-8")
    return project


def _use_checkouts(listed: Path, folder: Path) -> None:
    entries = yaml.safe_load(listed.read_text(encoding="utf-8"))["packages"]
    local = [
        {"local": str(folder / HUB[entry["package"].split("/")[1]])} if "package" in entry else entry
        for entry in entries
    ]
    listed.write_text(yaml.safe_dump({"packages": local}), encoding="utf-8")
