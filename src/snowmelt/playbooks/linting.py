"""What is wrong with a playbook beyond its structure: its SQL, its placeholders, what can't be repeated or undone."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.core.errors import SnowmeltError
from snowmelt.playbooks.conditions import Condition
from snowmelt.playbooks.inputs import SAMPLES, InputSpec, InputType, InputValue, PlaybookHome, parse_value
from snowmelt.playbooks.model import Playbook, PlaybookStep, Problem, Sql
from snowmelt.playbooks.reading import read_playbook
from snowmelt.playbooks.stages import stage_warnings
from snowmelt.playbooks.statements import Repeating, reads, units_of
from snowmelt.playbooks.templates import filled, names_in, placeholders, wrong
from snowmelt.sql.statements.classify import classify
from snowmelt.sql.statements.parse import parse_statement
from snowmelt.sql.tokens import split_statements


def lint(text: str) -> tuple[Playbook | None, list[Problem]]:
    """The playbook, unless it has problems that are more than warnings; and all its problems, by line."""
    playbook, problems = read_playbook(text)
    if playbook is None:
        return None, problems
    found = sorted(set(_problems(playbook)))
    return (None if any(not item.warning for item in found) else playbook), found


def _problems(playbook: Playbook) -> Iterator[Problem]:
    samples = _samples(playbook)
    yield from _inputs(playbook)
    if not playbook.probes:
        yield Problem(1, "there are no probes: nobody looks before something is made", warning=True)
    for probe in playbook.probes:
        yield from _condition(playbook, probe.when, probe.line)
        for sql in probe.sql:
            yield from _sql(playbook, sql, probe.when, samples)
            if any(not reads(parse_statement(item)) for item in _statements(sql, samples)):
                yield Problem(sql.line, "a probe changes something; it may only look")
    for step in playbook.steps:
        yield from _step(playbook, step, samples)
    yield from stage_warnings(playbook, samples)


def _samples(playbook: Playbook) -> dict[str, InputValue]:
    """A value for everything that SQL can name."""
    found = {name: _sample(spec) for name, spec in playbook.front.inputs.items()}
    return {**{name: _sample(InputSpec()) for name in playbook.facts}, **found}


def _sample(spec: InputSpec) -> InputValue:
    for raw in (*spec.choices, SAMPLES[spec.type]):
        try:
            return parse_value(spec.model_copy(update={"choices": ()}), raw, PlaybookHome())
        except ValueError:
            # A choice that does not fit the type is reported elsewhere.
            continue
    raise AssertionError("every type has a sample")


def _inputs(playbook: Playbook) -> Iterator[Problem]:
    known: set[str] = set()
    for name, spec in playbook.front.inputs.items():
        if name in playbook.facts:
            yield Problem(1, f"'{name}' is an input and a captured value")
        named = names_in(str(spec.default)) if spec.default is not None else set()
        if missing := named - known:
            yield Problem(
                1, f"the default of '{name}' names {', '.join(sorted(missing))}, which is not an input before it"
            )
        elif spec.default is not None and not named:
            try:
                parse_value(spec, spec.default, PlaybookHome())
            except ValueError as error:
                yield Problem(1, f"the default of '{name}' is not valid: {error}")
        for choice in spec.choices:
            try:
                parse_value(spec, choice, PlaybookHome())
            except ValueError as error:
                yield Problem(1, f"a choice of '{name}' is not valid: {error}")
        known.add(name)


def _condition(playbook: Playbook, condition: Condition | None, line: int) -> Iterator[Problem]:
    for test in condition.tests if condition is not None else ():
        spec = playbook.front.inputs.get(test.name)
        if spec is None and test.name not in playbook.facts:
            yield Problem(line, f"the condition names '{test.name}', which is neither an input nor a captured value")
        elif spec is not None and spec.choices:
            allowed = {str(choice).casefold() for choice in spec.choices}
            for value in test.wanted:
                if value.casefold() not in allowed:
                    yield Problem(line, f"'{value}' is not one of the choices of '{test.name}'")


def _sql(playbook: Playbook, sql: Sql, when: Condition | None, samples: dict[str, InputValue]) -> Iterator[Problem]:
    misused = list(wrong(sql.text, playbook.front.inputs, playbook.facts))
    sure = {test.name for test in when.tests if not (test.negated or test.wanted)} if when is not None else set()
    for item in placeholders(sql.text):
        spec = playbook.front.inputs.get(item.name)
        if spec is not None and spec.optional and spec.default is None and item.name not in sure:
            misused.append((item.offset, f"'{item.name}' may have no value: add '- when: {item.name} is set'"))
    for offset, text in misused:
        yield Problem(sql.line + sql.text.count("\n", 0, offset), text)
    if misused:
        return
    try:
        statements = split_statements(filled(sql.text, samples))
    except SnowmeltError as error:
        yield Problem(sql.line, error.message)
        return
    if not statements:
        yield Problem(sql.line, "the block of SQL is empty")
    for statement in statements:
        try:
            parse_statement(statement)
        except SnowmeltError as error:
            yield Problem(sql.line + statement.line - 1, error.message.replace("\n", " "))


def _statements(sql: Sql, samples: dict[str, InputValue]) -> list[str]:
    """The statements that parse; the others are problems already."""
    try:
        found = [item.text for item in split_statements(filled(sql.text, samples))]
        for item in found:
            parse_statement(item)
    except (SnowmeltError, ValueError, KeyError):
        return []
    return found


def _step(playbook: Playbook, step: PlaybookStep, samples: dict[str, InputValue]) -> Iterator[Problem]:
    yield from _condition(playbook, step.when, step.line)
    for sql in step.all_sql():
        yield from _sql(playbook, sql, step.when, samples)
    for created in step.creates:
        for item in placeholders(created.name):
            if playbook.front.inputs.get(item.name, InputSpec()).type not in (InputType.NAME, InputType.IDENTIFIER):
                yield Problem(created.line, f"'{item.name}' is not an input of type name or identifier")
    checkpoint = step.checkpoint
    if checkpoint is not None:
        for name in checkpoint.alternative:
            if name not in playbook.front.inputs:
                yield Problem(checkpoint.line, f"the different approach sets '{name}', which is not an input")
        for sql in checkpoint.sql:
            if any(not reads(parse_statement(item)) for item in _statements(sql, samples)):
                yield Problem(sql.line, "a checkpoint presents; its SQL may not change anything")
    yield from _effects(step, samples)


def _effects(step: PlaybookStep, samples: dict[str, InputValue]) -> Iterator[Problem]:
    """A step must be safe to repeat, and possible to undo."""
    changes = False
    last = _statements(step.sql[-1], samples) if step.sql else []
    if step.expectations and not (last and reads(parse_statement(last[-1]))):
        yield Problem(step.line, f"'{step.title}' expects rows, but its last statement is not a query")
    for sql in step.sql:
        statements = [parse_statement(item) for item in _statements(sql, samples)]
        changes = changes or not all(map(reads, statements))
        if sql.transaction:
            if any(not classify(statement).is_dml for statement in statements):
                yield Problem(sql.line, "only INSERT, UPDATE, DELETE, MERGE, TRUNCATE and COPY can be in a transaction")
            continue
        yield from _unrepeatable(sql, samples, asked=step.done_when is not None)
    if changes and not step.creates and step.compensation is None:
        yield Problem(
            step.line,
            f"'{step.title}' changes something that can't be undone: say what it creates, or add a compensation (in "
            "words, where there is nothing to undo)",
        )
    compensation = step.compensation.sql if step.compensation is not None else ()
    for sql in (*compensation, *(sql for fix in step.fixes.values() for sql in fix)):
        yield from _unrepeatable(sql, samples, asked=False)


def _unrepeatable(sql: Sql, samples: dict[str, InputValue], *, asked: bool) -> Iterator[Problem]:
    if asked or not _statements(sql, samples):
        return
    for unit in units_of(filled(sql.text, samples), transaction=sql.transaction):
        if unit.repeating is Repeating.UNKNOWN:
            shown = unit.statements[0].split("\n", 1)[0][:60]
            yield Problem(
                sql.line,
                f"'{shown}' can't be repeated after an interruption: write OR REPLACE, IF [NOT] EXISTS or the like (of "
                "streams IF NOT EXISTS), or add 'Done when' with a query that is TRUE once it was done",
            )
