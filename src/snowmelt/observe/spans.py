"""Where spans go: OpenTelemetry's part of tracing, imported when `[tracing]` is set."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from snowmelt.core import errors
from snowmelt.core.config import TracingSettings
from snowmelt.core.version import VERSION

_OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


def provider(name: str, exporter: SpanExporter) -> TracerProvider:
    # atexit would outlive the account; `Tracing.close` does it.
    made = TracerProvider(
        resource=Resource.create({"service.name": name, "service.version": VERSION}), shutdown_on_exit=False
    )
    made.add_span_processor(BatchSpanProcessor(exporter))
    return made


def exporter_of(settings: TracingSettings, folder: Path) -> SpanExporter:
    if settings.file is not None:
        return _FileExporter(folder / settings.file)
    if importlib.util.find_spec("opentelemetry.exporter") is None or importlib.util.find_spec(_OTLP) is None:
        raise errors.configuration(
            "Traces can't be sent to a collector: the exporter is not installed.",
            hint="pip install 'snowmelt[tracing]', or write them to a file: [tracing] file = …",
        )
    exporter: SpanExporter = importlib.import_module(_OTLP).OTLPSpanExporter(endpoint=settings.url)
    return exporter


class _FileExporter(SpanExporter):
    """One span a line, as JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        text = "".join(span.to_json(indent=None) + "\n" for span in spans)
        try:
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS
