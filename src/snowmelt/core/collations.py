"""Collation specifications: `en-ci`, `upper`, `de-trim`. What each part means is in docs/design/types.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from snowmelt.core import errors

_LANGUAGES = re.compile(
    r"(?:a[afmrsz]|bal|b[egnors]|blo|ca|ceb|chr|c[suy]|d[aez]|dsb|e[elnost]|f[afiory]|fil|g[alu]|h[aeiruy]|haw|hsb|i[dgst]|ja"
    r"|k[aklmnouy]|kok|l[bntov]|lij|lkt|m[klnrsty]|n[belno]|nso|om|or|p[alst]|r[ou]|s[aeiklqrtvw]|sgs|smn|ssy"
    r"|t[aehknor]|u[gkrz]|v[io]|wae|wo|xh|y[io]|z[hu])\Z"
)
"""Those that ICU sorts in a way of their own."""
_SPANISH = "sp"
"""Snowflake's own word for Spanish."""
_LOCALE = re.compile(r"([a-z]{2,3})(?:_([a-z]{2}))?\Z")
_PARTS = {
    "cs": "case", "ci": "case", "as": "accents", "ai": "accents", "ps": "punctuation", "pi": "punctuation",
    "fl": "first", "fu": "first", "upper": "letters", "lower": "letters",
    "trim": "trim", "ltrim": "trim", "rtrim": "trim",
}  # fmt: skip
_OF_A_LOCALE = ("case", "accents", "punctuation", "first")


@dataclass(frozen=True, slots=True)
class Collation:
    """What is compared in place of a text: it is trimmed, its letters made large or small, and a locale orders it."""

    locale: str | None = None
    """A name of ICU's; None compares the code points."""
    levels: int = 3
    """1 tells letters apart, 2 accents too, 3 large and small letters too."""
    letters: str | None = None
    """`upper` or `lower`."""
    trim: str | None = None
    """`trim`, `ltrim` or `rtrim`."""

    @property
    def is_plain(self) -> bool:
        """Whether texts are compared as they are."""
        return self == Collation()


@lru_cache(256)
def parse(specification: str) -> Collation:
    """What a specification says; an error where there is none such, or where it can't be had here."""
    words = [word for word in specification.strip().lower().split("-") if word != "utf8"]
    locale = _locale(words[0]) if words and words[0] and words[0] not in _PARTS else None
    said: dict[str, str] = {}
    for word in words[locale is not None :]:
        part = _PARTS.get(word)
        if word and (part is None or part in said):
            raise _invalid(specification)
        if part is not None:
            said[part] = word
    if locale is None and any(part in said for part in _OF_A_LOCALE):
        raise errors.unsupported(
            f"the collation '{specification}' without a locale", hint=f"Write 'en-{'-'.join(said.values())}'."
        )
    if said.get("punctuation") == "pi" or "first" in said or (said.get("accents") == "ai" and said.get("case") != "ci"):
        raise errors.unsupported(
            f"the collation '{specification}'",
            hint="There are ci, ci-ai, upper, lower, trim, ltrim and rtrim. REGEXP_REPLACE takes punctuation away.",
        )
    levels = 1 if said.get("accents") == "ai" else 2 if said.get("case") == "ci" else 3
    return Collation(locale, levels, said.get("letters"), said.get("trim"))


def _locale(word: str) -> str | None:
    found = _LOCALE.match(word)
    language = "es" if found is not None and found[1] == _SPANISH else found[1] if found is not None else ""
    if found is None or _LANGUAGES.match(language) is None:
        raise _invalid(word)
    return language if found[2] is None else f"{language}_{found[2].upper()}"


def _invalid(specification: str) -> errors.SnowmeltError:
    return errors.compilation("002321", "22023", f"Invalid collation specification: '{specification}'")
