"""No statement reaches the account's own files, however it spells the way there, and none writes what programs load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from snowmelt.accounts import open_account
from snowmelt.core.config import Settings
from snowmelt.core.errors import SnowmeltError
from snowmelt.core.protected import Protected
from snowmelt.runtime import protecting
from snowmelt.runtime.account import Account
from snowmelt.runtime.session import Session

REFUSED = {"003001", "001086"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def small(home: Path) -> Iterator[Account]:
    """An account that never starts Spark: the guard stands before it."""
    with open_account(home / "data", settings=Settings()) as opened:
        yield opened


@pytest.fixture
def admin(small: Account) -> Iterator[Session]:
    opened = small.session()
    opened.execute("CREATE TABLE IF NOT EXISTS t (a VARCHAR)")
    yield opened
    opened.close()


def _ways(home: Path, tmp_path: Path) -> dict[str, str]:
    """Spellings of the data directory."""
    data = home / "data"
    (tmp_path / "link").symlink_to(data)
    (tmp_path / "above").symlink_to(home)
    (tmp_path / "twice").symlink_to(tmp_path / "link")
    return {
        "plain": f"file://{data}/",
        "capitals": f"FILE://{data}/",
        "dots": f"file://{home}/x/../data/",
        "dot": f"file://{home}/./data/",
        "percent": f"file://{home}/%64ata/",
        "percent dots": f"file://{home}/x/%2e%2e/data/",
        "slashes": f"file://{home}//data//",
        "link": f"file://{tmp_path}/link/",
        "link to a link": f"file://{tmp_path}/twice/",
        "below a link": f"file://{tmp_path}/above/data/",
        "inside": f"file://{data}/tables/",
        "backslash": f"file://{home}\\data/",
    }


STATEMENTS = (
    "CREATE OR REPLACE STAGE own URL = '{url}'",
    "ALTER STAGE other SET URL = '{url}'",
    "COPY INTO t FROM '{url}' FILE_FORMAT = (TYPE = CSV)",
    "COPY INTO '{url}x' FROM t",
    "COPY INTO t FROM '{url}state.db'",
    "CREATE CONTRACT c FROM '{url}token.key'",
    "SELECT * FROM TABLE(INFER_SCHEMA(LOCATION => '{url}', FILE_FORMAT => 'ff'))",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_spelling_leads_into_the_data_directory(admin: Session, home: Path, tmp_path: Path, statement: str) -> None:
    admin.execute("CREATE OR REPLACE STAGE other URL = 'file:///nowhere/'")
    admin.execute("CREATE OR REPLACE FILE FORMAT ff TYPE = PARQUET")
    before = sorted(path.name for path in (home / "data").iterdir())
    for way, url in _ways(home, tmp_path).items():
        with pytest.raises(SnowmeltError) as raised:
            admin.execute(statement.format(url=url.replace("\\", "\\\\")))
        assert raised.value.code in REFUSED, f"{way}: {raised.value}"
    assert sorted(path.name for path in (home / "data").iterdir()) == before


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("file://localhost/srv/", "001086"), ("file://relative/", "001086"), ("file:/srv/", "000002"),
        ("/srv/", "000002"), ("memory:///srv/", "000002"), ("s3:///srv/", "001008"), ("s3://", "001008"),
    ],
)  # fmt: skip
def test_an_address_that_leads_nowhere_is_refused_when_it_is_given(admin: Session, url: str, code: str) -> None:
    admin.execute("CREATE OR REPLACE STAGE other URL = 'file:///nowhere/'")
    for statement in (f"CREATE STAGE wrong URL = '{url}'", f"ALTER STAGE other SET URL = '{url}'"):
        with pytest.raises(SnowmeltError) as raised:
            admin.execute(statement)
        assert raised.value.code == code


def test_files_of_the_machine_are_put_and_got_past_the_data_directory(
    admin: Session, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.csv").symlink_to(home / "data" / "token.key")
    os.link(home / "data" / "state.db", tmp_path / "hard.csv")
    for source in (home / "data" / "token.key", tmp_path / "secret.csv", tmp_path / "hard.csv"):
        with pytest.raises(SnowmeltError, match="Insufficient privileges"):
            admin.execute(f"PUT 'file://{source}' @~")
    (tmp_path / "fine.csv").write_text("1\n", encoding="utf-8")
    admin.execute(f"PUT 'file://{tmp_path}/fine.csv' @~ AUTO_COMPRESS = FALSE")
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        admin.execute(f"GET @~ 'file://{home}/data'")
    out = tmp_path / "out"
    out.mkdir()
    admin.execute(f"GET @~ 'file://{out}'")
    assert (out / "fine.csv").read_text(encoding="utf-8") == "1\n"


def test_a_stage_above_the_data_directory_does_not_show_it(admin: Session, home: Path) -> None:
    (home / "rows.csv").write_text("1\n", encoding="utf-8")
    (home / "snowmelt.toml").write_text("", encoding="utf-8")
    (home / "link.csv").symlink_to(home / "data" / "token.key")
    admin.execute(f"CREATE OR REPLACE STAGE above URL = 'file://{home}/'")
    assert [row[0].rsplit("/", 1)[-1] for row in admin.execute("LIST @above").rows()] == ["rows.csv"]
    for path in ("data/", "data/token.key", "data/../data/token.key", "link.csv", "snowmelt.toml"):
        try:
            assert admin.execute(f"LIST @above/{path}").rows() == []
        except SnowmeltError as error:
            assert error.code in REFUSED
    admin.execute("REMOVE @above/snowmelt")
    assert (home / "snowmelt.toml").exists()
    with pytest.raises(SnowmeltError):
        admin.execute("COPY INTO t FROM @above FILES = ('data/token.key')")
    with pytest.raises(SnowmeltError):
        admin.execute("COPY INTO t FROM @above FILES = ('snowmelt.toml')")


@pytest.mark.parametrize(
    "name",
    ["snowmelt.toml", "SnowMelt.TOML", "sitecustomize.py", "x.pth", ".bashrc", "models/a.sql", "x.jar", "project.yml"],
)  # fmt: skip
def test_nothing_that_is_written_becomes_code_or_configuration(small: Account, tmp_path: Path, name: str) -> None:
    guard = protecting.of(small)
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        guard.check_written_name(tmp_path / name)


def test_folders_of_the_program_are_not_written(small: Account) -> None:
    guard = protecting.of(small)
    package = Path(protecting.__file__).parent
    with pytest.raises(SnowmeltError, match="Insufficient privileges"), guard.folder(package, writes=True):
        pass


def test_a_folder_that_becomes_a_link_after_the_look_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "token.key").write_text("x", encoding="utf-8")
    (tmp_path / "folder").symlink_to(tmp_path / "data")
    guard = Protected((tmp_path / "data",))
    # The look found ordinary folders; then somebody exchanged them.
    monkeypatch.setattr(os.path, "realpath", str)
    with pytest.raises(OSError, match="folder"):
        guard.read(tmp_path / "folder" / "token.key")
    with pytest.raises(SnowmeltError):
        guard.read(tmp_path / "data" / "token.key")


def test_another_name_of_a_protected_file_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("x", encoding="utf-8")
    os.link(tmp_path / "state.db", tmp_path / "rows.csv")
    with pytest.raises(SnowmeltError):
        Protected((tmp_path / "state.db",)).read(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("s3://bucket/lake/tables/x", True), ("s3a://BUCKET//lake/", True), ("s3://bucket/%6cake/x", True),
        ("s3://bucket/other", False), ("s3://bucket/lakes", False), ("gs://bucket/lake", False),
    ],
)  # fmt: skip
def test_the_accounts_part_of_an_object_store_is_not_outside(url: str, own: bool) -> None:
    assert protecting.is_own(url, "s3://bucket/lake") is own


@pytest.mark.parametrize(
    "option",
    ["SECRET_FILE = '{data}/token.key'", "PASSWORD_ENV = 'SNOWMELT_TOKEN_KEY'", "PASSWORD_ENV = 'AWS_SECRET_KEY'"],
)  # fmt: skip
def test_a_connector_sends_no_secret_of_the_account(admin: Session, home: Path, option: str) -> None:
    text = option.format(data=home / "data")
    source = (
        "TYPE = POSTGRES HOST = '127.0.0.1' PORT = 1 DATABASE = 'd' USER = 'u' TABLES = ('t') INITIALLY_PAUSED = TRUE"
    )
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        admin.execute(f"CREATE CONNECTOR leak {source} {text}")
    admin.execute(f"CREATE OR REPLACE CONNECTOR fine {source}")
    with pytest.raises(SnowmeltError, match="Insufficient privileges"):
        admin.execute(f"ALTER CONNECTOR fine SET {text}")


def test_an_unload_does_not_become_configuration(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE t AS SELECT 'trust_python = true' AS line")
    for name, options in (
        ("snowmelt.toml", "SINGLE = TRUE"),
        ("x", "FILE_FORMAT = (FILE_EXTENSION = 'py')"),
    ):
        with pytest.raises(SnowmeltError, match="Insufficient privileges"):
            session.execute(f"COPY INTO 'file://{tmp_path}/{name}' FROM t {options}")
    assert list(tmp_path.iterdir()) == []
    session.execute(f"COPY INTO 'file://{tmp_path}/rows' FROM t")
    assert [path.name.split("_")[0] for path in tmp_path.iterdir()] == ["rows"]
