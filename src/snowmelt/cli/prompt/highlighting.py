"""Colours for what is being typed, which need not be whole."""

from __future__ import annotations

import re
from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from snowmelt.cli.prompt.words import FUNCTION_NAMES, KEYWORDS

STYLE = Style.from_dict(
    {
        "sql.keyword": "ansibrightblue bold", "sql.function": "ansicyan", "sql.string": "ansigreen",
        "sql.number": "ansimagenta", "sql.comment": "ansibrightblack italic", "sql.name": "ansiyellow",
        "prompt": "bold", "prompt.names": "ansicyan",
    }
)  # fmt: skip

_PIECES = re.compile(
    r"""(?P<comment>--[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<string>'(?:[^'\\]|''|\\.)*(?:'|\Z)|\$\$.*?(?:\$\$|\Z))
      | (?P<name>"(?:[^"]|"")*(?:"|\Z))
      | (?P<number>\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)
      | (?P<word>[A-Za-z_][A-Za-z0-9_$]*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class SqlLexer(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines: list[StyleAndTextTuples] = [[]]
        for match in _PIECES.finditer(document.text):
            style = _style(match)
            first, *rest = match[0].split("\n")
            lines[-1].append((style, first))
            lines.extend([(style, part)] for part in rest)
        return lambda number: lines[number] if number < len(lines) else []


def _style(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind == "word":
        word = match[0].upper()
        kind = "keyword" if word in KEYWORDS else "function" if word in FUNCTION_NAMES else "other"
    return "" if kind == "other" else f"class:sql.{kind}"
