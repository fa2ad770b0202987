"""From YAML to requirements, with the place of everything that is wrong; and the JSON Schema of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from snowmelt.core import errors
from snowmelt.core.yaml_text import compose_yaml, load_yaml
from snowmelt.design.requirements.model import Requirements
from snowmelt.design.requirements.proposing import proposal

SCHEMA_ID = "https://snowmelt.dev/schemas/requirements-1.json"
_M = TypeVar("_M", bound=BaseModel)


def read_requirements(path: Path) -> Requirements:
    return read(path, Requirements)


def read(path: Path, model: type[_M]) -> _M:
    """The file as the model. Raises one error that names everything that is wrong, each with its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.configuration(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from None
    return parse(text, model, str(path))


def parse(text: str, model: type[_M], name: str) -> _M:
    try:
        data = load_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        raise errors.configuration(f"{name}{where}: this is not YAML: {problem}.") from None
    if not isinstance(data, dict):
        raise errors.configuration(f"{name}:1:1: this is not a mapping of fields.")
    node = compose_yaml(text)
    twice = [f"{name}:{mark.line + 1}:{mark.column + 1}: {key}: this stands here twice." for key, mark in _twice(node)]
    if twice:
        raise errors.configuration("\n".join(twice))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [_problem(name, node, problem, model) for problem in _distinct(error)]
        raise errors.configuration("\n".join(lines)) from None


def _twice(node: Any) -> Iterator[tuple[str, Any]]:
    """Fields that a mapping has more than once, of which YAML would take the last without a word."""
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in node.value:
            if key.value in names:
                yield key.value, key.start_mark
            names.add(key.value)
            yield from _twice(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _twice(item)


def _distinct(error: ValidationError) -> list[Any]:
    """Pydantic reports each member of a union; one problem a place is what a person can mend."""
    seen: dict[tuple[object, ...], Any] = {}
    for problem in error.errors():
        path = tuple(part for part in problem["loc"] if not _is_member(part))
        seen.setdefault(path, {**problem, "loc": path})
    # What is wrong inside says more than that none of the other members fits either.
    return [item for path, item in seen.items() if not any(path == other[: len(path)] != other for other in seen)]


def _is_member(part: object) -> bool:
    """The name that pydantic gives to one member of a union, which is none in the file."""
    return isinstance(part, str) and ("[" in part or part in ("Alerts", "literal"))


def _problem(name: str, node: Any, problem: Any, model: type[BaseModel]) -> str:
    path: Sequence[object] = problem["loc"]
    shown = ".".join(str(part) for part in path) or "the file"
    line, column = _position(node, path)
    nearest = proposal(problem, model)
    meant = f" Did you mean {nearest}?" if nearest is not None else ""
    return f"{name}:{line}:{column}: {shown}: {problem['msg'].removeprefix('Value error, ')}.{meant}"


def _position(node: Any, path: Sequence[object]) -> tuple[int, int]:
    """The position of the deepest part of the path that is in the file: that of its parent for a missing field."""
    mark = node.start_mark
    for part in path:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if pair is None:
                break
            mark, node = pair[0].start_mark, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            mark = node.start_mark
        else:
            break
    return mark.line + 1, mark.column + 1


def json_schema(model: type[BaseModel] = Requirements, identifier: str = SCHEMA_ID) -> str:
    """A JSON Schema of the file, for editors and other programs."""
    schema = model.model_json_schema(mode="validation")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identifier}
    return json.dumps({**head, **schema}, indent=2) + "\n"


def to_yaml(model: BaseModel) -> str:
    """Only the fields that were given, in their order."""
    data = model.model_dump(mode="json", exclude_none=True, exclude_defaults=True, by_alias=True)
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]
    """Writes text of several lines as such, so that SQL can be read in the file."""


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
