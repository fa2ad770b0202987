"""The files of an object store below one prefix, by their paths from there.

Failures are those of a file system: FileNotFoundError, FileExistsError, PermissionError, OSError. Their texts hold what
the store said, without what a signature is made of. All is repeated for a while: a write overwrites the same bytes, and
one on condition whose answer was lost is looked up before anybody is told that the file is there already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    stop_any,
    wait_random_exponential,
)

from snowmelt.core.errors import configuration
from snowmelt.core.lazy import lazy_imports
from snowmelt.core.object_stores import S3Address

with lazy_imports():
    import obstore
    from obstore import exceptions as obstore_errors
    from obstore import store as obstore_stores

if TYPE_CHECKING:
    from obstore.store import S3Store

Result = TypeVar("Result")
RETRY_SECONDS = 60
_ATTEMPTS = 8
_CODE = re.compile(r"<Code>([^<]{1,200})</Code>")
_MESSAGE = re.compile(r"<Message>([^<]{1,500})</Message>")
_STATUS = re.compile(r"status(?: code)?[: ]+(\d{3}[^,:;\"]{0,40})", re.IGNORECASE)
_LAST_CAUSE = re.compile(r"(?:source|message): \"([^\"<]{1,200})\"")


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    path: str
    size: int
    etag: str | None
    changed: float
    """Seconds since 1970, by the store's clock."""


class ObjectFiles:
    """Safe to use from many threads."""

    def __init__(self, address: S3Address, *, retry_seconds: float = RETRY_SECONDS) -> None:
        self.uri = address.uri
        self._store = _opened(address, retry_seconds)
        # The client repeats reads by itself, but no write that may have happened, and nothing that was cut off.
        self._repeating = Retrying(
            retry=retry_if_exception(_is_transient), reraise=True,
            stop=stop_any(stop_after_attempt(_ATTEMPTS), stop_after_delay(retry_seconds)),
            wait=wait_random_exponential(multiplier=0.1, max=3),
        )  # fmt: skip

    def _repeated(self, path: str, work: Callable[[], Result]) -> Result:
        def attempt() -> Result:
            with _failures(path):
                return work()

        return self._repeating.copy()(attempt)

    def read(self, path: str) -> bytes:
        return self._repeated(path, lambda: bytes(obstore.get(self._store, path).bytes()))

    def range_of(self, found: ObjectFacts, start: int, end: int) -> bytes:
        """The bytes from `start` on, before `end`, of an object as it was found; an OSError if it has been replaced."""
        options: Any = {"range": (start, end), **({"if_match": found.etag} if found.etag is not None else {})}
        return self._repeated(found.path, lambda: bytes(obstore.get(self._store, found.path, options=options).bytes()))

    def facts(self, path: str) -> ObjectFacts:
        return self._repeated(path, lambda: _facts(obstore.head(self._store, path)))

    def exists(self, path: str) -> bool:
        try:
            self.facts(path)
        except FileNotFoundError:
            return False
        return True

    def put(self, path: str, content: bytes) -> None:
        self._repeated(path, lambda: obstore.put(self._store, path, content, mode="overwrite", use_multipart=False))

    def put_new(self, path: str, content: bytes) -> None:
        """Puts the file as a whole, or raises FileExistsError if there is one. Nobody else can have put it as well."""
        try:
            self._repeated(path, lambda: obstore.put(self._store, path, content, mode="create", use_multipart=False))
        except FileExistsError:
            # A request may have been carried out and its answer lost: what was repeated then met its own first attempt.
            if self.read(path) != content:
                raise

    def upload(self, path: str, file: Path) -> None:
        self._repeated(path, lambda: obstore.put(self._store, path, file, mode="overwrite"))

    def download(self, path: str, file: Path) -> ObjectFacts:
        """Writes the object to a file, which must be as long as the store says."""
        return self._repeated(path, lambda: self._download(path, file))

    def _download(self, path: str, file: Path) -> ObjectFacts:
        result = obstore.get(self._store, path)
        facts = _facts(result.meta)
        with file.open("wb") as target:
            for chunk in result.stream():
                target.write(chunk)
        if file.stat().st_size != facts.size:
            raise OSError(f"{file.stat().st_size} of {facts.size} bytes came")
        return facts

    def below(self, prefix: str) -> Sequence[ObjectFacts]:
        """All files below a folder, however deep."""
        return self._repeated(
            prefix, lambda: [_facts(meta) for chunk in obstore.list(self._store, prefix or None) for meta in chunk]
        )

    def inside(self, prefix: str) -> tuple[list[str], list[ObjectFacts]]:
        """The folders and the files directly in a folder."""
        found = self._repeated(prefix, lambda: obstore.list_with_delimiter(self._store, prefix or None))
        return sorted(found["common_prefixes"]), [_facts(meta) for meta in found["objects"]]

    def delete(self, paths: Sequence[str]) -> None:
        """Nothing happens for those that do not exist."""
        if paths:
            self._repeated(paths[0], lambda: obstore.delete(self._store, list(paths)))

    def copy(self, source: str, target: str) -> None:
        """Within the store; the bytes do not come here."""
        self._repeated(source, lambda: obstore.copy(self._store, source, target))


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError | FileExistsError | PermissionError)


def _opened(address: S3Address, retry_seconds: float) -> S3Store:
    try:
        opened = obstore_stores.S3Store
    except ImportError:
        raise configuration(
            "Tables in an object store need the package 'obstore'.", hint="Run: pip install 'snowmelt[s3]'."
        ) from None
    client: Any = {
        "timeout": timedelta(seconds=address.timeout_seconds),
        "connect_timeout": timedelta(seconds=5),
        "allow_http": address.allow_http,
    }
    config: Any = address.for_reader()
    return opened(
        address.bucket,
        prefix=address.prefix or None,
        config=config,
        client_options=client,
        retry_config={"max_retries": 10, "retry_timeout": timedelta(seconds=retry_seconds)},
    )


def _facts(meta: Any) -> ObjectFacts:
    return ObjectFacts(meta["path"], int(meta["size"]), meta["e_tag"], meta["last_modified"].timestamp())


@contextmanager
def _failures(path: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, obstore_errors.NotFoundError) as error:
        raise FileNotFoundError(f"'{path}': {reason_of(error)}") from error
    except obstore_errors.AlreadyExistsError as error:
        raise FileExistsError(f"'{path}' is there already") from error
    except (obstore_errors.PermissionDeniedError, obstore_errors.UnauthenticatedError) as error:
        raise PermissionError(f"'{path}': {reason_of(error)}") from error
    except (obstore_errors.BaseError, ConnectionError) as error:
        raise OSError(f"'{path}': {reason_of(error)}") from error


def reason_of(error: BaseException) -> str:
    """What the store said, or what its client says of the connection, in a few words and without request or keys."""
    text = str(error)
    code, message = _CODE.search(text), _MESSAGE.search(text)
    if code is not None:
        return f"{code[1]} ({message[1].rstrip('.')})" if message is not None else code[1]
    if found := _LAST_CAUSE.findall(text):
        return str(found[-1])
    if status := _STATUS.search(text):
        return f"the store answered {status[1].strip()}"
    return type(error).__name__
