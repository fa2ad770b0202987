"""PUT and GET: clients send files to addresses with a secret in them, and fetch them from such."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

from snowmelt.serve.protocol.rowtypes import statement_type_id
from snowmelt.service.loading.places import Place
from snowmelt.service.transfers import Download, Transfer, Upload

_GZIP = b"\x1f\x8b"
_COMPRESSED = (".gz", ".gzip", ".tgz")
_MOST_GRANTS = 50_000
_SIGNED = "X-Goog-SignedHeaders=" + quote(
    "host;x-goog-if-generation-match;x-goog-meta-sfc-digest;x-goog-meta-encryptiondata;x-goog-meta-matdesc"
)
"""The headers that the address allows: clients send no condition that it does not."""
_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Grant:
    """What one address allows: to write below a place, or to read a file of it."""

    place: Place
    path: str
    """The file to read; for writing, the file's name where the client can't choose it."""
    writes: bool
    compresses: bool = False
    """Whether the client may have compressed what it sends, though it asked under the old name."""
    used: bool = False
    """Whether a file was written by it."""


class StageFiles:
    """Addresses that were handed out, the newest ones."""

    def __init__(self) -> None:
        self._grants: OrderedDict[str, Grant] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, secret: str) -> Grant | None:
        with self._lock:
            return self._grants.get(secret)

    def written(self, secret: str) -> None:
        """The address is for one file: whoever comes with another, or once more, has to ask for one of its own."""
        with self._lock:
            if (grant := self._grants.get(secret)) is not None:
                self._grants[secret] = replace(grant, used=True)

    def _granted(self, grant: Grant) -> str:
        secret = secrets.token_urlsafe(24)
        with self._lock:
            self._grants[secret] = grant
            while len(self._grants) > _MOST_GRANTS:
                self._grants.popitem(last=False)
        return secret

    def described(self, transfer: Transfer, base_url: str, query_id: str) -> dict[str, Any]:
        """The answer to PUT or GET: what the client has to do."""
        data = self._upload(transfer, base_url) if isinstance(transfer, Upload) else self._download(transfer, base_url)
        kind = "PUT_FILES" if isinstance(transfer, Upload) else "GET_FILES"
        return {
            **data, "queryId": query_id, "statementTypeId": statement_type_id(kind), "encryptionMaterial": None,
            "rowtype": [], "rowset": [], "total": 0, "returned": 0, "threshold": 0,
        }  # fmt: skip

    def _upload(self, upload: Upload, base_url: str) -> dict[str, Any]:
        name = "" if set(upload.name) & _WILD else upload.name
        options = upload.options
        compresses = options.auto_compress is not False
        secret = self._granted(Grant(upload.place, name, writes=True, compresses=compresses))
        return {
            "command": "UPLOAD",
            "src_locations": [upload.source],
            # Some clients try a file at the address of the one before it, and ask for its own when that is refused:
            # only one after the other can they not meet there.
            "parallel": (options.parallel or 4) if name else 1,
            "autoCompress": compresses,
            "overwrite": bool(options.overwrite),
            "sourceCompression": (options.source_compression or "AUTO_DETECT").lower(),
            "stageInfo": _stage(f"{base_url}/stage-files/{secret}/{quote(name)}?{_SIGNED}", upload.place),
            "clientShowEncryptionParameter": False,
        }

    def _download(self, download: Download, base_url: str) -> dict[str, Any]:
        addresses = [
            f"{base_url}/stage-files/{self._granted(Grant(download.place, file.path, writes=False))}/{quote(file.name)}"
            for file in download.files
        ]
        return {
            "command": "DOWNLOAD",
            "src_locations": [file.path for file in download.files],
            "localLocation": download.folder,
            "presignedUrls": addresses,
            "parallel": 4,
            "stageInfo": _stage(addresses[0] if addresses else "", download.place),
        }


def _stage(address: str, place: Place) -> dict[str, Any]:
    """The stage as if it lay in a cloud whose files are reached by signed addresses: clients need nothing more."""
    return {
        "locationType": "GCS", "location": f"{place.key.lstrip('@%')}/", "path": place.path, "region": "local",
        "storageAccount": None, "isClientSideEncrypted": False, "creds": {}, "presignedUrl": address, "endPoint": None,
    }  # fmt: skip


def written_name(grant: Grant, from_address: str, start: bytes) -> str:
    """The name that a file gets. A client that compressed it need not have asked again under the name it has now."""
    name = grant.path or unquote(from_address)
    compressed = grant.compresses and start[:2] == _GZIP
    return f"{name}.gz" if compressed and "." + name.rpartition(".")[2].lower() not in _COMPRESSED else name
