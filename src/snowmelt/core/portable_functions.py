"""The functions of core/portable by their names in both engines. Their modules are imported when they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import cast

PREFIX = "snowmelt_"


@dataclass(frozen=True, slots=True)
class PortableFunction:
    name: str
    arguments: int
    file: str
    """The module in core/portable that has it, under its name without the prefix."""
    of_columns: bool = False
    """Takes a list of texts, NULLs among them, and a constant, and gives a list."""

    @property
    def module(self) -> ModuleType:
        return import_module(f"snowmelt.core.portable.{self.file}")

    @property
    def compute(self) -> Callable[..., str | None]:
        """A function of texts that are not NULL. The result is NULL where an argument is."""
        return cast("Callable[..., str | None]", self._function)

    @property
    def compute_column(self) -> Callable[[list[str | None], str], list[str | None]]:
        """Of a function of columns: of all texts at once."""
        return cast("Callable[[list[str | None], str], list[str | None]]", self._function)

    @property
    def _function(self) -> object:
        return getattr(self.module, self.name.removeprefix(PREFIX))


PORTABLE: dict[str, PortableFunction] = {
    function.name: function
    for function in (
        PortableFunction(f"{PREFIX}parse_ip", 2, "addresses"),
        PortableFunction(f"{PREFIX}parse_xml", 2, "documents"),
        PortableFunction(f"{PREFIX}check_xml", 1, "documents"),
        PortableFunction(f"{PREFIX}to_xml", 1, "documents"),
        PortableFunction(f"{PREFIX}soundex_p123", 1, "sounds"),
        PortableFunction(f"{PREFIX}digest", 1, "digests"),
        PortableFunction(f"{PREFIX}digest_value", 2, "digests"),
        PortableFunction(f"{PREFIX}jarowinkler", 2, "likeness"),
        PortableFunction(f"{PREFIX}merged_counts", 2, "digests"),
        PortableFunction(f"{PREFIX}merged_digest", 1, "digests"),
        PortableFunction(f"{PREFIX}match_rows", 2, "row_matches"),
        PortableFunction(f"{PREFIX}sort_key", 2, "locales", of_columns=True),
    )
}
