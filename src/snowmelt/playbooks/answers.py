"""Inputs and answers that are known before a run: a YAML file.

inputs: {source: orders}
answers:
  stage-the-source: approve
  switch-over: [{decision: modify, inputs: {lag: 5 minutes}}, approve]
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from snowmelt.core.yaml_text import load_yaml
from snowmelt.playbooks import errors as playbook_errors
from snowmelt.playbooks.inputs import Scalar
from snowmelt.playbooks.model import CheckpointDecision
from snowmelt.playbooks.ports import CheckpointAnswer, CheckpointQuestion


class _Written(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    decision: CheckpointDecision
    inputs: dict[str, Scalar] = Field(default_factory=dict)


def _listed(value: object) -> object:
    items = value if isinstance(value, list) else [value]
    return [{"decision": item} if isinstance(item, str) else item for item in items]


class Answers(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: dict[str, Scalar] = Field(default_factory=dict)
    answers: dict[str, Annotated[tuple[_Written, ...], BeforeValidator(_listed)]] = Field(default_factory=dict)
    """By step; several where a checkpoint is reached several times."""

    def to(self, question: CheckpointQuestion) -> CheckpointAnswer | None:
        """The answer whose turn it is."""
        given = self.answers.get(question.step.id, ())
        if question.answered >= len(given):
            return None
        written = given[question.answered]
        return CheckpointAnswer(
            written.decision, {name: str(value) for name, value in written.inputs.items()}, "answers file"
        )


def load_answers(path: Path | None) -> Answers:
    if path is None:
        return Answers()
    try:
        return Answers.model_validate(load_yaml(path.read_text(encoding="utf-8"), yaml.BaseLoader) or {})
    except OSError as error:
        raise playbook_errors.playbook(f"{path} can't be read: {error.strerror}.") from None
    except yaml.YAMLError as error:
        raise playbook_errors.playbook(f"{path} is not valid YAML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise playbook_errors.playbook(f"'{where}' in {path} is not valid: {first['msg']}.") from None
