"""The playbook of a project: takes it into operation in an account, looks first, and can undo what it made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from snowmelt.design.building.statements import DEAD_LETTERS, KEPT, gated, kept_tables, quarantining, repeatable
from snowmelt.design.model import Design, DesignGate, DesignStage, StageKind
from snowmelt.design.requirements.model import Check, GateSeverity

_ERRORS = """#### Expected errors

| pattern | recovery | retryable | what to do |
|---|---|---|---|
| `000625\\|40001` | retry | yes | another transaction was quicker |
| `000904\\|invalid identifier` | escalate | no | A table that is there has other columns: look at it, then abort. |
"""


_OF_RUNS = (Check.FRESHNESS, Check.RECONCILIATION)
"""What only runs can tell."""


def playbook(design: Design) -> str:
    computed = [stage for stage in design.stages if stage.kind is not StageKind.TABLE]
    parts = [
        *_front(design), "## Probes\n", *_probes(design, computed), "## Steps\n", *_raw(design),
        *(part for stage in computed for part in _computed(design, stage, last=stage is computed[-1])),
        *_gates(design.quality), *_health(computed),
    ]  # fmt: skip
    return "\n".join(parts).rstrip("\n") + "\n"


def _front(design: Design) -> Iterator[str]:
    name = design.name.lower().replace("_", "-")
    yield (
        f"---\nplaybook: operate-{name}\n"
        f"objective: Take the tables of {design.name} into operation, and see that they are healthy.\n"
        "prerequisites:\n"
        "  - The role may create tables and dynamic tables in the current schema.\n"
        "  - A server runs (`snowmelt serve`), or somebody refreshes by hand; a schedule needs a server.\n---\n"
        f"# Take {design.name} into operation\n\n"
        "Run it with `snowmelt playbook run playbooks/operate.md --data data --approve review`. "
        f"Owner: {design.owner}.\n\n"
        "Stopped at any place it goes on there; aborted, it removes what it made, newest first.\n"
    )


def _probes(design: Design, computed: Iterable[DesignStage]) -> Iterator[str]:
    yield (
        "### The warehouse exists\n\n```sql\nSHOW WAREHOUSES LIKE 'COMPUTE_WH'\n```\n\n"
        "- expect: rows\n- otherwise: there is no warehouse COMPUTE_WH\n"
    )
    for model in design.models.values():
        yield (
            f"### {model.name} is there\n\n```sql\nSELECT COUNT(*) AS row_count FROM {model.name}\n```\n\n"
            f"- expect: rows\n- otherwise: {model.name} is made elsewhere; make it first\n"
        )
    shows = ";\n".join(f"SHOW VIEWS LIKE '{_pattern(stage.name)}'" for stage in design.stages)
    if shows:
        yield (
            f"### No view has the name of a table\n\n```sql\n{shows}\n```\n\n"
            "- expect: no rows\n- otherwise: a view has the name of a table of this project; rename it first\n"
        )
    shows = ";\n".join(f"SHOW DYNAMIC TABLES LIKE '{_pattern(stage.name)}'" for stage in computed)
    if shows:
        yield (
            f"### What is there already\n\n```sql\n{shows}\n```\n\n- expect: no rows\n"
            "- otherwise: some of the tables are there already; they become what this project says\n"
            "- severity: warn\n"
        )


def _pattern(name: str) -> str:
    return name.upper().replace("_", "\\\\_")


def _raw(design: Design) -> Iterator[str]:
    raw = [stage for stage in design.stages if stage.kind is StageKind.TABLE]
    kept = [statement for _, statement in kept_tables()]
    statements = ";\n\n".join([*(repeatable(stage, gated=False) for stage in raw), DEAD_LETTERS, *kept])
    names = (*(stage.name for stage in raw), "dead_letters", *(name for _, name, _, _ in KEPT))
    made = "\n".join(f"- TABLE {name} if missing" for name in names)
    yield (
        f"### Raw tables\n\nWhat comes is kept as it came.\n\n```sql\n{statements}\n```\n\n"
        f"#### Creates\n\n{made}\n\n{_ERRORS}"
    )


def _computed(design: Design, stage: DesignStage, *, last: bool) -> Iterator[str]:
    """The table, its gates, and then its first rows, which come through them."""
    about = f"{stage.description}\n\n" if stage.description else ""
    through = stage.name in gated(design)
    checks = [check.sql for gate in design.quality for check in gate.checks if check.table == stage.name]
    refresh = [f"ALTER DYNAMIC TABLE {stage.name} REFRESH"] if through else []
    statements = ";\n\n".join([repeatable(stage, gated=through), *checks, *refresh])
    kept = f"- TABLE {stage.name}_quarantine if missing\n" if stage.name in quarantining(design) else ""
    yield (
        f"### {stage.name}\n\n{about}```sql\n{statements}\n```\n\n"
        f"#### Creates\n\n- DYNAMIC TABLE {stage.name} if missing\n{kept}"
    )
    if last:
        yield (
            "#### Checkpoint\n\n- severity: review\n- present: How many rows the last table has.\n"
            f"- options: approve, abort\n\n```sql\nSELECT COUNT(*) AS row_count FROM {stage.name}\n```\n"
        )
    yield _ERRORS


def _gates(gates: Iterable[DesignGate]) -> Iterator[str]:
    """The gates that must hold at any time. Freshness is not one of them: it depends on whether rows came yet."""
    critical = [
        gate for gate in gates if gate.rule.severity is GateSeverity.CRITICAL and gate.rule.check not in _OF_RUNS
    ]
    for number, gate in enumerate(critical, start=1):
        columns = f" of {', '.join(gate.rule.columns)}" if gate.rule.columns else ""
        yield (
            f"### Gate {number}: {gate.rule.check}{columns} in {gate.rule.table}\n\n```sql\n{gate.sql}\n```\n\n"
            "- expect: breaches = 0\n- otherwise: rows break a critical gate; nothing is published before it holds\n"
        )


def _health(computed: list[DesignStage]) -> Iterator[str]:
    if not computed:
        return
    names = ", ".join(f"'{stage.name.upper()}'" for stage in computed)
    yield (
        "### Health\n\nEvery table is active, and no refresh failed last.\n\n```sql\n"
        "SELECT NAME, TARGET_LAG_SEC, LATEST_DATA_TIMESTAMP, LAST_COMPLETED_REFRESH_STATE\n"
        f"FROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLES())\nWHERE NAME IN ({names});\n"
        "SELECT NAME, STATE, STATE_MESSAGE\nFROM TABLE(INFORMATION_SCHEMA.DYNAMIC_TABLE_REFRESH_HISTORY())\n"
        f"WHERE NAME IN ({names})\n"
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY NAME ORDER BY REFRESH_START_TIME DESC) = 1\n```\n\n"
        "- expect: state in SUCCEEDED, EXECUTING, SCHEDULED\n- otherwise: a refresh failed; its message says why\n"
        "- attempts: 10\n- wait: 2 seconds\n\n#### Expected errors\n\n"
        "| pattern | recovery | retryable | what to do |\n|---|---|---|---|\n"
        "| `Expectation not met` | retry | yes | the first refresh may still be under way |\n"
    )
