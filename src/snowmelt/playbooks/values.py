"""The values of a run: what was given, defaults, and what probes captured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks.inputs import InputSpec, InputValue, PlaybookHome, Scalar, parse_value
from snowmelt.playbooks.model import Playbook
from snowmelt.playbooks.templates import plainly_filled

Ask = Callable[[str, InputSpec], str | None]
"""Asks a person for an input that is missing; None when there is nobody."""


def resolved(playbook: Playbook, given: Mapping[str, Scalar], home: PlaybookHome, ask: Ask) -> dict[str, str]:
    """Every input's value as plain text, valid by its type. Raises with all that is missing or wrong."""
    specs = playbook.front.inputs
    problems = [f"there is no input '{name}'" for name in given if name not in specs]
    values: dict[str, InputValue] = {}
    for name, spec in specs.items():
        raw = given.get(name)
        if raw is None and spec.default is not None:
            default = spec.default
            raw = plainly_filled(default, values) if isinstance(default, str) else default
        if raw is None and not spec.optional:
            raw = ask(name, spec)
        if raw is None or raw == "":
            problems += [] if spec.optional else [f"the input '{name}' is missing ({spec.description or spec.type})"]
            continue
        try:
            values[name] = parse_value(spec, raw, home)
        except ValueError as error:
            problems.append(f"input '{name}': {error}")
    if problems:
        raise playbook_errors.playbook(
            f"The inputs of '{playbook.name}' are not right: {'; '.join(problems)}.",
            hint="Give them with --input name=value, or under 'inputs' in the file of --answers.",
        )
    return {name: value.plain for name, value in values.items()}


def values_of(
    playbook: Playbook, inputs: Mapping[str, str], facts: Mapping[str, str], home: PlaybookHome
) -> dict[str, InputValue]:
    """What SQL is filled with."""
    found = {name: parse_value(playbook.front.inputs[name], plain, home) for name, plain in inputs.items()}
    return {**{name: parse_value(InputSpec(), fact, home) for name, fact in facts.items()}, **found}
