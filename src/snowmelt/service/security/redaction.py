"""Secrets in the text of statements: what history, logs and messages show instead."""

from __future__ import annotations

import re

HIDDEN = "***"
_WORDS = (
    r"PASSWORD|RSA_PUBLIC_KEY(?:_2)?|AWS_KEY_ID|AWS_SECRET_KEY|AWS_TOKEN|AZURE_SAS_TOKEN|MASTER_KEY|"
    r"SECRET(?:_STRING)?|PRIVATE_KEY|API_KEY|TOKEN"
)
_QUICK = re.compile(rf"(?:{_WORDS})", re.IGNORECASE)
# A value in doubled quotes stands inside another string, as in EXECUTE IMMEDIATE; one that never ends is hidden to the
# end of the text, since it may be the secret that spoils the statement.
_SECRET = re.compile(
    rf"\b(?P<head>(?:{_WORDS})\b\s*=>?\s*)"
    r"(?:\$\$(?P<dollars>.*?)(?:\$\$|\Z)"
    r"|'{2,}(?P<doubled>[^']+)(?:'{2,}|\Z)"
    r"|'(?P<quoted>(?:[^'\\]|\\.|'')*)(?:'|\Z)"
    r'|"(?P<name>[^"]*)(?:"|\Z)'
    r"|(?P<bare>[^\s,;)']+))",
    re.IGNORECASE | re.DOTALL,
)


def redacted(text: str) -> str:
    """The text with every secret value hidden. Costs nothing worth mentioning for a text that has none."""
    if _QUICK.search(text) is None:
        return text
    return _SECRET.sub(lambda match: f"{match['head']}'{HIDDEN}'", text)


def secrets_in(text: str) -> list[str]:
    """The values that `redacted` hides, the longest first."""
    if _QUICK.search(text) is None:
        return []
    found = {value for match in _SECRET.finditer(text) for value in match.groupdict().values() if value}
    heads = {match["head"] for match in _SECRET.finditer(text)}
    values = found - heads
    values |= {value.replace("''", "'") for value in values}
    return sorted((value for value in values if value.upper() not in ("TRUE", "FALSE", "NULL")), key=len, reverse=True)


def without(message: str, secrets: list[str]) -> str:
    """A message that may quote parts of a statement."""
    for secret in secrets:
        message = message.replace(secret, HIDDEN)
    return message
