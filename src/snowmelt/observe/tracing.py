"""OpenTelemetry traces: what a refresh or statement spent its time on, as spans inside spans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from snowmelt.core.config import TracingSettings
from snowmelt.core.lazy import lazy_imports

with lazy_imports():
    from opentelemetry import trace

    from snowmelt.observe import spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer

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
        chosen = exporter if exporter is not None or settings is None else spans.exporter_of(settings, folder)
        assert chosen is not None
        self._provider = spans.provider(name, chosen)
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
                span.set_status(trace.Status(trace.StatusCode.ERROR, str(error)))
                raise

    def flush(self) -> None:
        if self._provider is not None:
            self._provider.force_flush()

    def close(self) -> None:
        """Sends what is left."""
        if self._provider is not None:
            self._provider.shutdown()
