"""Files: every format, wherever they are; what is broken in them is set aside, and the rest comes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet
import pytest

from snowmelt.core.errors import SnowmeltError
from snowmelt.extract_load import Batch, FilesExtractor, SourceRefusedError, SourceUnavailableError
from snowmelt.extract_load.stores.patterns import matches
from tests.extract_load.servers import SftpServer
from tests.extract_load.web import Web
from tests.features.connectors.kafka_stack import free_port

AVRO = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}


def only(folder: Path, pattern: str, **options: str) -> Batch:
    (batch,) = FilesExtractor(folder, pattern, **options).extract(None)  # type: ignore[arg-type]
    return batch


def test_every_format_is_read(tmp_path: Path) -> None:
    expected = [{"id": 1, "name": "é"}, {"id": 2, "name": None}]
    (tmp_path / "a.csv").write_text("id,name\n1,é\n2,\n", encoding="utf-8-sig")
    (tmp_path / "a.tsv").write_text("id\tname\n1\té\n2\t\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("id;name\n1;é\n2;\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, expected)), encoding="utf-8")
    (tmp_path / "a.json").write_text(json.dumps(expected, indent=1), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(expected[0], indent=1), encoding="utf-8")
    (tmp_path / "c.json").write_text("\n".join(map(json.dumps, expected)), encoding="utf-8")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress("id,name\n1,é\n2,\n".encode()))
    pyarrow.parquet.write_table(pa.Table.from_pylist(expected), tmp_path / "a.parquet")
    with (tmp_path / "a.avro").open("wb") as opened:
        fastavro.writer(opened, AVRO, [{"id": 1}, {"id": 2}])
    text = [{"id": "1", "name": "é"}, {"id": "2", "name": None}]
    for name in ("a.csv", "a.tsv", "a.csv.gz"):
        assert only(tmp_path, name).records == text, name
    assert only(tmp_path, "a.txt", file_format="csv", delimiter=";").records == text
    for name in ("a.jsonl", "a.json", "c.json", "a.parquet"):
        assert only(tmp_path, name).records == expected, name
    assert only(tmp_path, "b.json").records == expected[:1]
    assert only(tmp_path, "a.avro").records == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("name", "content", "good", "reasons"),
    [("a.csv", b'id,name\n1,a\n2\n3,"x\ny"\n4,\xff\n5,e\n', ["1", "3", "5"], {"line 3": "1 values", "line 6": "UTF-8"}),
     ("a.csv", b'id,name\n1,a\n2,"never closed\n3,c\n', ["1"], {"line 3": "unexpected end"}),
     ("a.jsonl", b'{"id": 1}\n{"id":\n[2]\n\n{"id": 3}\n', [1, 3], {"line 2": "no JSON", "line 3": "object"}),
     ("a.parquet", b"PAR1 no parquet", [], {"record 1": "can't be read"}),
     ("a.avro", b"Obj\x01broken", [], {"record 1": "can't be read"})],
)  # fmt: skip
def test_what_is_broken_is_set_aside(
    name: str, content: bytes, good: list[object], reasons: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    batch = only(tmp_path, name)
    assert [record["id"] for record in batch.records] == good
    assert {letter.position for letter in batch.rejected} == set(reasons)
    assert all(reasons[letter.position] in letter.reason for letter in batch.rejected)
    assert not any(letter.readable for letter in batch.rejected)


def test_a_file_that_was_begun_goes_on_before_one_that_is_new(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("id\n1\n2\n3\n", encoding="utf-8")
    extractor = FilesExtractor(tmp_path, "*.csv", batch_rows=2)
    first = next(extractor.extract(None))
    (tmp_path / "a.csv").write_text("id\n4\n", encoding="utf-8")
    rest = list(extractor.extract(first.place))
    assert [record["id"] for batch in rest for record in batch.records] == ["3", "4"]
    assert list(extractor.extract(rest[-1].place)) == []


def test_a_web_server_has_files_by_name(tmp_path: Path) -> None:
    web = Web()
    try:
        web.files["orders.csv"] = b"id\n1\n2\n"
        extractor = FilesExtractor(f"{web.address}/files", "orders.csv")
        (batch,) = extractor.extract(None)
        assert [record["id"] for record in batch.records] == ["1", "2"]
        assert list(extractor.extract(batch.place)) == []
        web.files["orders.csv"] = b"id\n3\n"
        (changed,) = extractor.extract(batch.place)
        assert changed.records == [{"id": "3"}]
        with pytest.raises(SnowmeltError, match="can't list"):
            list(FilesExtractor(f"{web.address}/files", "*.csv").extract(None))
        with pytest.raises(SourceRefusedError, match="404"):
            list(FilesExtractor(f"{web.address}/files", "missing.csv").extract(None))
        web.trouble = [(503, {}, b"")]
        with pytest.raises(SourceUnavailableError, match="503"):
            list(extractor.extract(None))
    finally:
        web.close()


def test_a_server_that_is_away_may_come_back() -> None:
    for address in (f"http://127.0.0.1:{free_port()}", f"sftp://me:secret@127.0.0.1:{free_port()}/x"):
        with pytest.raises(SourceUnavailableError) as away:
            list(FilesExtractor(address, "a.csv").extract(None))
        assert away.value.transient and "secret" not in str(away.value)
    with pytest.raises(SnowmeltError, match="is not an address of files"):
        list(FilesExtractor("ftp://host/folder", "a.csv").extract(None))


@pytest.mark.slow
def test_an_unknown_host_or_user_gets_nothing(sftp_server: SftpServer, tmp_path: Path) -> None:
    unknown = {**sftp_server.settings, "known_hosts": str(tmp_path / "none")}
    (tmp_path / "none").write_text("", encoding="utf-8")
    with pytest.raises(SourceRefusedError, match="host key"):
        list(FilesExtractor(sftp_server.address, "*.csv", settings=unknown).extract(None))
    nobody = {"known_hosts": sftp_server.settings["known_hosts"], "password": "s3cr3t"}
    with pytest.raises(SourceRefusedError, match="login is not accepted") as refused:
        list(FilesExtractor(sftp_server.address, "*.csv", settings=nobody).extract(None))
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.slow
def test_a_bucket_that_is_not_there_is_named(s3_settings: dict[str, str]) -> None:
    assert list(FilesExtractor("s3://bucket/empty", "*.csv", settings=s3_settings).extract(None)) == []
    away = {**s3_settings, "endpoint": f"http://127.0.0.1:{free_port()}"}
    with pytest.raises(SourceUnavailableError, match="s3://bucket"):
        list(FilesExtractor("s3://bucket/x", "*.csv", settings=away).extract(None))


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [("a.csv", "*.csv", True), ("x/a.csv", "*.csv", False), ("x/y/a.csv", "**/*.csv", True), ("a.csv", "**/*", True),
     ("x/a.csv", "x/?.csv", True), (".a.csv", "*", False), ("x/a.csv", "**", True), ("a+b.csv", "a+*.csv", True)],
)  # fmt: skip
def test_patterns(name: str, pattern: str, expected: bool) -> None:
    assert matches(name, pattern) is expected
