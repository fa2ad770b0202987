"""Structured logs on standard error."""

from __future__ import annotations

import logging
import sys

import structlog

from snowmelt.core.config import Settings


def ensure_logging(settings: Settings) -> None:
    """For programs that use the package and have not set structlog up: it would print every event there is."""
    if not structlog.is_configured():
        configure_logging(settings.log_level, as_json=settings.log_json)


def configure_logging(level: str, *, as_json: bool) -> None:
    """Every line has the query's and the session's id while one runs, so that a statement can be followed."""
    renderer = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            # Never with the values of variables: a password may be among them.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping().get(level.upper(), 30)),
        # Looked up each time: whoever redirects standard error gets what is logged from then on.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
