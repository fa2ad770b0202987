"""Parameters that were set, per level and owner."""

from __future__ import annotations

from sqlalchemy import bindparam, delete, select

from snowmelt.state.model import ParameterLevel
from snowmelt.state.repository import Repository
from snowmelt.state.tables import PARAMETERS

_ALL = select(PARAMETERS.c.key, PARAMETERS.c.value).where(
    PARAMETERS.c.level == bindparam("at_level"), PARAMETERS.c.owner == bindparam("of_owner")
)
_GET = select(PARAMETERS.c.value).where(
    PARAMETERS.c.level == bindparam("at_level"),
    PARAMETERS.c.owner == bindparam("of_owner"),
    PARAMETERS.c.key == bindparam("parameter"),
)


class Parameters(Repository):
    """Only what was set explicitly: defaults and inheritance are the business of who reads them.

    `level` is a `ParameterLevel` or its value. `owner` is the id of the object, or the user's, session's or
    account's name. Values are text.
    """

    def get(self, level: str, owner: str, key: str) -> str | None:
        values = {"at_level": ParameterLevel(level).value, "of_owner": owner, "parameter": key}
        value: str | None = self._execute(_GET, values).scalar()
        return value

    def all(self, level: str, owner: str) -> dict[str, str]:
        rows = self._execute(_ALL, {"at_level": ParameterLevel(level).value, "of_owner": owner})
        return {row.key: row.value for row in rows}

    def set(self, level: str, owner: str, key: str, value: str) -> None:
        self._writing()
        row = {"level": ParameterLevel(level).value, "owner": owner, "key": key, "value": value}
        self._upsert(PARAMETERS, [row])

    def unset(self, level: str, owner: str, key: str | None = None) -> None:
        """Forget one parameter, or all of that owner's."""
        self._writing()
        query = delete(PARAMETERS).where(PARAMETERS.c.level == ParameterLevel(level).value, PARAMETERS.c.owner == owner)
        self._execute(query if key is None else query.where(PARAMETERS.c.key == key))
