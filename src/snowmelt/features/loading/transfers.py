"""PUT and GET for clients on another machine: the client moves the bytes, and is told here from where to where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.features.loading import stage_folders
from snowmelt.features.loading.file_statements import Get, Put, PutOptions
from snowmelt.features.loading.stage_folders import StagedFile, StageFolder
from snowmelt.runtime.results import DONE, Result, status
from snowmelt.sql.statements.base import Statement

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.session import Session
    from snowmelt.sql.tokens import SqlText

_CHUNK = 1 << 20
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class Upload:
    stage: StageFolder
    source: str
    """The path on the client's machine, perhaps with wild cards."""
    options: PutOptions

    @property
    def name(self) -> str:
        """The last part of the path: the file's name, where there is no wild card."""
        # The path is the client's, which may run on Windows.
        return PureWindowsPath(self.source).name if _DRIVE.match(self.source) else PurePosixPath(self.source).name

    @property
    def bare(self) -> bool:
        """Whether the path is a name alone. So clients ask for the name that a file is to have in the stage."""
        return self.name == self.source


@dataclass(frozen=True, slots=True)
class Download:
    stage: StageFolder
    files: tuple[StagedFile, ...]
    folder: str
    """On the client's machine."""


Transfer = Upload | Download


def transfer(session: Session, text: SqlText, query_id: str) -> Transfer | None:
    """What a client has to do for PUT or GET with files on its own machine; None for any other statement."""
    found: list[Transfer] = []

    def work(run: Run, statement: Statement) -> Callable[[], Result] | None:
        return partial(_find, run, statement, found) if isinstance(statement, Put | Get) else None

    return found[0] if session.perform_statement(text, query_id, work) else None


def _find(run: Run, statement: Put | Get, found: list[Transfer]) -> Result:
    """Puts what is to be moved into `found`, once it is known that it may be."""
    if isinstance(statement, Put):
        stage = stage_folders.resolve(run, statement.target, writes=True)
        if stage.external:
            raise errors.unsupported(
                "PUT to an external stage", hint="Copy the files to the stage's URL by other means."
            )
        found.append(Upload(stage, _path(statement.source), statement.options))
        return status(DONE, "PUT_FILES")
    stage = stage_folders.resolve(run, statement.source)
    files = tuple(stage.matching(statement.options.pattern))
    found.append(Download(stage, files, _path(statement.target)))
    return status(DONE, "GET_FILES")


def _path(url: str) -> str:
    """A `file://` URL's path, which is the client's to understand."""
    return url[len("file://") :]


class Receiving:
    """A file that a client sends piece by piece. It is in the stage when it is complete, or never."""

    def __init__(self, stage: StageFolder, name: str) -> None:
        self._stage = stage
        self._target = stage.inside(name)
        self._temporary = stage.temporary(self._target)
        self._output: Any = stage.writing(self._temporary)

    def write(self, data: bytes) -> None:
        self._output.write(data)

    def publish(self) -> None:
        self._output.close()
        self._stage.publish(self._temporary, self._target)

    def discard(self) -> None:
        self._output.close()
        self._stage.discard(self._temporary)


def content(stage: StageFolder, path: str) -> Iterator[bytes]:
    """A staged file's bytes, piece by piece."""
    with stage.reading(path) as stream:
        while chunk := stream.read(_CHUNK):
            yield bytes(chunk)
