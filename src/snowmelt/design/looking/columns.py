"""What can be told from names and sampled values: types, what looks like a key, a change column, personal data."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from snowmelt.design.requirements.model import DescribedColumn, Table
from snowmelt.extract_load.records import Rows
from snowmelt.extract_load.schemas import fields_of

_CHANGES = re.compile(r"(last_)?(updated|modified|changed)(_at|_on|_ts|_time)?|event_time|ts_ms", re.IGNORECASE)
_PII = re.compile(
    r"(e_?mail|phone|mobile|ssn|passport|iban|birth(day|date|_date)|date_of_birth|(first|last|full|sur)_?name"
    r"|street|address|ip_address)", re.IGNORECASE,
)  # fmt: skip
_WIDER = {"OBJECT": "VARIANT", "ARRAY": "VARIANT"}
"""The next document may hold something else."""
_KEYS = re.compile(r"(.*_)?(id|key|uuid)", re.IGNORECASE)


def looks_personal(column: str) -> bool:
    """A guess by the name, which a person has to confirm."""
    return _PII.search(column) is not None


def looks_like_change(column: str) -> bool:
    return _CHANGES.fullmatch(column) is not None


def table_of_sample(name: str, sample: Rows, required: frozenset[str] = frozenset(), **facts: Any) -> Table:
    """A table from some of its rows. That no row of a sample lacks a value says nothing of the next: only what the
    format itself declares (`required`), and the key, must be there."""
    values = sample.table if sample.columnar else _by_column(sample)
    key = _key(values)
    columns = tuple(
        DescribedColumn(
            name=field.name, type=_WIDER.get(field.type, field.type), nullable=field.name not in {*key, *required},
            pii=looks_personal(field.name),
        )
        for field in fields_of(sample)
    )  # fmt: skip
    change = next((column.name for column in columns if looks_like_change(column.name)), None)
    return Table.model_validate({"name": name, "columns": columns, "key": key, "change_column": change, **facts})


def _by_column(sample: Rows) -> pa.Table:
    """Values as text: enough to see whether all are there, and different."""
    names = dict.fromkeys(name for record in sample.records for name in record)
    found = {name: [record.get(name) for record in sample.records] for name in names}
    texts = {name: [None if value is None else str(value) for value in values] for name, values in found.items()}
    return pa.table({name: pa.array(values, pa.string()) for name, values in texts.items()})


def _key(values: pa.Table) -> tuple[str, ...]:
    """The first column that is called like a key and whose values are all there and all different."""
    for name in values.column_names if values.num_rows else ():
        column = values[name]
        if _KEYS.fullmatch(name) and not column.null_count and len(column.unique()) == values.num_rows:
            return (name,)
    return ()
