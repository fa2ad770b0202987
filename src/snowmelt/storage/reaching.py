"""Is the object store there, and can it do what tables need? Asked once, when an account is opened.

One small file is written on condition that it is new, written so once more, read, listed and removed. Whatever goes
wrong is told in one sentence with what to do: nobody should have to read a Java stack trace to learn of a typing error.
"""

from __future__ import annotations

import contextlib
import uuid

from snowmelt.core.errors import SnowmeltError, configuration
from snowmelt.core.object_stores import S3Address
from snowmelt.storage.objects import ObjectFiles

FOLDER = "_files/_reach"
"""Below the folder of stages, where nobody looks for tables."""
_PATIENCE_SECONDS = 10.0
_CLOCK = ("RequestTimeTooSkewed", "RequestExpired")
_KEYS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "AuthorizationHeaderMalformed")
_NO_KEYS = ("credential", "169.254.169.254", "metadata", "TokenProvider", "InstanceProfile")
_NO_BUCKET = ("NoSuchBucket", "bucket does not exist", "Bucket does not exist")
_ELSEWHERE = ("PermanentRedirect", "301", "307", "IllegalLocationConstraint")
_RIGHTS = "s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket"


def check_store(address: S3Address) -> None:
    """Raises a configuration error that says in one sentence what is wrong."""
    files = ObjectFiles(address, retry_seconds=_PATIENCE_SECONDS)
    path, content = f"{FOLDER}/{uuid.uuid4().hex}", b"snowmelt"
    doing = "write"
    try:
        files.put_new(path, content)
        _check_condition(address, files, path)
        doing = "read"
        if files.read(path) != content:
            raise configuration(f"The object store at {address.uri} gives back other bytes than it was given.")
        doing = "list"
        if not any(found.path == path for found in files.inside(FOLDER)[1]):
            raise configuration(
                f"The object store at {address.uri} does not list a file that was just written.",
                hint="Snowmelt needs a store that shows what it holds at once, as S3 does.",
            )
        doing = "delete"
        files.delete([path])
        doing = "see a file gone"
        if files.exists(path):
            raise configuration(f"The object store at {address.uri} still has a file that was just deleted.")
    except OSError as error:
        raise _explained(address, doing, error) from None
    finally:
        with contextlib.suppress(OSError):
            files.delete([path])


def _check_condition(address: S3Address, files: ObjectFiles, path: str) -> None:
    try:
        files.put_new(path, b"a second writer")
    except FileExistsError:
        return
    raise configuration(
        f"The object store at {address.uri} has no conditional writes: it let a second writer replace a file.",
        hint="Two servers could overwrite each other's commits. Use a store that heeds If-None-Match on PUT.",
    )


def _explained(address: S3Address, doing: str, error: OSError) -> SnowmeltError:
    text = str(error)

    def says(words: tuple[str, ...]) -> bool:
        return any(word in text for word in words)

    where = f"the object store at {address.uri}"
    if says(_NO_BUCKET):
        return configuration(f"The bucket '{address.bucket}' does not exist.", hint="Make it, or correct storage_root.")
    if says(_CLOCK):
        return configuration(
            f"The clock of this machine differs from that of {where}.", hint="Set the clock, best by NTP."
        )
    if says(_KEYS):
        return configuration(
            f"The keys that this machine has are not valid at {where}.",
            hint="Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if it is temporary, AWS_SESSION_TOKEN.",
        )
    if isinstance(error, PermissionError):
        return configuration(f"This machine may not {doing} files at {where}.", hint=f"It needs {_RIGHTS}.")
    if "NotImplemented" in text or "501" in text:
        return configuration(
            f"The object store at {address.uri} has no conditional writes: it refuses If-None-Match on PUT.",
            hint="Two servers could overwrite each other's commits. Use a store that heeds it.",
        )
    if says(_ELSEWHERE):
        return configuration(
            f"The bucket '{address.bucket}' is not in the region {address.region}.",
            hint='Name its region: storage_options = { aws_region = "…" }, or AWS_REGION.',
        )
    if address.endpoint is None and says(_NO_KEYS):
        return configuration(
            f"There are no keys for {where}.",
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role.",
        )
    if isinstance(error, FileNotFoundError):
        return configuration(f"The bucket '{address.bucket}' does not exist.", hint="Make it, or correct storage_root.")
    reached = address.endpoint or f"Amazon S3 in {address.region}"
    said = text.split(": ", 1)[-1]
    return configuration(f"{reached} could not {doing} files in the bucket '{address.bucket}': {said}.")
