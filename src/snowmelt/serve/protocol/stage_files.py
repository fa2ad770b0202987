"""PUT and GET: clients send files to addresses with a secret in them, and fetch them from such."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from snowmelt.features.loading.stage_folders import StageFolder
from snowmelt.features.loading.transfers import Download, Transfer, Upload
from snowmelt.runtime.wire.rowtypes import statement_type_id

_GZIP = b"\x1f\x8b"
_COMPRESSED = (".gz", ".gzip", ".tgz")
_NOT_COMPRESSED = frozenset({"AUTO_DETECT", "NONE"})
"""What SOURCE_COMPRESSION says of files that clients compress, or may."""
_MOST_GRANTS = 50_000
_SIGNED = "X-Goog-SignedHeaders=" + quote(
    "host;x-goog-if-generation-match;x-goog-meta-sfc-digest;x-goog-meta-encryptiondata;x-goog-meta-matdesc"
)
"""The headers that the address allows: clients send no condition that it does not."""
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class StageFileGrant:
    """What one address allows: to write below a stage, or to read a file of it."""

    stage: StageFolder
    path: str
    """The file to read; for writing, the file's name. Empty: the client asked for many, and the address takes none."""
    writes: bool
    owner: str = ""
    """The session that it was given to."""
    compresses: bool = False
    """Whether the client may have compressed what it sends, though it asked under the name of its own file."""
    always_compresses: bool = False
    """Whether it has, whatever the file's name looks like."""
    used: bool = False
    """Whether a file was written by it."""

    def takes(self, start: bytes) -> bool:
        """Whether a file that begins so is the one that the address was given for.

        In the client's own words a file is stored under the name that it asks for last. Where it asked before it
        compressed the file, that name is another: told so, it asks once more.
        """
        if not self.path or self.used:
            return False
        if not self.compresses or start[:2] != _GZIP:
            return True
        return not self.always_compresses and self.path.lower().endswith(_COMPRESSED)


class StageFiles:
    """Addresses that were handed out, the newest ones."""

    def __init__(self) -> None:
        self._grants: OrderedDict[str, StageFileGrant] = OrderedDict()
        self._refused: set[str] = set()
        """Sessions whose last file was refused: the next name that they ask for is the file's own."""
        self._lock = threading.Lock()

    def find(self, secret: str) -> StageFileGrant | None:
        with self._lock:
            return self._grants.get(secret)

    def written(self, secret: str) -> None:
        """The address is for one file: whoever comes with another, or once more, has to ask for one of its own."""
        with self._lock:
            if (grant := self._grants.get(secret)) is not None:
                self._grants[secret] = replace(grant, used=True)

    def refused(self, grant: StageFileGrant) -> None:
        """The client has to ask for an address by the name that the file is to have."""
        with self._lock:
            self._refused.add(grant.owner)

    def forget(self, owner: str) -> None:
        """The session has ended."""
        with self._lock:
            self._refused.discard(owner)

    def _granted(self, grant: StageFileGrant) -> str:
        secret = secrets.token_urlsafe(24)
        with self._lock:
            self._grants[secret] = grant
            while len(self._grants) > _MOST_GRANTS:
                self._grants.popitem(last=False)
        return secret

    def described(self, transfer: Transfer, base_url: str, owner: str, query_id: str) -> dict[str, Any]:
        """The answer to PUT or GET: what the client has to do."""
        if isinstance(transfer, Upload):
            kind, data = "PUT_FILES", self._upload(transfer, base_url, owner)
        else:
            kind, data = "GET_FILES", self._download(transfer, base_url)
        return {
            **data, "queryId": query_id, "statementTypeId": statement_type_id(kind), "encryptionMaterial": None,
            "rowtype": [], "rowset": [], "total": 0, "returned": 0, "threshold": 0,
        }  # fmt: skip

    def _upload(self, upload: Upload, base_url: str, owner: str) -> dict[str, Any]:
        name = "" if set(upload.name) & _WILD else upload.name
        options = upload.options
        compresses = options.auto_compress is not False
        source = (options.source_compression or "AUTO_DETECT").upper()
        may_change = compresses and source in _NOT_COMPRESSED and not self._asks_again(upload, owner)
        secret = self._granted(
            StageFileGrant(
                upload.stage, name, writes=True, owner=owner, compresses=may_change,
                always_compresses=source == "NONE" and not upload.bare,
            )
        )  # fmt: skip
        return {
            "command": "UPLOAD",
            "src_locations": [upload.source],
            # Some clients try a file at the address of the one before it, and ask for its own when that is refused:
            # only one after the other can they not meet there.
            "parallel": (options.parallel or 4) if name else 1,
            "autoCompress": compresses,
            "overwrite": bool(options.overwrite),
            "sourceCompression": source.lower(),
            "stageInfo": _stage(f"{base_url}/stage-files/{secret}/{quote(name)}?{_SIGNED}", upload.stage),
            "clientShowEncryptionParameter": False,
        }

    def _asks_again(self, upload: Upload, owner: str) -> bool:
        """Whether the client knows by now what the file is to be called: then it names no folder of its own."""
        with self._lock:
            refused = owner in self._refused
            self._refused.discard(owner)
        return refused and upload.bare

    def _download(self, download: Download, base_url: str) -> dict[str, Any]:
        addresses = []
        for file in download.files:
            secret = self._granted(StageFileGrant(download.stage, file.path, writes=False))
            addresses.append(f"{base_url}/stage-files/{secret}/{quote(file.name)}")
        return {
            "command": "DOWNLOAD",
            "src_locations": [file.path for file in download.files],
            "localLocation": download.folder,
            "presignedUrls": addresses,
            "parallel": 4,
            "stageInfo": _stage(addresses[0] if addresses else "", download.stage),
        }


def _stage(address: str, stage: StageFolder) -> dict[str, Any]:
    """The stage as if it lay in a cloud whose files are reached by signed addresses: clients need nothing more."""
    return {
        "locationType": "GCS", "location": f"{stage.key.lstrip('@%')}/", "path": stage.path, "region": "local",
        "storageAccount": None, "isClientSideEncrypted": False, "creds": {}, "presignedUrl": address, "endPoint": None,
    }  # fmt: skip
