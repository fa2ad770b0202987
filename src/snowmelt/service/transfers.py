"""PUT and GET for clients on another machine: the client moves the bytes, and is told here from where to where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.service.loading import places
from snowmelt.service.loading.places import Place, StagedFile
from snowmelt.service.results import DONE, Result, status
from snowmelt.sql.statements.base import Statement
from snowmelt.sql.statements.files import Get, Put, PutOptions

if TYPE_CHECKING:
    from snowmelt.service.run import Run

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    place: Place
    source: str
    """The path on the client's machine, perhaps with wild cards."""
    options: PutOptions

    @property
    def name(self) -> str:
        """The last part of the path: the file's name, where there is no wild card."""
        return PurePath(self.source).name


@dataclass(frozen=True, slots=True)
class Download:
    place: Place
    files: tuple[StagedFile, ...]
    folder: str
    """On the client's machine."""


Transfer = Upload | Download


def is_transfer(statement: Statement) -> bool:
    return isinstance(statement, Put | Get)


def transferred(run: Run, statement: Statement, found: list[Transfer]) -> Result:
    """Puts what is to be moved into `found`, once it is known that it may be."""
    if isinstance(statement, Put):
        place = places.resolve(run, statement.target, writes=True)
        if place.external:
            raise errors.unsupported(
                "PUT to an external stage", hint="Copy the files to the stage's URL by other means."
            )
        found.append(Upload(place, _path(statement.source), statement.options))
        return status(DONE, "PUT_FILES")
    assert isinstance(statement, Get)
    place = places.resolve(run, statement.source)
    files = tuple(place.matching(statement.options.pattern))
    found.append(Download(place, files, _path(statement.target)))
    return status(DONE, "GET_FILES")


def _path(url: str) -> str:
    """A `file://` URL's path, which is the client's to understand."""
    return url[len("file://") :]


class Receiving:
    """A file that a client sends piece by piece. It is in the stage when it is complete, or never."""

    def __init__(self, place: Place, name: str) -> None:
        self._place = place
        self._target = place.inside(name)
        self._temporary = place.temporary(self._target)
        self._output: Any = place.writing(self._temporary)

    def write(self, data: bytes) -> None:
        self._output.write(data)

    def publish(self) -> None:
        self._output.close()
        self._place.publish(self._temporary, self._target)

    def discard(self) -> None:
        self._output.close()
        self._place.discard(self._temporary)


def content(place: Place, path: str) -> Iterator[bytes]:
    """A staged file's bytes, piece by piece."""
    with place.reading(path) as stream:
        while chunk := stream.read(_CHUNK):
            yield bytes(chunk)
