"""Real servers for the sources, each on a free port of this machine, over files in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.environments import client_command, client_environment, client_python
from tests.support.debian import library_path, unpacked
from tests.support.mariadb_server import MariaDbServer
from tests.support.ports import free_port
from tests.support.waiting import DEADLINE, wait_until


@contextmanager
def program(
    command: Sequence[str | Path], folder: Path, ready: Callable[[], object],
    environment: Mapping[str, str] | None = None, user: pwd.struct_passwd | None = None,
) -> Iterator[subprocess.Popen[bytes]]:  # fmt: skip
    log = folder / "log"
    as_user: dict[str, Any] = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with log.open("ab") as opened:
        process = subprocess.Popen(
            list(map(str, command)), stdout=opened, stderr=opened, cwd=folder, env=environment, **as_user
        )

    def is_up() -> object:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        return ready()

    try:
        wait_until(is_up, lambda: log.read_text(errors="replace")[-2000:])
        yield process
    finally:
        process.terminate()
        try:
            process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def scratch() -> Iterator[Path]:
    """Short, as sockets are in it, which have short names only."""
    with tempfile.TemporaryDirectory(prefix="sm-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def mariadb() -> Iterator[str]:
    """The address of an empty database."""
    with MariaDbServer({"default-time-zone": "+03:00"}) as server:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("CREATE USER reader IDENTIFIED BY 'pa:ss'")
            cursor.execute("GRANT ALL ON shop.* TO reader")
        yield f"mysql://reader:pa%3Ass@127.0.0.1:{server.port}/shop"


@dataclass(frozen=True)
class SftpServer:
    address: str
    folder: Path
    settings: dict[str, str]
    process: subprocess.Popen[bytes]


@contextmanager
def sftp() -> Iterator[SftpServer]:
    """OpenSSH's server with one folder, a key to log in with, and the file of its host key.

    Its only user is one that this machine need not have: the server is told of it by nss_wrapper, and run by somebody
    who is not root, since for root it would want another user of its own.
    """
    port, is_root = free_port(), os.geteuid() == 0
    runner = pwd.getpwnam("nobody") if is_root else pwd.getpwuid(os.geteuid())
    with scratch() as folder:
        root = folder / "root"
        shutil.copytree(unpacked("openssh-server", "libwrap0", "libnss-wrapper"), root, symlinks=True)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        (folder / "authorized").write_bytes((folder / "user.pub").read_bytes())
        kind, key = (folder / "host.pub").read_text().split()[:2]
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
        (folder / "config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {folder / 'authorized'}\nStrictModes no\nPasswordAuthentication no\n"
            "Subsystem sftp internal-sftp\nForceCommand internal-sftp\n"
        )
        (folder / "passwd").write_text(f"tester:x:{runner.pw_uid}:{runner.pw_gid}::{folder}:/bin/sh\n")
        (folder / "group").write_text(f"tester:x:{runner.pw_gid}:\n")
        (folder / "shadow").write_text("tester:x:20000:0:99999:7:::\n")
        (folder / "files").mkdir()
        if is_root:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, runner.pw_uid, runner.pw_gid, follow_symlinks=False)
        wrapper = next(root.rglob("libnss_wrapper.so"))
        named = {f"NSS_WRAPPER_{name.upper()}": str(folder / name) for name in ("passwd", "group", "shadow")}
        environment = {**library_path(root), **named, "LD_PRELOAD": str(wrapper)}
        command = [root / "usr/sbin/sshd", "-D", "-e", "-f", folder / "config"]
        with program(command, folder, lambda: listens(port), environment, runner if is_root else None) as process:
            settings = {"private_key": str(folder / "user"), "known_hosts": str(folder / "known_hosts")}
            yield SftpServer(f"sftp://tester@127.0.0.1:{port}{folder / 'files'}", folder / "files", settings, process)


@contextmanager
def s3() -> Iterator[dict[str, str]]:
    """The settings of a server that speaks S3, with the bucket `bucket`."""
    port = free_port()
    settings = {"endpoint": f"http://127.0.0.1:{port}", "region": "us-east-1", "access_key": "a", "secret_key": "s"}
    command = [client_command("moto", "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    with scratch() as folder, program(command, folder, lambda: listens(port), client_environment()):
        signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/x/us-east-1/s3"}
        request = urllib.request.Request(f"{settings['endpoint']}/bucket", method="PUT", headers=signed)
        urllib.request.urlopen(request, timeout=DEADLINE).close()
        yield settings


@contextmanager
def gcs() -> Iterator[dict[str, str]]:
    """The settings of an emulator of Google's storage, with the bucket `bucket`."""
    port = free_port()
    with scratch() as folder:
        command = [
            client_python("gcs").with_name("gcp-storage-emulator"), "start", "--host=127.0.0.1", f"--port={port}",
            "--in-memory", "--default-bucket=bucket",
        ]  # fmt: skip
        with program(command, folder, lambda: listens(port), client_environment()):
            yield {"endpoint": f"http://127.0.0.1:{port}"}


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
        return True
    return False
