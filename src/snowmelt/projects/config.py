"""What a project says of itself: `[project]` in its `snowmelt.toml`."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from snowmelt.core.config import FILE_NAME
from snowmelt.core.names import split_name
from snowmelt.projects import errors as project_errors


class ProjectConfig(BaseModel):
    """Unknown keys are errors: a typo must not be silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Tells one project from another in the state store. Default: the folder's name."""
    database: str | None = None
    schema_name: str | None = None
    """Where names without a database or schema belong. Default: where a session starts."""
    warehouse: str | None = None
    """For dynamic tables that name none."""
    owns: tuple[str, ...] = ("*",)
    """Patterns such as `SHOP_*` of the names that the project may define, and drop."""

    def may_own(self, name: str) -> bool:
        return any(fnmatchcase(name.upper(), pattern.upper()) for pattern in self.owns)


def load_config(folder: Path, *, database: str | None = None, schema: str | None = None) -> ProjectConfig:
    """The project's configuration; what is given here counts before what the file says."""
    if not folder.is_dir():
        raise project_errors.project(f"There is no folder {folder}.")
    path = folder / FILE_NAME
    values: dict[str, object] = {"name": folder.resolve().name}
    if path.is_file():
        try:
            section = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
        except tomllib.TOMLDecodeError as error:
            raise project_errors.project(f"{path} is not valid TOML: {error}.") from None
        values |= {("schema_name" if key == "schema" else key): value for key, value in section.items()}
    values |= {key: value for key, value in (("database", database), ("schema_name", schema)) if value is not None}
    try:
        return ProjectConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]).replace("schema_name", "schema")
        raise project_errors.project(f"'{name}' in [project] of {path} is not valid: {first['msg']}.") from None


def single_name(text: str, what: str) -> str:
    """The stored form of a name of one part."""
    parts = split_name(text)
    if parts is None or len(parts) != 1:
        raise project_errors.project(f"'{text}' is not the name of a {what}.")
    return parts[0]
