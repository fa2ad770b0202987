"""Every type at every scale through ADBC. Prints what is not as it should be.

The driver makes nanoseconds of all timestamps, which hold the years 1678 to 2261, and numbers of 18 digits or less
floats only where it is asked to: so the rows near today are compared, and numbers as Decimals.
"""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from adbc_connection import connect
from every_type import COLUMNS, NEAR, QUERY, ZONE, Column, expected

FAR = ("NTZ", "LTZ", "TZ")


def plain(column: Column, value: Any) -> Any:
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return Decimal(value) if column.name[0] in "NI" and isinstance(value, int) else value


def differences(table: Any, rows: int, columns: list[Column], where: str) -> Iterator[str]:
    found = table.to_pylist()
    if len(found) != rows:
        yield f"{where}: {len(found)} rows, not {rows}"
    for number, (row, truth) in enumerate(zip(found, expected(rows), strict=True)):
        wanted = dict(zip((column.name for column in COLUMNS), truth, strict=True))
        for column in columns:
            one, other = plain(column, row[column.name]), plain(column, wanted[column.name])
            if one != other:
                yield f"{where}: {column.name}[{number}] is {one!r}, not {other!r}"


def looked_at(connection: Any) -> Iterator[str]:
    cursor = connection.cursor()
    cursor.execute(f"ALTER SESSION SET TIMEZONE = '{ZONE}'")
    cursor.execute(NEAR)
    yield from differences(cursor.fetch_arrow_table(), 2, list(COLUMNS), "near")
    in_reach = [column for column in COLUMNS if not column.name.startswith(FAR)]
    cursor.execute(QUERY.replace(", ".join(column.name for column in COLUMNS), ", ".join(c.name for c in in_reach)))
    yield from differences(cursor.fetch_arrow_table(), 5, in_reach, "all")
    cursor.close()


with connect() as opened:
    print(json.dumps(list(looked_at(opened))))
