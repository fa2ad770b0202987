"""A document as blocks, and the two ways to write them. What is said is decided once, elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from snowmelt.govern.lineage.pictures import Picture, mermaid, svg


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    language: str = "sql"


@dataclass(frozen=True, slots=True)
class Drawing:
    picture: Picture


Block = Heading | Paragraph | Bullets | Grid | Code | Drawing


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    return Grid(tuple(head), tuple(tuple(row) for row in rows))


def to_markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Bullets(items, numbered):
            return "\n".join(
                f"{f'{number}.' if numbered else '-'} {item}" for number, item in enumerate(items, start=1)
            )
        case Grid(head, rows):
            lines = [head, ("---",) * len(head), *rows]
            return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)
        case Code(text, language):
            return f"```{language}\n{text}\n```"
        case Drawing(picture):
            return f"```mermaid\n{mermaid(picture)}```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def to_html(title: str, blocks: Iterable[Block]) -> str:
    """One page that needs nothing else."""
    style = files("snowmelt.govern.data_catalog").joinpath("assets", "catalog.css").read_text(encoding="utf-8")
    body = "\n".join(_html(block) for block in blocks)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style></head>\n'
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Bullets(items, numbered):
            tag = "ol" if numbered else "ul"
            return f"<{tag}>{''.join(f'<li>{escape(item)}</li>' for item in items)}</{tag}>"
        case Grid(head, rows):
            titles = "".join(f"<th>{escape(cell)}</th>" for cell in head)
            lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
            return f'<div class="scroll"><table><thead><tr>{titles}</tr></thead><tbody>\n{lines}</tbody></table></div>'
        case Code(text, _):
            return f"<pre>{escape(text)}</pre>"
        case Drawing(picture):
            return f'<div class="scroll">{svg(picture)}</div>'
