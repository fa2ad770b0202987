"""A Markdown text as a tree of its sections, with the line of everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Located:
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block of code; `words` is what follows the backticks."""

    text: str
    line: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkdownTable:
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    """With their lines."""
    line: int


@dataclass(slots=True)
class Section:
    title: str
    level: int
    line: int
    prose: list[Located] = field(default_factory=list)
    items: list[Located] = field(default_factory=list)
    """Items of its lists."""
    fences: list[Fence] = field(default_factory=list)
    tables: list[MarkdownTable] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)

    def text(self) -> str:
        return "\n\n".join(item.text for item in self.prose)


def split_front_matter(text: str) -> tuple[str, str, int] | None:
    """Front matter, body, and the number of lines before the body; None when there is no front matter."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]) + "\n", number + 1
    return None


def parse_sections(body: str, lines_before: int) -> Section:
    """The tree; its root has what stands before the first heading."""
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    root = Section("", 0, lines_before + 1)
    path = [root]
    position = 0
    while position < len(tokens):
        token = tokens[position]
        line = lines_before + (token.map[0] if token.map else 0) + 1
        if token.type == "heading_open":
            section = Section(tokens[position + 1].content.strip(), int(token.tag[1:]), line)
            while path[-1].level >= section.level:
                path.pop()
            path[-1].sections.append(section)
            path.append(section)
            position += 3
            continue
        end = _end(tokens, position)
        _add(path[-1], token, tokens[position:end], line, lines_before)
        position = end
    return root


def _end(tokens: list[Token], position: int) -> int:
    """Behind the block that begins here."""
    if tokens[position].nesting != 1:
        return position + 1
    level = tokens[position].level
    end = position + 1
    while not (tokens[end].nesting == -1 and tokens[end].level == level):
        end += 1
    return end + 1


def _add(section: Section, first: Token, block: list[Token], line: int, lines_before: int) -> None:
    if first.type == "fence":
        section.fences.append(Fence(first.content, line + 1, tuple(first.info.split())))
    elif first.type in ("bullet_list_open", "ordered_list_open"):
        section.items.extend(_items(block, lines_before))
    elif first.type == "table_open":
        section.tables.append(_table(block, line, lines_before))
    elif first.type == "paragraph_open":
        section.prose.append(Located(block[1].content, line))


def _items(block: list[Token], lines_before: int) -> Iterator[Located]:
    for token in block:
        if token.type == "inline" and token.map is not None:
            yield Located(" ".join(token.content.split()), lines_before + token.map[0] + 1)


def _table(block: list[Token], line: int, lines_before: int) -> MarkdownTable:
    rows: list[tuple[int, list[str]]] = []
    for token in block:
        if token.type == "tr_open":
            rows.append((lines_before + (token.map[0] if token.map else 0) + 1, []))
        elif token.type == "inline":
            rows[-1][1].append(token.content.strip())
    header, *others = rows
    return MarkdownTable(tuple(header[1]), tuple((number, tuple(cells)) for number, cells in others), line)
