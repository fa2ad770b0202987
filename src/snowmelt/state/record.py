"""The base of all records that the state store keeps."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen value that reads and writes itself as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Definition(Record):
    """What is particular to one object of a schema. Each kind of object has a class of its own."""

    kind: str
