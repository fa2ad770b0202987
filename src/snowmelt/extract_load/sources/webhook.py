"""Events that a sender posts. There is nothing to ask for: they come by the receiver, as long as it listens."""

from __future__ import annotations

from collections.abc import Iterator

from snowmelt.extract_load.options import COUNT, SECONDS, TEXT, one_of
from snowmelt.extract_load.records import Batch
from snowmelt.extract_load.sources.base import Extractor, SourceDescription, TableToRead


class ReceivedExtractor(Extractor):
    """Gives nothing: what was received is in the raw table already."""

    def extract(self, after: str | None) -> Iterator[Batch]:
        yield from ()


def _read(_: TableToRead) -> Extractor:
    return ReceivedExtractor()


WEBHOOK = SourceDescription(
    "webhook", {"event_id": TEXT, "id_header": TEXT, "remember": COUNT},
    {
        "secret": TEXT, "previous_secret": TEXT, "auth": one_of("hmac", "token"), "signature_header": TEXT,
        "encoding": one_of("hex", "base64"), "signed": one_of("body", "timestamp.body"), "timestamp_header": TEXT,
        "tolerance": SECONDS, "max_bytes": COUNT,
    },
    _read, "127.0.0.1:8088",
)  # fmt: skip
