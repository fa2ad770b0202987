"""Secrets in the text of statements: what history, logs, events and messages show instead.

Works on tokens, not on the shape of a statement, with a tokenizer that takes any text: one that does not parse, or that
was cut in the middle of a literal, holds its secret, too. What is left open reaches to the end of the text.

Every text of every user comes here before anything else looks at it, so all of this takes time in proportion to its
length (`tests/features/security/test_redaction.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from snowmelt.core.errors import SnowmeltError

HIDDEN = "***"
_WORD = (
    r"(?:\w*_)?(?:PASSWORD|PASSPHRASE|PASSCODE|SECRET|SECRET_STRING|SECRET_KEY|SECRET_ACCESS_KEY|PRIVATE_KEY|API_KEY|"
    r"ACCESS_KEY|SAS_TOKEN|ACCESS_TOKEN|REFRESH_TOKEN|AUTH_TOKEN|MASTER_KEY|ENCRYPTION_KEY)"
    r"|PWD|TOKEN|AWS_TOKEN|AWS_KEY_ID|AWS_ROLE|CREDENTIALS|RSA_PUBLIC_KEY(?:_2)?|"
    r"(?:TRY_)?(?:EN|DE)CRYPT(?:_RAW)?|SYSTEM\$F(?:IND|ORGET)_PERSON"
)
_SECRET_WORD = re.compile(_WORD, re.IGNORECASE)
# A comment is prose, in which a quote may be an apostrophe: behind a secret word, all of it is hidden.
_MARKER = re.compile(rf"\b(?:{_WORD})\b", re.IGNORECASE)
_ASSIGNS = "=:'\"$"
_QUICK = re.compile(r"PASS|PWD|SECRET|KEY|TOKEN|CRED|CRYPT|AWS_|SIG|://|_PERSON", re.IGNORECASE)
_PIECE = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<string>'(?:[^'\\]|\\.|'')*(?:'|\\?\Z))
      | (?P<dollars>\$\$.*?(?:\$\$|\Z))
      | (?P<quoted>"(?:[^"]|"")*(?:"|\Z))
      | (?P<word>[A-Za-z_\u0080-\uffff][\w$]*)
      | (?P<space>\s+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_LITERALS = frozenset({"string", "dollars"})
_JOINS = frozenset({"=", ">", ":", "|", "+", "("})
"""What may stand between a secret word and its value, and between the parts of a value."""
_BARE = re.compile(r"[^\s,;()'\"]+")
_NO_SECRETS = frozenset({"TRUE", "FALSE", "NULL", "DEFAULT", "?"})
# Signatures and passwords inside addresses, wherever they stand.
_SIGNED = re.compile(
    r"(?i)(?P<head>[?&;](?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|"
    r"x-goog-credential|awsaccesskeyid|access_token|token|key|api_key|password|code|secret)=)(?P<value>[^&#'\"\s]+)"
)
_USER_INFO = re.compile(r"(?P<head>[\w+.-]://[^/\s:@'\"]*:)(?!\d{1,5}\Z)(?P<value>[^/\s'\"]+)(?=@|\Z)")
"""Also where the text was cut before the `@`, unless what is left looks like a port."""
_LEAST = 4
"""Messages must not repeat a part of a secret that is at least this long."""
_MOST_SEARCHED = 1 << 26
"""Characters of a message, times secrets to be looked for in it."""
_MOST_DEPTH = 8
"""Texts in texts. What lies deeper is not read, but hidden."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class _Change:
    """A part of the text that is shown as something else."""

    start: int
    end: int
    shown: str
    secrets: tuple[str, ...]


def redacted(text: str) -> str:
    """The text with every secret value hidden. Costs nothing worth mentioning for a text that has none."""
    if _QUICK.search(text) is None:
        return text
    return _changed(text, _changes(text))


def shown_text(text: str) -> str:
    """A text that need not be SQL, such as a single address, or a body: with every secret value hidden."""
    if _QUICK.search(text) is None:
        return text
    return redacted(_clean_addresses(text)[0])


def secrets_in(text: str) -> list[str]:
    """The values that `redacted` hides, the longest first."""
    if _QUICK.search(text) is None:
        return []
    found = {value for change in _changes(text) for secret in change.secrets for value in _forms(secret)}
    return sorted((value for value in found if len(value) >= _LEAST), key=len, reverse=True)


def without(message: str, secrets: list[str]) -> str:
    """A message that may quote parts of a statement: of a secret it repeats neither the whole nor the beginning."""
    if len(message) * len(secrets) > _MOST_SEARCHED:
        return HIDDEN
    for secret in secrets:
        # A text that holds a beginning holds every shorter one as well.
        lengths = range(min(len(secret), _LEAST + 2), len(secret) + 1)
        missing = bisect_left(lengths, True, key=lambda length: secret[:length] not in message)
        if missing:
            message = message.replace(secret[: lengths[missing - 1]], HIDDEN)
    return message


def cleaned(text: str, error: SnowmeltError) -> SnowmeltError:
    """The error as it may be shown and kept: one about a statement with a secret in it may quote the secret."""
    secrets = secrets_in(text)
    shown = without(error.message, secrets) if secrets else error.message
    hint = without(error.hint, secrets) if secrets and error.hint else error.hint
    if (shown, hint) == (error.message, error.hint):
        return error
    return SnowmeltError(error.code, error.sqlstate, shown, hint=hint)


def _forms(secret: str) -> Iterator[str]:
    """A secret as it was written, as it is meant, and the pieces that a tokenizer makes of it."""
    yield secret
    yield secret.replace("''", "'")
    yield re.sub(r"\\(.)", r"\1", secret, flags=re.DOTALL)
    yield secret.split("\n", 1)[0]
    yield from re.findall(r"\w+", secret) if " " not in secret else ()


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The tokens of a text, and what lies far ahead of each: nobody has to look for it twice."""

    text: str
    all: list[_Token]
    closings: dict[int, int]
    """The parenthesis that closes another one, by index."""
    last_value: int
    """The index of the last literal or quoted name, or -1."""


def _tokens(text: str) -> _Tokens:
    found = [_Token(str(match.lastgroup), match[0], match.start()) for match in _PIECE.finditer(text)]
    closings: dict[int, int] = {}
    opened: list[int] = []
    last_value = -1
    for index, token in enumerate(found):
        if token.text == "(":
            opened.append(index)
        elif token.text == ")" and opened:
            closings[opened.pop()] = index
        elif token.kind in (*_LITERALS, "quoted"):
            last_value = index
    return _Tokens(text, found, closings, last_value)


def _changed(text: str, changes: Iterable[_Change]) -> str:
    shown, position = [], 0
    for change in changes:
        shown += [text[position : change.start], change.shown]
        position = change.end
    return "".join([*shown, text[position:]])


def _changes(text: str, depth: int = 0) -> Iterator[_Change]:
    tokens = _tokens(text)
    index = 0
    while index < len(tokens.all):
        token = tokens.all[index]
        if not _is_secret_word(token):
            yield from _inside(token, depth)
            index += 1
            continue
        index += 1
        upto = _value_end(tokens, index)
        yield from _all_hidden(tokens, index, upto)
        bare = _bare_value(tokens, index) if upto == index else None
        if bare is not None:
            yield bare
            while index < len(tokens.all) and tokens.all[index].start < bare.end:
                index += 1
            # A literal right behind a bare word: either of the two may be the secret.
            upto = _value_end(tokens, index)
            yield from _all_hidden(tokens, index, upto)
        index = upto


def _is_secret_word(token: _Token) -> bool:
    if token.kind not in ("word", "quoted"):
        return False
    return _SECRET_WORD.fullmatch(token.text.strip('"')) is not None


def _value_end(tokens: _Tokens, index: int) -> int:
    """The index behind the literals that belong to the secret word before `index`; `index` itself when none do."""
    end, seen_operator, position = index, False, index
    while position < len(tokens.all):
        token = tokens.all[position]
        if token.kind in ("space", "comment"):
            pass
        elif token.kind in _LITERALS or (token.kind == "quoted" and seen_operator):
            end = position + 1
        elif token.text == "(" and position not in tokens.closings:
            return max(end, tokens.last_value + 1) if tokens.last_value > position else end
        elif token.text in _JOINS:
            seen_operator = True
            if token.text == "(":
                position = tokens.closings[position]
                end = position + 1
        else:
            break
        position += 1
    return end


def _all_hidden(tokens: _Tokens, index: int, upto: int) -> Iterator[_Change]:
    for position in range(index, upto):
        yield from _hidden(tokens.all[position])


def _hidden(token: _Token) -> Iterator[_Change]:
    if token.kind in (*_LITERALS, "quoted"):
        end = token.start + len(token.text)
        yield _Change(token.start, end, f"'{HIDDEN}'", (_content(token)[0],))
    elif token.kind == "comment":
        yield _Change(token.start, token.start + len(token.text), " ", ())


def _bare_value(tokens: _Tokens, index: int) -> _Change | None:
    """`PASSWORD = abc-1`, without quotes."""
    position, seen_operator, found = index, False, tokens.all
    while position < len(found) and (found[position].kind in ("space", "comment") or found[position].text in "=>:"):
        seen_operator = seen_operator or found[position].text in ("=", ">")
        position += 1
    if position == len(found) or not seen_operator or found[position].text == "$":
        return None
    match = _BARE.match(tokens.text, found[position].start)
    if match is None or match[0].upper() in _NO_SECRETS:
        return None
    return _Change(match.start(), match.end(), f"'{HIDDEN}'", (match[0],))


def _inside(token: _Token, depth: int) -> Iterator[_Change]:
    """A literal or comment that is no secret may hold one: a statement of its own, or an address."""
    if token.kind in ("word", "space") or (token.kind == "other" and token.text != "'"):
        return
    content, offset = _content(token)
    meant = content.replace("''", "'").replace("\\'", "'") if token.kind == "string" else content
    if _QUICK.search(meant) is None:
        return
    start, end = token.start + offset, token.start + offset + len(content)
    if depth == _MOST_DEPTH:
        yield _Change(start, end, HIDDEN, (content,))
        return
    shown, found = _clean_addresses(meant)
    marker = _marker(shown) if token.kind == "comment" else None
    if marker is not None and shown[marker.end() :].strip():
        inner = f"{shown[: marker.end()]} {HIDDEN} "
        yield _Change(start, end, inner, (shown[marker.end() :].strip(), *found))
        return
    changes = list(_changes(shown, depth + 1))
    secrets = [*found, *(value for change in changes for value in change.secrets)]
    if secrets:
        inner = _changed(shown, changes)
        inner = inner.replace("'", "''") if token.kind == "string" else inner
        yield _Change(start, end, inner, tuple(secrets))


def _marker(text: str) -> re.Match[str] | None:
    """A secret word that something is assigned to, anywhere behind it."""
    return _MARKER.search(text, 0, max(0, *(text.rfind(sign) for sign in _ASSIGNS)))


def _clean_addresses(text: str) -> tuple[str, list[str]]:
    found = [match["value"] for pattern in (_SIGNED, _USER_INFO) for match in pattern.finditer(text)]
    for pattern in (_SIGNED, _USER_INFO):
        text = pattern.sub(lambda match: f"{match['head']}{HIDDEN}", text)
    return text, [value for value in found if value != HIDDEN]


def _content(token: _Token) -> tuple[str, int]:
    """What a literal or comment holds, without what it stands in, and where that begins."""
    width = 2 if token.kind in ("dollars", "comment") else 1
    mark = token.text[:width]
    content = token.text[width:]
    if mark == "--":
        content = content.lstrip("-")
        return content, len(token.text) - len(content)
    return content.removesuffix("*/" if mark == "/*" else mark), width
