"""SYSTEM$SEND_EMAIL and its siblings, and what was sent."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from snowmelt.core import errors
from snowmelt.features.notifications.messages import Messages
from snowmelt.features.notifications.rules import AlertRules
from snowmelt.observe import alerting
from snowmelt.observe.notifying import MIME_TYPES, Message
from snowmelt.runtime.metadata.columns import Row, columns
from snowmelt.state.observing_model import AlertStanding
from snowmelt.state.store import StateReader

if TYPE_CHECKING:
    from snowmelt.runtime.run import Run
    from snowmelt.runtime.table_functions import Arguments as Named

Arguments = Sequence[Any]
_RIGHT = "EXECUTE ALERT"
_DAYS = 14
HISTORY_ARGUMENTS = ("START_TIME", "END_TIME", "INTEGRATION_NAME", "RESULT_LIMIT")
HISTORY_COLUMNS = columns("CREATED:ts, PROCESSED:ts, INTEGRATION_NAME, STATUS, ERROR_MESSAGE, MESSAGE_SOURCE, SUBJECT")
STATUS_COLUMNS = columns(
    "RULE_NAME, SUBJECT, SEVERITY, STATE, SINCE:ts, FIRING_SINCE:ts, LAST_NOTIFIED:ts, ESCALATED_ON:ts, "
    "SILENCED_UNTIL:ts"
)


def send_email(run: Run, _: StateReader, arguments: Arguments) -> bool:
    """SYSTEM$SEND_EMAIL('<integration>', '<recipients>', '<subject>', '<content>' [, '<mime type>'])."""
    _check_allowed(run)
    integration, recipients, subject, content, *rest = [_text(value) for value in arguments]
    found = tuple(each.strip() for each in recipients.split(",") if each.strip())
    if not found:
        raise errors.invalid_value(recipients, "email_address_list")
    message = Message(subject, content, mime=_mime(rest[0]) if rest else "text/plain", recipients=found)
    run.account.services[Messages].deliver(integration, message, _source(run))
    return True


def send_notification(run: Run, _: StateReader, arguments: Arguments) -> str:
    """SYSTEM$SEND_SNOWFLAKE_NOTIFICATION('{"text/plain": "…"}', '{"<integration>": {…}}'): both may be lists."""
    _check_allowed(run)
    messages, integrations = (_objects(value) for value in arguments)
    sent = 0
    for target in integrations:
        for integration, options in target.items():
            chosen = options if isinstance(options, dict) else {}
            for content in messages[:1]:
                for mime, body in content.items():
                    message = Message(
                        str(chosen.get("subject", "Snowmelt")), _body(body), mime=_mime(mime),
                        recipients=tuple(map(str, chosen.get("toAddress", ()))),
                    )  # fmt: skip
                    run.account.services[Messages].deliver(integration, message, _source(run))
                    sent += 1
    return "Enqueued notifications." if sent else "No notifications."


def silence(run: Run, _: StateReader, arguments: Arguments) -> str:
    """SYSTEM$SILENCE_ALERT_RULE('<rule>', <minutes>)."""
    _check_allowed(run)
    rule, minutes = _text(arguments[0]), arguments[1]
    if minutes is None or minutes < 0:
        raise errors.invalid_value(str(minutes), "minutes")
    run.account.services[AlertRules].silence(rule, float(minutes))
    return f"Alert rule {rule} is silent for {minutes} minutes." if minutes else f"Alert rule {rule} is heard again."


def notification_history(run: Run, state: StateReader, arguments: Named) -> list[Row]:
    """Who may not send does not see what others sent."""
    if not run.authority.on_account(_RIGHT):
        return []
    end = arguments.instant("END_TIME") or run.now + timedelta(minutes=1)
    start = arguments.instant("START_TIME") or end - timedelta(days=_DAYS)
    wanted = arguments.text("INTEGRATION_NAME")
    rows: list[Row] = [
        {
            "CREATED": item.sent_at,
            "PROCESSED": item.sent_at,
            "INTEGRATION_NAME": item.channel,
            "STATUS": "SUCCESS" if item.error is None else "FAILURE",
            "ERROR_MESSAGE": item.error,
            "MESSAGE_SOURCE": item.about,
            "SUBJECT": item.title,
        }
        for item in state.observations.notifications(start, end)
        if wanted is None or wanted.upper() == item.channel.upper()
    ]
    return rows[: arguments.limit(100)]


def rule_status(run: Run, state: StateReader, _: Named) -> list[Row]:
    """Rules whose condition holds, those that somebody silenced, and those that have no result yet."""
    if not run.authority.on_account(_RIGHT):
        return []
    found = state.observations.standings()
    unknown = {rule.name: rule for rule in run.account.services[AlertRules].conditions.unknown()}
    standing = {item.rule for item in found.values() if not alerting.is_silence(item)}
    rows: list[Row] = [
        {"RULE_NAME": name, "SEVERITY": rule.severity, "STATE": "UNKNOWN"}
        for name, rule in unknown.items()
        if name not in standing
    ]
    return rows + [
        {
            "RULE_NAME": item.rule,
            "SUBJECT": item.summary or None,
            "SEVERITY": item.severity,
            "STATE": _state(item, unknown),
            "SINCE": item.since,
            "FIRING_SINCE": item.firing_since,
            "LAST_NOTIFIED": item.told_at,
            "ESCALATED_ON": item.escalated_at,
            "SILENCED_UNTIL": item.silenced_until,
        }
        for item in found.values()
    ]


def _state(item: AlertStanding, unknown: Collection[str]) -> str:
    if alerting.is_silence(item):
        return "SILENCED"
    if item.rule in unknown:
        # It held before the process started; whether it still does is not known yet.
        return "UNKNOWN"
    return "FIRING" if item.firing_since is not None else "PENDING"


def _check_allowed(run: Run) -> None:
    """What a message says leaves the account, so not everybody may send one."""
    if not run.authority.on_account(_RIGHT):
        raise errors.insufficient_privileges("account", "NOTIFICATIONS")


def _source(run: Run) -> str:
    task = run.session.task
    return str(task.name) if task is not None else run.query_id


def _objects(value: Any) -> list[dict[str, Any]]:
    try:
        found = json.loads(_text(value))
    except ValueError:
        raise errors.invalid_value(str(value), "notification") from None
    listed = found if isinstance(found, list) else [found]
    if not listed or not all(isinstance(each, dict) for each in listed):
        raise errors.invalid_value(str(value), "notification")
    return listed


def _body(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _mime(text: str) -> str:
    chosen = "text/plain" if text == "application/json" else text
    if chosen not in MIME_TYPES:
        raise errors.invalid_value(text, "mime_type")
    return chosen


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise errors.invalid_value("NULL" if value is None else str(value), "argument")
    return value
