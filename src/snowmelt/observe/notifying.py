"""Sending a message to a channel, through Apprise: e-mail, Slack, Teams, PagerDuty, webhooks and many more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

import apprise


class MessageSeverity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    RESOLVED = "resolved"


_TYPES = {
    MessageSeverity.INFO: apprise.NotifyType.INFO,
    MessageSeverity.WARNING: apprise.NotifyType.WARNING,
    MessageSeverity.CRITICAL: apprise.NotifyType.FAILURE,
    MessageSeverity.RESOLVED: apprise.NotifyType.SUCCESS,
}
_FORMATS = {
    "text/plain": apprise.NotifyFormat.TEXT,
    "text/html": apprise.NotifyFormat.HTML,
    "text/markdown": apprise.NotifyFormat.MARKDOWN,
}
MIME_TYPES = frozenset(_FORMATS)


@dataclass(frozen=True, slots=True)
class Message:
    title: str
    body: str
    severity: MessageSeverity = MessageSeverity.INFO
    mime: str = "text/plain"
    recipients: tuple[str, ...] = ()
    """Recipients of an e-mail. Empty: those in the address itself."""


def send(address: str, message: Message) -> str | None:
    """Delivers the message; None, or why it could not. What comes back never quotes the address, which is a secret."""
    target = apprise.Apprise()
    if not target.add(_addressed(address, message.recipients)):
        return "The channel's address is not valid: see docs/reference/alerts.md for the form of each kind."
    delivered = target.notify(
        title=message.title,
        body=message.body,
        notify_type=_TYPES[message.severity],
        body_format=_FORMATS[message.mime],
    )
    return None if delivered else "The channel did not take the message."


def is_mail(address: str) -> bool:
    return address.lower().startswith(("mailto:", "mailtos:"))


def _addressed(address: str, recipients: Sequence[str]) -> str:
    if not recipients:
        return address
    return f"{address}{'&' if '?' in address else '?'}to={quote(','.join(recipients), safe='@,')}"
