"""SELECT … FROM @stage: the records of files, read into memory for one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from snowmelt.core import errors, types
from snowmelt.core.errors import SnowmeltError
from snowmelt.features.loading import stage_folders
from snowmelt.features.loading.batches import SegmentBatch
from snowmelt.features.loading.compression import UnreadableError
from snowmelt.features.loading.csv_records import CsvLayout
from snowmelt.features.loading.file_formats import CsvFormat, FileFormat, effective, named
from snowmelt.features.loading.json_records import FIELDS
from snowmelt.features.loading.records import STAGED, SourceField, nth
from snowmelt.features.loading.stage_folders import Digests, StagedFile, StageFolder
from snowmelt.features.loading.stage_statements import written_location
from snowmelt.features.loading.streams import opened
from snowmelt.features.loading.transformation import metadata_columns, staged_relation
from snowmelt.sql.relations import Relation

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run

MAX_BYTES = 256 << 20


def relation(run: Run, written: str, format_name: str | None, pattern: str | None, width: int) -> Relation:
    """The records of the files that the text names, as a relation of the running statement."""
    location = written_location(written)
    if location is None:
        raise errors.not_found("Stage", written)
    stage = stage_folders.resolve(run, location)
    format_ = named(run, format_name) if format_name is not None else effective(run, None, stage.format)
    files = stage.matching(pattern)
    size = sum(file.size for file in files)
    if size > MAX_BYTES:
        raise errors.unsupported(
            f"a query over {size} bytes of staged files",
            hint=f"At most {MAX_BYTES} bytes can be queried in place. Load the files with COPY INTO.",
        )
    reference = f"staged_{run.query_id.replace('-', '')}_{len(run.inputs)}"
    fields, data = _records(run, stage, files, format_, width)
    run.inputs[reference] = data
    run.input_bytes += data.nbytes
    return staged_relation(reference, fields, whole=format_.type in ("PARQUET", "AVRO"))


def _records(
    run: Run, stage: StageFolder, files: list[StagedFile], format_: FileFormat, width: int
) -> tuple[tuple[SourceField, ...], pa.Table]:
    csv = CsvLayout(format_, width, False, STAGED) if isinstance(format_, CsvFormat) else None
    fields = tuple(SourceField(f"${n + 1}", types.VARCHAR) for n in range(width)) if csv is not None else FIELDS
    batch = SegmentBatch()
    for index, file in enumerate(files):
        try:
            with opened(stage, file, format_, csv, run.account.services[Digests]) as source:
                if index and source.records.fields != fields:
                    raise errors.unsupported(
                        "a query over files with different columns", hint="Narrow it down with a path or a PATTERN."
                    )
                fields = source.records.fields
                for segment in source.records.segments():
                    run.check_cancelled()
                    if segment.problems:
                        first = segment.problems[0]
                        raise SnowmeltError(first.code, first.sqlstate, first.text(stage.outside + file.path))
                    batch.add(index, segment)
        except UnreadableError as unreadable:
            raise unreadable.error from None
    if batch.segments:
        data = batch.table()
    else:
        data = pa.table([pa.array([], pa.string()) for _ in fields], names=[nth(n) for n in range(len(fields))])
    for name, column in metadata_columns(batch, files, stage, run.now).items():
        data = data.append_column(name, column)
    return fields, data
