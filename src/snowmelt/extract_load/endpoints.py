"""Where sources and destinations are: `connections.yaml`, whose secrets are names of environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from snowmelt.core import errors
from snowmelt.core.yaml_text import load_yaml

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_NAMES = re.compile(r"password|token|secret|passphrase|api_?key|value$|\.pem$", re.IGNORECASE)


class Endpoint(BaseModel):
    """One entry, with what it names in the environment filled in. Shown, it has no secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    """postgres, mysql, api, s3, gcs, sftp, kafka, files, snowmelt; for destinations also parquet, delta, csv."""
    address: SecretStr
    """An address of its kind. It may hold a password, and is therefore shown nowhere."""
    options: dict[str, SecretStr] = Field(default_factory=dict)
    """What the kind takes beside an address: docs/reference/pipelines.md lists them."""

    @field_validator("options", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return {key: _text(item) for key, item in value.items()} if isinstance(value, Mapping) else value

    def where(self) -> str:
        return self.address.get_secret_value()

    def option(self, name: str) -> str | None:
        found = self.options.get(name)
        return None if found is None else found.get_secret_value()

    def settings(self) -> dict[str, str]:
        return {name: value.get_secret_value() for name, value in self.options.items()}


def read_endpoints(path: Path, environment: Mapping[str, str] | None = None) -> dict[str, Endpoint]:
    """By name. Raises for a variable that is not set, and for a secret that stands in the file itself."""
    text = path.read_text(encoding="utf-8")
    try:
        data = load_yaml(text) or {}
    except yaml.YAMLError as error:
        raise errors.configuration(f"{path.name} is not valid YAML: {error}") from None
    if not isinstance(data, dict):
        raise errors.configuration(f"{path.name} must have one entry for each connection.")
    return {str(name): endpoint_of(str(name), entry, environment) for name, entry in data.items()}


def endpoint_of(name: str, entry: Any, environment: Mapping[str, str] | None = None) -> Endpoint:
    """An entry of the file: `kind`, `address`, and options."""
    if not isinstance(entry, Mapping):
        raise errors.configuration(f"Connection {name} must have a kind and an address.")
    _refuse_secrets(name, entry)
    filled = {str(key): _filled(name, value, environment) for key, value in entry.items()}
    known = {key: filled.pop(key) for key in ("kind", "address") if key in filled}
    try:
        return Endpoint.model_validate({**known, "options": filled})
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise errors.configuration(f"Connection {name} is not complete: {problems}.") from None


def _refuse_secrets(name: str, entry: Mapping[Any, Any]) -> None:
    for key, value in entry.items():
        if is_secret(str(key), value):
            raise errors.configuration(
                f"Connection {name} has a secret in the file: {key}.",
                hint=f"Write {key}: ${{{name.upper()}_{'URL' if key == 'address' else str(key).upper()}}}, "
                "and set that variable in the environment.",
            )


def is_secret(name: str, value: object) -> bool:
    """Whether an address or an option holds a secret itself. A reference to a variable of the environment is fine."""
    if not isinstance(value, str) or _REFERENCE.search(value):
        return False
    return _SECRET_NAMES.search(name) is not None or (name == "address" and _password(value) is not None)


def _password(address: str) -> str | None:
    try:
        return urlsplit(address).password
    except ValueError:
        return None


def _filled(name: str, value: Any, environment: Mapping[str, str] | None) -> str:
    variables = os.environ if environment is None else environment

    def of(found: re.Match[str]) -> str:
        variable = found.group(1)
        if variable not in variables:
            raise errors.configuration(
                f"The environment variable {variable}, which connection {name} needs, is not set.",
                hint="Set it, or see .env.example.",
            )
        return variables[variable]

    return _REFERENCE.sub(of, _text(value))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)
