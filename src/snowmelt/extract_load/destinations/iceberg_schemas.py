"""The columns of a Delta destination as Iceberg's, with ids that last."""

from __future__ import annotations

from typing import Any

from deltalake import Schema

from snowmelt.storage.iceberg.columns import continues, iceberg_type


def iceberg_schema(schema: Schema, previous: dict[str, Any] | None) -> tuple[dict[str, Any], int]:
    """The schema, and the highest id that a column ever had.

    A column keeps its id for as long as it has its name and what is in it can be read as its type. All may be NULL:
    what may not is for writers, and a column that was added later is NULL in earlier files in any case.
    """
    nothing: dict[str, Any] = {"schema-id": -1, "fields": []}
    before = nothing if previous is None else previous["schemas"][0]
    last = previous["last-column-id"] if previous is not None else 0
    known = {field["name"]: field for field in before["fields"]}
    fields = []
    for field in schema.fields:
        named, kind = known.get(field.name), iceberg_type(str(field.type.type))
        if named is None or not continues(named["type"], kind):
            last += 1
            named = {"id": last}
        fields.append({"id": named["id"], "name": field.name, "required": False, "type": kind})
    number = before["schema-id"] + (fields != before["fields"])
    return {"type": "struct", "schema-id": number, "fields": fields}, last
