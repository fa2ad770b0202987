"""Where files are: stages, the user's and the tables' own stages, and URLs."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as percent_quote
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from snowmelt.core import errors, text
from snowmelt.core.names import quote
from snowmelt.core.patterns import UserPattern
from snowmelt.features.loading.definitions import STAGE
from snowmelt.features.loading.local_files import LocalFiles
from snowmelt.features.loading.stage_statements import Location, StageLocation, UrlLocation
from snowmelt.features.loading.stage_stores import check_object_url, local_file, outside_files, own_files
from snowmelt.runtime import protecting
from snowmelt.runtime.rights import addresses, enforcement
from snowmelt.sql.statements.base import NameRef
from snowmelt.state.model import StageDefinition
from snowmelt.storage.layout import FILES_FOLDER, StorageRoot

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account
    from snowmelt.runtime.run import Run

_HIDDEN = ".snowmelt-"
"""Begins the names of files that are still being written; no listing shows them."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    path: str
    """Inside its stage, with slashes."""
    size: int
    modified: datetime

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class StageFolder:
    """A folder of files, and the path inside it that a statement named."""

    files: pafs.FileSystem = field(repr=False)
    """Rooted in the folder."""
    path: str
    """As written behind the stage: files whose path begins with it are meant."""
    key: str
    """Names the folder in the load history, whatever it is called today."""
    shown: str
    """What stands before a file's path in results: `stage/`, a URL, or nothing."""
    written: str
    """The location as messages repeat it."""
    location: str = ""
    """What stands before a file's path when PATTERN is compared: a path that users do not know, or a URL."""
    outside: str = ""
    """What stands before a file's path in METADATA$FILENAME: the path of an external stage."""
    external: bool = False
    format: Mapping[str, Any] = field(default_factory=dict)
    """The stage's own FILE_FORMAT."""

    def all_files(self) -> list[StagedFile]:
        """The files that the path means, by name: all those whose path begins with it."""
        return sorted(self._below(self.path), key=lambda file: file.path)

    def matching(self, pattern: str | None) -> list[StagedFile]:
        """The files of `all_files` whose whole path matches the regular expression."""
        if pattern is None:
            return self.all_files()
        wanted, files = _user_pattern(pattern), self.all_files()
        matches = wanted.match_whole([self.location + file.path for file in files])
        return [file for file, fits in zip(files, matches, strict=True) if fits]

    def find(self, name: str) -> StagedFile | None:
        """The file of that name below the stage's path."""
        path = self.inside(name)
        info = self.files.get_file_info(path)
        return _staged(info, path) if info.type == pafs.FileType.File else None

    def inside(self, name: str) -> str:
        """The path of a file that FILES, PUT or an unload names below the stage's path."""
        path = f"{self.path.rstrip('/')}/{name}" if self.path else name
        check_path(path)
        return path.lstrip("/")

    def history_key(self, file: StagedFile) -> str:
        return f"{self.key}/{file.path}"

    def _below(self, prefix: str) -> Iterator[StagedFile]:
        folder, _, start = prefix.rpartition("/")
        selector = pafs.FileSelector(folder, recursive=False, allow_not_found=True)
        for info in self.files.get_file_info(selector):
            name = info.path.strip("/").rsplit("/", 1)[-1]
            path = f"{folder}/{name}" if folder else name
            if not name.startswith(start) or name.startswith(_HIDDEN):
                continue
            if info.type == pafs.FileType.Directory:
                yield from self._below(f"{path}/")
            elif info.type == pafs.FileType.File:
                yield _staged(info, path)

    # -- content --------------------------------------------------------------------------------------------------

    def reading(self, path: str) -> Any:
        """The file's bytes as they are: by itself Arrow would decompress `x.gz`."""
        return self.files.open_input_stream(path, compression=None)

    def writing(self, path: str) -> Any:
        """A file to write bytes to; it is there when it is closed."""
        return self.files.open_output_stream(path, compression=None)

    # -- changing -------------------------------------------------------------------------------------------------

    def remove(self, file: StagedFile) -> None:
        self.files.delete_file(file.path)

    def temporary(self, path: str) -> str:
        """A path beside `path` under which a file can be written before `publish` gives it its name."""
        folder, _, _ = path.rpartition("/")
        name = f"{_HIDDEN}{uuid.uuid4().hex}"
        self.files.create_dir(folder, recursive=True) if folder else None
        return f"{folder}/{name}" if folder else name

    def publish(self, temporary: str, path: str) -> None:
        """Gives a complete file its name: nobody sees half of it."""
        self.files.move(temporary, path)

    def discard(self, temporary: str) -> None:
        if self.files.get_file_info(temporary).type == pafs.FileType.File:
            self.files.delete_file(temporary)

    def digest(self, file: StagedFile) -> str:
        """The MD5 of the file's bytes."""
        found = hashlib.md5(usedforsecurity=False)
        with self.reading(file.path) as stream:
            while chunk := stream.read(1 << 20):
                found.update(chunk)
        return found.hexdigest()


class Digests:
    """MD5 sums of files, kept as long as size and time of the file stay: reading a big one again takes seconds."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._known: OrderedDict[str, tuple[datetime, int, str]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, stage: StageFolder, file: StagedFile) -> str:
        name = stage.history_key(file)
        with self._lock:
            known = self._known.get(name)
        if known is not None and known[:2] == (file.modified, file.size):
            return known[2]
        found = stage.digest(file)
        with self._lock:
            self._known[name] = (file.modified, file.size, found)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found


def _user_pattern(pattern: str) -> UserPattern:
    try:
        return UserPattern(pattern)
    except ValueError as error:
        raise errors.SnowmeltError("100048", "2201B", f"Invalid regular expression: '{pattern}', {error}") from None


def check_path(path: str) -> None:
    """A path may not leave its stage."""
    wrong = "\\" in path or any(part in ("..", ".") for part in path.split("/"))
    shown = text.shown(path)
    if wrong or shown != path:
        raise errors.compilation(
            "001086", "42601",
            f"Invalid path '{shown}': no '.' or '..' as a part of it, no backslash, no control character.",
        )  # fmt: skip


def _staged(info: pafs.FileInfo, path: str) -> StagedFile:
    modified = info.mtime or datetime.fromtimestamp(0, UTC)
    return StagedFile(path, info.size or 0, modified.astimezone(UTC))


# -- resolving ----------------------------------------------------------------------------------------------------


def resolve(run: Run, location: Location, *, writes: bool = False) -> StageFolder:
    """The stage or URL that a statement names. Raises when there is no such stage or table, or no right to use it."""
    if isinstance(location, UrlLocation):
        addresses.require_use(run)
        return _url_stage(run, location.url)
    path = location.path
    check_path(path)
    if location.kind == "USER":
        # A user of an older account may be called `..`, which quoting leaves as it is.
        folder = f"stages/user/{percent_quote(run.session.user, safe='').replace('.', '%2E')}"
        return _internal(run.account, folder, path, key="@~", shown="", written=f"@~/{path}".rstrip("/"))
    assert location.name is not None
    if location.kind == "TABLE":
        table = run.find_table(location.name)
        enforcement.require_object(run, "OWNERSHIP", table)
        key = f"@%{table.id}"
        written = f"@%{_spelled(location.name, path)}"
        return _internal(run.account, table_stage(table.id), path, key=key, shown="", written=written)
    return _named(run, location, path, writes=writes)


def _named(run: Run, location: StageLocation, path: str, *, writes: bool) -> StageFolder:
    assert location.name is not None
    name = run.object_name(location.name)
    with run.state.read() as state:
        found = state.catalog.find(name, [STAGE], run.session.id)
    if found is None:
        raise errors.not_found("Stage", str(name))
    definition = found.definition
    assert isinstance(definition, StageDefinition)
    right = "USAGE" if definition.url is not None else "WRITE" if writes else "READ"
    enforcement.require_object(run, right, found)
    written = f"@{_spelled(location.name, path)}"
    if definition.url is None:
        assert definition.location is not None
        return _internal(
            run.account, definition.location, path, key=f"@{found.id}", shown=f"{name.name.lower()}/",
            written=written, format=definition.file_format,
        )  # fmt: skip
    return _external(run, definition.url, path, key=f"@{found.id}", written=written, format=definition.file_format)


def _spelled(name: NameRef, path: str) -> str:
    spelled = ".".join(quote(part).lower() if quote(part) == part else quote(part) for part in name.parts)
    return f"{spelled}/{path}" if path else spelled


def table_stage(table_id: str) -> str:
    """The location of a table's own stage, `@%t`."""
    return f"stages/table/{table_id}"


def remove_files(account: Account, location: str) -> None:
    """Deletes all files of an internal stage that exists no more."""
    if account.settings.storage_root:
        account.store.root.remove(f"{FILES_FOLDER}/{location}")
    else:
        StorageRoot(str(account.data_dir)).remove(location)


def stage_root(account: Account) -> str:
    """The folder below which the locations of internal stages are."""
    root = account.settings.storage_root
    return f"{root.rstrip('/')}/{FILES_FOLDER}" if root else str(account.data_dir)


def folder(account: Account, uri: str) -> pafs.FileSystem:
    """A folder below the stage root, for files of our own."""
    local = None if "://" in uri else Path(uri)
    if local is not None:
        local.mkdir(parents=True, exist_ok=True)
    return own_files(uri, account.store.root.options)


def _internal(
    account: Account, location: str, path: str, *, key: str, shown: str, written: str,
    format: Mapping[str, Any] | None = None,
) -> StageFolder:  # fmt: skip
    uri = f"{stage_root(account)}/{location}"
    if "://" in uri:
        files = own_files(uri, account.store.root.options)
    else:
        Path(uri).mkdir(parents=True, exist_ok=True)
        files = pafs.PyFileSystem(LocalFiles(Path(uri), None))
    return StageFolder(files, path, key, shown, written, location=f"{location}/", format=format or {})


def _external(
    run: Run, url: str, path: str, *, key: str, written: str, format: Mapping[str, Any] | None = None
) -> StageFolder:
    root = url.rstrip("/")
    files = outside_files(run.account, root)
    outside = urlsplit(root).path.strip("/")
    return StageFolder(
        files, path, key, f"{root}/", written, location=f"{root}/", outside=f"{outside}/" if outside else "",
        external=True, format=format or {},
    )  # fmt: skip


def _url_stage(run: Run, url: str) -> StageFolder:
    check_url(run.account, url)
    local = local_file(url)
    if local is not None and local.is_dir():
        return _external(run, local.as_uri(), "", key=local.as_uri(), written=url)
    root, _, prefix = url.rstrip("/").rpartition("/") if not url.endswith("/") else (url.rstrip("/"), "", "")
    if root.count("/") < 2:
        raise errors.invalid_value(url, "location")
    if local is not None:
        root, prefix = local.parent.as_uri(), local.name + ("/" if url.endswith("/") else "")
    return _external(run, root, prefix, key=root, written=url)


def check_url(account: Account, url: str) -> None:
    """Raises for a URL that leads to the account's own files, and for one whose path leaves what it names."""
    for path in (urlsplit(url).path, unquote(urlsplit(url).path)):
        check_path(path.lstrip("/"))
    local = local_file(url)
    if local is not None:
        if not local.is_absolute():
            # What would be taken for the name of a machine, or be looked for where the server was started.
            raise errors.compilation(
                "001086", "42601", f"Invalid path '{url}': write the folder from its root, as in file:///folder/."
            )
        protecting.of(account).check(local)
    else:
        check_object_url(url)
        protecting.check_outside(url, account.settings.storage_root)


def rfc_1123(instant: datetime) -> str:
    """`Mon, 11 Sep 2019 18:13:07 GMT`, in English whatever the locale."""
    days: Sequence[str] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    utc = instant.astimezone(UTC)
    return f"{days[utc.weekday()]}, {utc.day} {months[utc.month - 1]} {utc:%Y %H:%M:%S} GMT"
