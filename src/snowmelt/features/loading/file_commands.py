"""PUT, GET, LIST and REMOVE: the files of a stage.

Local files are those of the machine on which the session runs.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow.fs as pafs

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading import stage_folders, stage_stores
from snowmelt.features.loading.compression import compressing, detected
from snowmelt.features.loading.file_statements import (
    CopyFiles,
    CopyFilesOptions,
    Get,
    ListFiles,
    Put,
    PutOptions,
    RemoveFiles,
)
from snowmelt.features.loading.local_files import LocalFiles
from snowmelt.features.loading.stage_folders import Digests, StagedFile, StageFolder
from snowmelt.runtime import protecting
from snowmelt.runtime.results import Result, ResultColumn, table_result
from snowmelt.runtime.rights import addresses

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

_CHUNK = 1 << 20
_PUT = (
    ResultColumn("source", types.VARCHAR), ResultColumn("target", types.VARCHAR),
    ResultColumn("source_size", types.INTEGER), ResultColumn("target_size", types.INTEGER),
    ResultColumn("source_compression", types.VARCHAR), ResultColumn("target_compression", types.VARCHAR),
    ResultColumn("status", types.VARCHAR), ResultColumn("message", types.VARCHAR),
)  # fmt: skip
_GET = (
    ResultColumn("file", types.VARCHAR), ResultColumn("size", types.INTEGER), ResultColumn("status", types.VARCHAR),
    ResultColumn("message", types.VARCHAR),
)  # fmt: skip
_LIST = (
    ResultColumn("name", types.VARCHAR), ResultColumn("size", types.INTEGER), ResultColumn("md5", types.VARCHAR),
    ResultColumn("last_modified", types.VARCHAR),
)  # fmt: skip
_COPIED = (ResultColumn("file", types.VARCHAR),)
_COPIED_FILES = (ResultColumn("files_copied", types.INTEGER),)
_REMOVE = (ResultColumn("name", types.VARCHAR), ResultColumn("result", types.VARCHAR))
_COMPRESSED = ("GZIP", "BZ2", "BROTLI", "ZSTD", "DEFLATE", "RAW_DEFLATE", "PARQUET", "ORC")


def put(run: Run, statement: Put) -> Result:
    stage = stage_folders.resolve(run, statement.target, writes=True)
    if stage.external:
        raise errors.unsupported("PUT to an external stage", hint="Copy the files to the stage's URL by other means.")
    _require_local_files(run)
    named = stage_stores.local_path(statement.source)
    # A name that holds a bracket need not be a pattern.
    found = [named] if named.is_file() else sorted(Path(named.anchor).glob(str(named.relative_to(named.anchor))))
    files = [path for path in found if path.is_file()]
    if not files:
        raise SnowmeltError("253006", "22000", f"File doesn't exist: ['{named}']")
    rows = []
    for path in files:
        run.check_cancelled()
        rows.append(_put_file(run, stage, path, statement.options))
    return table_result(_PUT, rows, statement_type="PUT_FILES")


def _require_local_files(run: Run) -> None:
    """The files are those of this process's machine, which not everybody who may log in may read."""
    addresses.require_use(run)


def _put_file(run: Run, stage: StageFolder, source: Path, options: PutOptions) -> list[object]:
    with os.fdopen(protecting.of(run.account).read(source), "rb") as content:
        return _put_content(stage, source, content, options)


def _put_content(stage: StageFolder, source: Path, content: BinaryIO, options: PutOptions) -> list[object]:
    found = _compression_of(source, content, options.source_compression or "AUTO_DETECT")
    compress = found == "NONE" and options.auto_compress is not False
    name = f"{source.name}.gz" if compress else source.name
    target = stage.inside(name)
    size = os.fstat(content.fileno()).st_size
    kinds = [found, "GZIP" if compress else found]
    if not options.overwrite and stage.find(name) is not None:
        return [source.name, name, size, 0, *kinds, "SKIPPED", ""]
    temporary = stage.temporary(target)
    try:
        output = compressing(stage.writing(temporary), "GZIP" if compress else "NONE")
        while chunk := content.read(_CHUNK):
            output.write(chunk)
        output.close()
        stage.publish(temporary, target)
    except BaseException:
        stage.discard(temporary)
        raise
    written = stage.find(name)
    return [source.name, name, size, written.size if written is not None else 0, *kinds, "UPLOADED", ""]


def _compression_of(source: Path, content: BinaryIO, declared: str) -> str:
    if declared in ("AUTO_DETECT", "AUTO"):
        first = content.read(8)
        content.seek(0)
        return detected(source.name, first)
    if declared not in (*_COMPRESSED, "NONE"):
        raise errors.invalid_value(declared, "SOURCE_COMPRESSION")
    return declared


def get(run: Run, statement: Get) -> Result:
    stage = stage_folders.resolve(run, statement.source)
    _require_local_files(run)
    folder = stage_stores.local_path(statement.target)
    target = LocalFiles(folder, protecting.of(run.account))
    if not folder.is_dir():
        raise SnowmeltError("253006", "22000", f"The local folder '{folder}' does not exist.")
    files = stage.matching(statement.options.pattern)
    names: dict[str, StagedFile] = {}
    for file in files:
        if file.name in names:
            raise SnowmeltError(
                "253006", "22000", f"Both '{names[file.name].path}' and '{file.path}' would become '{file.name}'.",
                hint="GET puts all files into one folder. Get one path of the stage at a time.",
            )  # fmt: skip
        names[file.name] = file
    rows = []
    for file in files:
        run.check_cancelled()
        _download(stage, file, target)
        rows.append([file.path, file.size, "DOWNLOADED", ""])
    return table_result(_GET, rows, statement_type="GET_FILES")


def _download(stage: StageFolder, file: StagedFile, target: LocalFiles) -> None:
    temporary = f".snowmelt-{hashlib.md5(file.path.encode(), usedforsecurity=False).hexdigest()}"
    try:
        with stage.reading(file.path) as content, target.open_output_stream(temporary, None) as output:
            while chunk := content.read(_CHUNK):
                output.write(chunk)
        target.move(temporary, file.name)
    except BaseException:
        if target.get_file_info([temporary])[0].type == pafs.FileType.File:
            target.delete_file(temporary)
        raise


def list_files(run: Run, statement: ListFiles) -> Result:
    stage = stage_folders.resolve(run, statement.location)
    rows = [
        [
            stage.shown + file.path,
            file.size,
            run.account.services[Digests].of(stage, file),
            stage_folders.rfc_1123(file.modified),
        ]
        for file in stage.matching(statement.pattern)
    ]
    return table_result(_LIST, rows, statement_type="LIST_FILES")


def copy_files(run: Run, statement: CopyFiles) -> Result:
    """Each file appears under its name once it is whole; one of that name is replaced."""
    target = stage_folders.resolve(run, statement.target, writes=True)
    source = stage_folders.resolve(run, statement.source)
    rows = []
    for file, name in _chosen(source, statement.options):
        run.check_cancelled()
        path = target.inside(name)
        _copy(source, file, target, path)
        rows.append([path])
    if statement.options.detailed_output is False:
        return table_result(_COPIED_FILES, [[len(rows)]], statement_type="COPY_FILES")
    return table_result(_COPIED, rows, statement_type="COPY_FILES")


def _chosen(source: StageFolder, options: CopyFilesOptions) -> list[tuple[StagedFile, str]]:
    """The files, each with its path below the one that the statement named."""
    if options.files is None:
        folder = source.path.rpartition("/")[0]
        skipped = len(folder) + 1 if folder else 0
        return [(file, file.path[skipped:]) for file in source.matching(options.pattern)]
    found = [(source.find(name), name) for name in dict.fromkeys(options.files)]
    missing = [name for file, name in found if file is None]
    if missing:
        raise SnowmeltError(
            "091016", "42501", f"Remote file '{source.written.rstrip('/')}/{missing[0]}' was not found.",
            hint="LIST shows the files of a stage. Nothing was copied.",
        )  # fmt: skip
    return [(file, name) for file, name in found if file is not None]


def _copy(source: StageFolder, file: StagedFile, target: StageFolder, path: str) -> None:
    temporary = target.temporary(path)
    try:
        with source.reading(file.path) as content, target.writing(temporary) as output:
            while chunk := content.read(_CHUNK):
                output.write(chunk)
        target.publish(temporary, path)
    except BaseException:
        target.discard(temporary)
        raise


def remove(run: Run, statement: RemoveFiles) -> Result:
    stage = stage_folders.resolve(run, statement.location, writes=True)
    rows = []
    for file in stage.matching(statement.pattern):
        stage.remove(file)
        rows.append([stage.shown + file.path, "removed"])
    return table_result(_REMOVE, rows, statement_type="REMOVE_FILES")
