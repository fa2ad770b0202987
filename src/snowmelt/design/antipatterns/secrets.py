"""Secrets in any text: SQL that can't be read, Python, YAML, environment files."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SHAPES = re.compile(
    r"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----|gh[pousr]_[A-Za-z0-9]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|sk_live_[A-Za-z0-9]{16,}|AIza[0-9A-Za-z_-]{35}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\."
)
_NAME = r"(?:password|passwd|pwd|passphrase|secret|secret_key|token|api_?key|access_?key|private_?key|client_secret)"
_SET = re.compile(
    rf"[\w-]*{_NAME}['\"]?\s*[:=]\s*(?:(['\"])(?P<q>[^'\"\n]{{4,}})\1|(?P<b>[^\s'\"#,;{{(\[]{{6,}}))", re.I
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@'\"{}$<]+:(?P<p>[^/\s@'\"${<]+)@", re.I)
_NO_SECRET = re.compile(
    r"\$\{|\{\{|\{%|<|env_var|environ|getenv|Variable\.get|secrets?\.|vault|\*\*\*|^x+$|^(none|null|true|false|str|string|"
    r"varchar|text|password|secret|token|changeme|example)$|^:\w+$|^%|^\w+\(|^\w+\.\w+|^/",
    re.I,
)


def secret_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines, from 1, that hold a secret, each with what gives it away; never the secret itself."""
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _what(line):
            yield number, found


def _what(line: str) -> str | None:
    if _SHAPES.search(line):
        return "it has the form of a key or token"
    address = _ADDRESS.search(line)
    if address is not None and not _NO_SECRET.search(address["p"]):
        return "an address has a password in it"
    for found in _SET.finditer(line):
        value = (found["q"] or found["b"]).strip()
        bare_code = found["q"] is None and "=" in found.group(0) and not re.search(r"\d", value)
        if not _NO_SECRET.search(value) and not bare_code:
            return f"{re.split('[:=]', found.group(0))[0].strip(chr(39) + chr(34) + ' ')} is written out"
    return None
