"""A new kind of source needs one module and a line in the registry. src/ never names this one, lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.design.requirements.kinds import SourceKind
from snowmelt.extract_load import Batch, Extractor, Record, make_extractor, read_endpoints
from snowmelt.extract_load.options import TEXT
from snowmelt.extract_load.sources.base import SourceDescription, TableToRead
from snowmelt.extract_load.sources.registry import SOURCES


class LinesExtractor(Extractor):
    """The lines of a file; the place is how many were read."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.path, self.prefix = path, prefix

    def extract(self, after: str | None) -> Iterator[Batch]:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        new: list[Record] = [{"line": self.prefix + line} for line in lines]
        if new := new[int(after or 0) :]:
            yield Batch(new, str(len(lines)), self.path.name)


def _read(table: TableToRead) -> Extractor:
    return LinesExtractor(Path(table.endpoint.where()) / table.name, table.options.get("prefix", ""))


LINES = SourceDescription("lines", {"prefix": TEXT}, {}, _read, "folder")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(SOURCES, "lines", LINES)  # type: ignore[arg-type]
    (tmp_path / "log").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "connections.yaml").write_text(f"here: {{kind: lines, address: '{tmp_path}'}}", encoding="utf-8")
    return tmp_path


def test_a_new_kind_is_read_as_the_others_are(folder: Path) -> None:
    endpoint = read_endpoints(folder / "connections.yaml", {})["here"]
    extractor = make_extractor(endpoint, "log", options={"prefix": "> "})
    (batch,) = extractor.extract(None)
    assert list(batch.rows.records) == [{"line": "> one"}, {"line": "> two"}]
    assert list(extractor.extract(batch.place)) == []


def test_what_it_does_not_take_is_refused(folder: Path) -> None:
    endpoint = read_endpoints(folder / "connections.yaml", {})["here"]
    with pytest.raises(SnowmeltError, match="there is no option suffix; known are prefix"):
        make_extractor(endpoint, "log", options={"suffix": "."})


def test_every_kind_that_can_be_designed_is_described() -> None:
    assert {kind.value for kind in SourceKind} <= SOURCES.keys()
    assert all(described.example_address for described in SOURCES.values() if described.extractor is not None)
