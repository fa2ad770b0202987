"""Rules: which alerts fire, and which messages go to whom and when. Computed from samples, standings and the time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from snowmelt.core.config import AlertRuleSettings
from snowmelt.observe.notifying import Message, MessageSeverity
from snowmelt.state.observing_model import AlertStanding


@dataclass(frozen=True, slots=True)
class Series:
    """One value of a metric."""

    metric: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Tell:
    """A message for some channels, and the standing once it has left."""

    key: str
    channels: tuple[str, ...]
    message: Message
    before: AlertStanding
    after: AlertStanding | None
    """None when there is nothing more to know of it."""

    def unheard(self, channels: Sequence[str]) -> AlertStanding:
        """The standing when the message reached all channels but these, which are still to hear it."""
        return self.before.model_copy(update={"owed": tuple(channels), "owed_title": self.message.title})


@dataclass(frozen=True, slots=True)
class AlertVerdict:
    standings: dict[str, AlertStanding]
    """As they are now, before anybody was told anything."""
    gone: tuple[str, ...]
    """Keys of conditions that hold no longer, and of which nobody has to be told."""
    tell: tuple[Tell, ...]


def evaluate(
    rules: Sequence[AlertRuleSettings],
    series: Iterable[Series],
    before: Mapping[str, AlertStanding],
    now: datetime,
    unheard_of: Collection[str] = (),
) -> AlertVerdict:
    """`unheard_of`: sources of which a series that is not there says nothing, since the process may not know it yet.

    What such a series said before stands, and nobody is told anything, until it is there again.
    """
    by_metric: dict[str, list[Series]] = {}
    for each in series:
        by_metric.setdefault(each.metric, []).append(each)
    standings: dict[str, AlertStanding] = {}
    tell: list[Tell] = []
    known = {rule.name: rule for rule in rules}
    seen: set[str] = set()
    for rule in rules:
        for each in by_metric.get(rule.source, ()):
            seen.add(_key(rule, each))
            if _holds(rule, each):
                standing = _standing(rule, each, before, now)
                standings[standing.key] = standing
                if not _silenced(rule, before, now):
                    tell += _due(rule, standing, now)
    unknown = {
        key for key, item in before.items()
        if key not in seen and item.rule in known and known[item.rule].source in unheard_of
    }  # fmt: skip
    ended = [item for key, item in before.items() if key not in {*standings, *unknown} and not is_silence(item)]
    tell += [_resolved(known[item.rule], item) for item in ended if _heard(item) and item.rule in known]
    gone = [item.key for item in ended if not _heard(item) or item.rule not in known]
    gone += [item.key for item in before.values() if is_silence(item) and not _silences(item, now)]
    return AlertVerdict(standings, tuple(gone), tuple(tell))


def _heard(standing: AlertStanding) -> bool:
    """Whether somebody was told."""
    return standing.told_at is not None or bool(standing.owed)


def is_silence(standing: AlertStanding) -> bool:
    """Whether it is no alert but somebody's wish to hear nothing of a rule: about no series in particular."""
    return standing.key == standing.rule


def silence(rule: str, until: datetime, now: datetime) -> AlertStanding:
    return AlertStanding(key=rule, rule=rule, severity="info", summary="", since=now, silenced_until=until)


def _silenced(rule: AlertRuleSettings, before: Mapping[str, AlertStanding], now: datetime) -> bool:
    found = before.get(rule.name)
    return found is not None and _silences(found, now)


def _silences(standing: AlertStanding, now: datetime) -> bool:
    return standing.silenced_until is not None and now < standing.silenced_until


def _holds(rule: AlertRuleSettings, series: Series) -> bool:
    if any(series.labels.get(name) != value for name, value in rule.labels.items()):
        return False
    return rule.holds(series.value)


def _standing(
    rule: AlertRuleSettings, series: Series, before: Mapping[str, AlertStanding], now: datetime
) -> AlertStanding:
    subject, key = _subject(series), _key(rule, series)
    about = f" ({subject})" if subject else ""
    summary = f"{rule.summary or rule.name}: {rule.source} is {series.value:g}{about}"
    found = before.get(key)
    if found is not None and found.owed_title == _title("resolved", rule):
        # The alert was resolved, and only a message of that is owed: this is a new alert.
        found = None
    since = found.since if found is not None else now
    firing = found.firing_since if found is not None else None
    if firing is None and now - since >= timedelta(seconds=rule.for_seconds):
        firing = now
    fresh = AlertStanding(key=key, rule=rule.name, severity=rule.severity, summary=summary, since=since)
    times = {} if found is None else {name: getattr(found, name) for name in _TIMES}
    return fresh.model_copy(update={"firing_since": firing, **times})


def _subject(series: Series) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(series.labels.items()))


def _key(rule: AlertRuleSettings, series: Series) -> str:
    return f"{rule.name} {{{_subject(series)}}}"


def _title(what: str, rule: AlertRuleSettings) -> str:
    return f"[{what}] {rule.name}"


_TIMES = ("told_at", "escalated_at", "owed", "owed_title")


def _due(rule: AlertRuleSettings, standing: AlertStanding, now: datetime) -> Iterator[Tell]:
    """At most one message: one that escalates says all there is to say."""
    if standing.firing_since is None:
        return
    lasted = now - standing.firing_since
    escalates = rule.escalate_seconds is not None and standing.escalated_at is None
    if escalates and lasted >= timedelta(seconds=rule.escalate_seconds or 0):
        body = f"{standing.summary}\nIt has lasted since {standing.since:%F %T} UTC."
        message = Message(_title("escalated", rule), body, MessageSeverity.CRITICAL)
        # Those who should have heard of it first, and did not yet, hear of it now.
        first = rule.channels if standing.told_at is None else ()
        yield _tell(standing, (*first, *rule.escalate_to), message, {"escalated_at": now, "told_at": now})
    elif standing.told_at is None or now - standing.told_at >= timedelta(seconds=rule.repeat_seconds):
        message = Message(_title(rule.severity, rule), standing.summary, MessageSeverity(rule.severity))
        yield _tell(standing, rule.channels, message, {"told_at": now})


def _resolved(rule: AlertRuleSettings, standing: AlertStanding) -> Tell:
    channels = (*rule.channels, *(rule.escalate_to if standing.escalated_at is not None else ()))
    return _tell(
        standing, channels, Message(_title("resolved", rule), standing.summary, MessageSeverity.RESOLVED), None
    )


def _tell(
    standing: AlertStanding, channels: Iterable[str], message: Message, times: Mapping[str, datetime] | None
) -> Tell:
    """To those who have not heard it yet. `told`: what is known once all have; None when it is over then."""
    owed = standing.owed if standing.owed_title == message.title else ()
    after = None if times is None else standing.model_copy(update={**times, "owed": (), "owed_title": None})
    return Tell(standing.key, owed or tuple(dict.fromkeys(channels)), message, standing, after)
