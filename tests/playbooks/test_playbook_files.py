"""Files of playbooks: what is read, what is refused and where, and how inputs become SQL. No account is needed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from snowmelt.cli.main import app
from snowmelt.playbooks import library
from snowmelt.playbooks.conditions import parse_condition
from snowmelt.playbooks.inputs import InputSpec, InputType, PlaybookHome, parse_value
from snowmelt.playbooks.linting import lint
from snowmelt.playbooks.model import CheckpointDecision, CheckpointSeverity, ProbeTime, Recovery
from snowmelt.playbooks.templates import filled
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import TokenKind, split_statements, tokenize

FRONT = """---
playbook: example
objective: Show it.
inputs:
  target: {type: name}
  note: {type: text, default: hello}
  maybe: {type: text, optional: true}
  mode: {type: word, choices: [FAST, SLOW], default: FAST}
---
# Example

## Probes

### Look

```sql
SHOW TABLES LIKE {{ target.name | like }} IN SCHEMA {{ target.database }}.{{ target.schema }}
```

- expect: no rows

## Steps

"""
STEP = """### Make it

```sql
CREATE TABLE IF NOT EXISTS {{ target }} (id INT, note VARCHAR);
INSERT INTO {{ target }} VALUES (1, {{ note }})
```

- when: mode = FAST

#### Creates

- TABLE {{ target }}

#### Checkpoint

- severity: critical
- at: before
- present: Is {{ note }} right?
- options: approve, modify, abort, different-approach
- different-approach: mode = SLOW

#### Expected errors

| pattern | recovery | retryable | what to do |
|---|---|---|---|
| `000625\\|40001` | retry | yes | again |
| `002003` | fix: make room | yes | it was dropped |

#### Fix: make room

```sql
CREATE SCHEMA IF NOT EXISTS extra
```
"""


def problems(text: str) -> list[tuple[int, str]]:
    return [(problem.line, problem.text) for problem in lint(text)[1] if not problem.warning]


def line_of(text: str, words: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), start=1) if words in line)


def test_all_parts_of_a_step_are_read() -> None:
    playbook, found = lint(FRONT + STEP)
    assert playbook is not None, found
    (step,) = playbook.steps
    assert step.id == "make-it" and step.when is not None and step.when.text == "mode = FAST"
    assert [(item.kind, item.name) for item in step.creates] == [("TABLE", "{{ target }}")]
    checkpoint = step.checkpoint
    assert checkpoint is not None
    assert (checkpoint.severity, checkpoint.at) == (CheckpointSeverity.CRITICAL, ProbeTime.BEFORE)
    assert checkpoint.options == tuple(CheckpointDecision) and checkpoint.alternative == {"mode": "SLOW"}
    assert [(item.recovery, item.retryable, item.fix) for item in step.errors] == [
        (Recovery.RETRY, True, None), (Recovery.FIX, True, "make-room"),
    ]  # fmt: skip
    assert step.errors[0].pattern.is_in("000625 (40001)")


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("```sql\nCREATE TABLE IF", "```sql\nCREATE TABEL IF", "CREATE TABEL", "TABEL"),
        ("(1, {{ note }})", "(1, '{{ note }}')", "(1, '{{ note }}')", "must stand alone"),
        ("(1, {{ note }})", "(1, {{ note }}x)", "(1, {{ note }}x)", "must stand alone"),
        ("(1, {{ note }})", '(1, "{{ note }}")', '(1, "{{ note }}")', "must stand alone"),
        ("(1, {{ note }})", "(1, 'x') -- {{ note }}", "-- {{ note }}", "must stand alone"),
        ("(1, {{ note }})", "(1, {{ nothing }})", "{{ nothing }}", "no input"),
        ("(1, {{ note }})", "(1, {{ note.name }})", "{{ note.name }}", "no part"),
        ("(1, {{ note }})", "(1, {{ note | shout }})", "shout", "not a form"),
        ("(1, {{ note }})", "(1, {{ maybe }})", "{{ maybe }}", "may have no value"),
        ("(1, {{ note }})", "(1, {{ }})", "{{ }}", "begins no placeholder"),
        ("CREATE TABLE IF NOT EXISTS", "CREATE TABLE", "CREATE TABLE", "can't be repeated"),
        ("#### Creates\n\n- TABLE {{ target }}\n", "", "### Make it", "can't be undone"),
        ("mode = FAST\n\n#### Creates", "speed = FAST\n\n#### Creates", "### Make it", "which is neither an input"),
        ("mode = FAST\n\n#### Creates", "mode = QUICK\n\n#### Creates", "### Make it", "not one of the choices"),
        ("mode = FAST\n\n#### Creates", "mode is quick\n\n#### Creates", "mode is quick", "not a condition"),
        ("- severity: critical", "- severity: harsh", "- severity: harsh", "not review or critical"),
        ("- at: before", "- att: before", "- att: before", "not one of the fields"),
        ("approve, modify, abort,", "approve, wait,", "approve, wait", "is not an option"),
        ("fix: make room | yes", "fix: more room | yes", "fix: more room", "there is no '#### Fix"),
        ("| retry | yes |", "| hope | yes |", "| hope |", "is not a recovery"),
        ("| retry | yes |", "| retry | perhaps |", "| perhaps |", "yes or no"),
        ("000625\\|40001", "(000625", "(000625", "regular expression"),
        ("#### Fix: make room", "#### Fixes", "#### Fixes", "not a part of a step"),
        ("- expect: no rows", "- expect: nothing", "- expect: nothing", "is not an expectation"),
        ("SHOW TABLES LIKE", "DROP TABLE IF EXISTS x; SHOW TABLES LIKE", "DROP TABLE", "may only look"),
        ("objective: Show it.", "objection: Show it.", "objection", "not permitted"),
        ("type: word", "type: wort", "mode:", "inputs.mode.type"),
        ("default: FAST", "default: MIDDLING", "---", "is not valid"),
        ("## Steps", "## Stops", "---", "no section '## Steps'"),
        ("choices: [FAST, SLOW]", "choices: [FAST, SLOW, A B]", "---", "a choice of 'mode'"),
    ],
)  # fmt: skip
def test_problems_have_their_line(old: str, new: str, line: str, words: str) -> None:
    whole = FRONT + STEP
    assert old in whole
    changed = whole.replace(old, new)
    found = problems(changed)
    assert any(words in text for _, text in found), found
    assert line_of(changed, line) in [number for number, text in found if words in text], found


def test_a_file_without_front_matter_is_none() -> None:
    assert problems("# Just a page\n") == [(1, "the file must begin with front matter between two lines of ---")]


def test_warnings_name_what_experience_warns_of() -> None:
    steps = """### Stage

```sql
CREATE OR REPLACE DYNAMIC TABLE {{ target }} TARGET_LAG = '1 minute' WAREHOUSE = W AS SELECT * FROM source;
CREATE OR REPLACE DYNAMIC TABLE leaf TARGET_LAG = '1 minute' WAREHOUSE = W AS SELECT id FROM {{ target }}
```

#### Creates

- DYNAMIC TABLE {{ target }}
- DYNAMIC TABLE leaf
"""
    playbook, found = lint(FRONT[: FRONT.index("## Probes")] + "## Steps\n\n" + steps)
    assert playbook is not None, found
    texts = " ".join(problem.text for problem in found)
    assert all(problem.warning for problem in found)
    assert "no probes" in texts and "SELECT *" in texts and "time lag on an intermediate" in texts


def test_shipped_playbooks_have_no_problem() -> None:
    assert len(library.shipped()) == 7
    for name in library.shipped():
        playbook, found = lint(library.text_of(name))
        assert found == [], name
        assert playbook is not None and playbook.name == name


def test_commands_that_need_no_account() -> None:
    listed = CliRunner().invoke(app, ["playbook", "list"], env={"COLUMNS": "80"})
    assert listed.exit_code == 0 and all(name in listed.stdout for name in library.shipped()), "names to copy"
    assert CliRunner().invoke(app, ["playbook", "lint", *library.shipped()]).exit_code == 0
    shown = CliRunner().invoke(app, ["playbook", "show", "add-column-safely", "--raw"])
    assert shown.stdout == library.text_of("add-column-safely")
    missing = CliRunner().invoke(app, ["playbook", "show", "nothing"])
    assert missing.exit_code == 1 and "There is no playbook 'nothing'" in missing.stderr


# -- inputs -----------------------------------------------------------------------------------------------------------


def rendered(kind: InputType, value: str) -> str:
    return parse_value(InputSpec(type=kind), value, PlaybookHome()).sql


@pytest.mark.parametrize(
    ("kind", "value", "sql"),
    [
        (InputType.TEXT, "it's \\ here", "'it''s \\\\ here'"),
        (InputType.TEXTS, "a, b'c", "'a', 'b''c'"),
        (InputType.INTEGER, "12", "12"),
        (InputType.NUMBER, "1e3", "1000"),
        (InputType.BOOLEAN, "Yes", "TRUE"),
        (InputType.DATE, "2026-02-28", "'2026-02-28'::DATE"),
        (InputType.TIMESTAMP, "2026-02-28 10:00", "'2026-02-28 10:00:00'::TIMESTAMP_NTZ"),
        (InputType.IDENTIFIER, "orders", "ORDERS"),
        (InputType.IDENTIFIER, '"My column"', '"My column"'),
        (InputType.NAME, "orders", "SNOWMELT.PUBLIC.ORDERS"),
        (InputType.NAME, 'raw."my orders"', 'SNOWMELT.RAW."my orders"'),
        (InputType.COLUMNS, 'id, "a b"', 'ID, "a b"'),
        (InputType.LAG, "5 minutes", "'5 minutes'"),
        (InputType.LAG, "downstream", "DOWNSTREAM"),
        (InputType.DATA_TYPE, "number(10,2)", "NUMBER(10,2)"),
        (InputType.WORD, "incremental", "INCREMENTAL"),
        (InputType.QUERY, "SELECT 1; ", "SELECT 1\n"),
        (InputType.EXPRESSION, "amount > 0", "(amount > 0\n)"),
    ],
)
def test_the_type_decides_the_sql(kind: InputType, value: str, sql: str) -> None:
    assert rendered(kind, value) == sql


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (InputType.INTEGER, "1 OR 1=1"),
        (InputType.NUMBER, "NaN"),
        (InputType.BOOLEAN, "maybe"),
        (InputType.DATE, "2026-02-30"),
        (InputType.TIMESTAMP, "yesterday"),
        (InputType.IDENTIFIER, "a.b"),
        (InputType.IDENTIFIER, "a; DROP TABLE x"),
        (InputType.NAME, "a.b.c.d"),
        (InputType.NAME, "a -- b"),
        (InputType.COLUMNS, "a, b) FROM x --"),
        (InputType.LAG, "soon"),
        (InputType.DATA_TYPE, "INT; DROP TABLE x"),
        (InputType.WORD, "A B"),
        (InputType.QUERY, "SELECT 1; DROP TABLE x"),
        (InputType.QUERY, "DROP TABLE x"),
        (InputType.EXPRESSION, "1) + (2"),
        (InputType.EXPRESSION, "1, 2"),
        (InputType.EXPRESSION, "1 FROM x"),
        (InputType.EXPRESSION, "1; DROP TABLE x"),
        (InputType.EXPRESSION, "1) OR TRUE -- "),
    ],
)
def test_what_is_of_another_type_is_refused(kind: InputType, value: str) -> None:
    with pytest.raises(ValueError, match=r"not|neither|no list"):
        parse_value(InputSpec(type=kind), value, PlaybookHome())


@settings(deadline=None)
@given(st.text(min_size=1, max_size=40), st.sampled_from(sorted(InputType)))
def test_no_value_becomes_another_statement(value: str, kind: InputType) -> None:
    """Whatever is accepted, the statement around it stays one statement of its kind."""
    try:
        found = parse_value(InputSpec(type=kind), value, PlaybookHome())
    except ValueError:
        return
    sql = filled("DELETE FROM t WHERE x = {{ value | text }} AND y = 1", {"value": found})
    statements = split_statements(sql)
    assert len(statements) == 1
    tokens = tokenize(sql).tokens
    assert sum(token.kind is TokenKind.STRING for token in tokens) == 1
    assert type(parse_statement(statements[0])).__name__ == "DeleteStatement"


@settings(deadline=None)
@given(st.text(min_size=1, max_size=40))
def test_a_query_or_an_expression_ends_where_it_is_put(value: str) -> None:
    for kind, around in (
        (InputType.QUERY, "CREATE VIEW v AS {{ v }}"),
        (InputType.EXPRESSION, "SELECT {{ v }} AS a, 7"),
    ):
        try:
            found = parse_value(InputSpec(type=kind), value, PlaybookHome())
        except ValueError:
            continue
        assert len(split_statements(filled(around, {"v": found}))) == 1


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("a = x", True), ("a = X", True), ("a != x", False), ("a in w, x", True), ("a in (w, y)", False),
        ("b is set", False), ("b is not set", True), ("a is set and b is not set", True), ("b = x", False),
        ("b != x", True),
    ],
)  # fmt: skip
def test_conditions(text: str, holds: bool) -> None:
    assert parse_condition(text).holds({"a": "x"}) is holds
