"""Messages that leave the account: who may send, through which channel, and the record of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from snowmelt.core import errors
from snowmelt.core.config import NotificationSettings
from snowmelt.core.errors import SnowmeltError
from snowmelt.observe.notifying import Message, is_mail, send
from snowmelt.state.ids import new_id
from snowmelt.state.observing_model import Notification

if TYPE_CHECKING:
    from snowmelt.runtime.account import Account


class Messages:
    """The channels that `[notifications.…]` of the settings names. Addresses come from the environment alone."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def channel(self, name: str) -> tuple[str, NotificationSettings]:
        """Its name as the settings spell it, and what they say. Raises when there is none, or it is switched off."""
        for known, found in self._account.settings.notifications.items():
            if known.upper() == name.upper():
                if not found.enabled:
                    raise _refused(f"The notification integration '{known}' is disabled.")
                return known, found
        raise errors.not_found("Integration", name)

    def deliver(self, name: str, message: Message, about: str) -> None:
        """Sends now, and writes down what became of it. Raises when it could not leave."""
        known, settings = self.channel(name)
        address = os.environ.get(settings.url_env) or ""
        failure = _objection(settings, address, message) or send(address, message)
        with self._account.state.begin() as state:
            state.observations.add_notification(
                Notification(
                    id=new_id(), sent_at=state.now, channel=known, title=message.title, body=message.body, about=about,
                    error=failure,
                )
            )  # fmt: skip
        if failure is not None:
            raise _refused(f"The message could not be sent through '{known}': {failure}")


def _objection(settings: NotificationSettings, address: str, message: Message) -> str | None:
    """Why a message must not leave like this."""
    if not address:
        return f"The environment variable {settings.url_env} is not set."
    if message.recipients and not is_mail(address):
        return "Only channels of e-mail have recipients."
    strangers = set(message.recipients) - set(settings.allowed_recipients) if settings.allowed_recipients else set()
    if strangers:
        return f"'{min(strangers)}' is not one of the integration's allowed recipients."
    return None


def _refused(message: str) -> SnowmeltError:
    return SnowmeltError("370030", "08001", message, hint="See docs/reference/alerts.md on [notifications].")
