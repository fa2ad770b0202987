"""OpenTelemetry traces: what a refresh or statement spent its time on, as spans inside spans."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Status, StatusCode, Tracer

from snowmelt.core import errors
from snowmelt.core.config import TracingSettings
from snowmelt.core.version import VERSION

_OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
Attribute = str | int | float | bool


class Tracing:
    """Does nothing unless `[tracing]` says where traces go. Then a span costs microseconds; a thread sends it."""

    def __init__(self, settings: TracingSettings | None, folder: Path, exporter: SpanExporter | None = None) -> None:
        """`exporter`: instead of the one that the settings mean."""
        self._provider: TracerProvider | None = None
        self._tracer: Tracer | None = None
        if settings is None and exporter is None:
            return
        name = settings.service_name if settings is not None else "snowmelt"
        # atexit would outlive the account; `close` does it.
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": name, "service.version": VERSION}), shutdown_on_exit=False
        )
        chosen = exporter if exporter is not None or settings is None else _exporter(settings, folder)
        assert chosen is not None
        self._provider.add_span_processor(BatchSpanProcessor(chosen))
        self._tracer = self._provider.get_tracer("snowmelt")

    @contextmanager
    def span(self, name: str, **attributes: Attribute | None) -> Iterator[None]:
        """A span around the block, inside the span that the thread is in. An exception marks it as failed."""
        if self._tracer is None:
            yield
            return
        known = {f"snowmelt.{key}": value for key, value in attributes.items() if value is not None}
        with self._tracer.start_as_current_span(
            name, attributes=known, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except BaseException as error:
                # The message alone: values of variables may be secrets.
                span.set_status(Status(StatusCode.ERROR, str(error)))
                raise

    def flush(self) -> None:
        if self._provider is not None:
            self._provider.force_flush()

    def close(self) -> None:
        """Sends what is left."""
        if self._provider is not None:
            self._provider.shutdown()


def _exporter(settings: TracingSettings, folder: Path) -> SpanExporter:
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
