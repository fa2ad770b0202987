"""Secrets in the text of statements: what history, logs, events and messages show instead.

Works on tokens, not on the shape of a statement, with a tokenizer that takes any text: one that does not parse, or that
was cut in the middle of a literal, holds its secret, too. What is left open reaches to the end of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_MARKER = re.compile(rf"\b(?:{_WORD})\b(?=.*[=:'\"$])", re.IGNORECASE | re.DOTALL)
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
_USER_INFO = re.compile(r"(?P<head>[A-Za-z][\w+.-]*://[^/\s:@'\"]*:)(?!\d{1,5}\Z)(?P<value>[^/\s'\"]+)(?=@|\Z)")
"""Also where the text was cut before the `@`, unless what is left looks like a port."""
_LEAST = 4
"""Messages must not repeat a part of a secret that is at least this long."""


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
    shown, position = [], 0
    for change in _changes(text):
        shown += [text[position : change.start], change.shown]
        position = change.end
    return "".join([*shown, text[position:]])


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
    for secret in secrets:
        for length in range(len(secret), _LEAST + 1, -1):
            if secret[:length] in message:
                message = message.replace(secret[:length], HIDDEN)
                break
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


def _changes(text: str) -> Iterator[_Change]:
    tokens = [_Token(str(match.lastgroup), match[0], match.start()) for match in _PIECE.finditer(text)]
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if _is_secret_word(token):
            index += 1
            upto = _value_end(tokens, index)
            for position in range(index, upto):
                yield from _hidden(tokens[position])
            bare = _bare_value(text, tokens, index) if upto == index else None
            if bare is not None:
                yield bare
                index = next((i for i in range(index, len(tokens)) if tokens[i].start >= bare.end), len(tokens))
                # A literal right behind a bare word: either of the two may be the secret.
                upto = _value_end(tokens, index)
                for position in range(index, upto):
                    yield from _hidden(tokens[position])
            index = upto
            continue
        yield from _inside(token)
        index += 1


def _is_secret_word(token: _Token) -> bool:
    if token.kind not in ("word", "quoted"):
        return False
    return _SECRET_WORD.fullmatch(token.text.strip('"')) is not None


def _value_end(tokens: list[_Token], index: int) -> int:
    """The index behind the literals that belong to the secret word before `index`; `index` itself when none do."""
    end, depth, seen_operator, position = index, 0, False, index
    while position < len(tokens):
        token = tokens[position]
        if token.kind in ("space", "comment"):
            pass
        elif token.kind in _LITERALS or (token.kind == "quoted" and seen_operator):
            end = position + 1
        elif token.text == "(":
            depth, seen_operator = depth + 1, True
        elif token.text == ")" and depth:
            depth -= 1
            end = position + 1 if not depth else end
        elif token.text in _JOINS:
            seen_operator = True
        elif not depth:
            break
        position += 1
    return end


def _hidden(token: _Token) -> Iterator[_Change]:
    if token.kind in (*_LITERALS, "quoted"):
        end = token.start + len(token.text)
        yield _Change(token.start, end, f"'{HIDDEN}'", (_content(token),))
    elif token.kind == "comment":
        yield _Change(token.start, token.start + len(token.text), " ", ())


def _bare_value(text: str, tokens: list[_Token], index: int) -> _Change | None:
    """`PASSWORD = abc-1`, without quotes."""
    position, seen_operator = index, False
    while position < len(tokens) and (tokens[position].kind in ("space", "comment") or tokens[position].text in "=>:"):
        seen_operator = seen_operator or tokens[position].text in ("=", ">")
        position += 1
    match = _BARE.match(text, tokens[position].start) if position < len(tokens) and seen_operator else None
    if match is None or match[0].upper() in _NO_SECRETS or match[0][0] in ":$":
        return None
    return _Change(match.start(), match.end(), f"'{HIDDEN}'", (match[0],))


def _inside(token: _Token) -> Iterator[_Change]:
    """A literal or comment that is no secret may hold one: a statement of its own, or an address."""
    if token.kind in ("word", "space") or (token.kind == "other" and token.text != "'"):
        return
    content = _content(token)
    meant = content.replace("''", "'").replace("\\'", "'") if token.kind == "string" else content
    if _QUICK.search(meant) is None:
        return
    shown, found = _clean_addresses(meant)
    marker = _MARKER.search(shown) if token.kind == "comment" else None
    if marker is not None and shown[marker.end() :].strip():
        start = token.start + 2
        inner = f"{shown[: marker.end()]} {HIDDEN} "
        yield _Change(start, start + len(content), inner, (shown[marker.end() :].strip(), *found))
        return
    secrets = [*found, *(value for change in _changes(shown) for value in change.secrets)]
    if secrets:
        inner = redacted(shown)
        inner = inner.replace("'", "''") if token.kind == "string" else inner
        start = token.start + token.text.index(content) if content else token.start
        yield _Change(start, start + len(content), inner, tuple(secrets))


def _clean_addresses(text: str) -> tuple[str, list[str]]:
    found = [match["value"] for pattern in (_SIGNED, _USER_INFO) for match in pattern.finditer(text)]
    for pattern in (_SIGNED, _USER_INFO):
        text = pattern.sub(lambda match: f"{match['head']}{HIDDEN}", text)
    return text, [value for value in found if value != HIDDEN]


def _content(token: _Token) -> str:
    """What a literal or comment holds, without what it stands in."""
    width = 2 if token.kind in ("dollars", "comment") else 1
    mark = token.text[:width]
    content = token.text[width:]
    if token.kind == "comment":
        return content.removesuffix("*/") if mark == "/*" else content
    return content.removesuffix(mark)
