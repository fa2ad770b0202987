"""XML as objects: `@` is an element's name, `$` its content, `@name` an attribute, `name` the positions of children."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,37})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_SCIENTIFIC = re.compile(r"-?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+")
_WORDS = {"true": "true", "false": "false"}
_DIGITS = 38
_DEEPEST = 200
"""Elements in elements. More of them would take the stack of whoever reads the result."""


def parse_xml(text: str, converted: str) -> str | None:
    """The text of the JSON object; None if it is no XML. Document types are refused: entities can grow without end."""
    root = _root(text)
    return None if root is None else _element(root, converted == "true")


def check_xml(text: str) -> str | None:
    """What is wrong with it; None if nothing is."""
    if "<!DOCTYPE" in text:
        return "document types are not supported"
    try:
        root = ElementTree.fromstring(text.strip())
    except ElementTree.ParseError as problem:
        return str(problem)
    return "elements are nested too deeply" if _is_deep(root) else None


def to_xml(text: str) -> str | None:
    """The XML of a JSON object that `parse_xml` made; of anything else, elements with the names of their types."""
    return _written(json.loads(text, parse_float=_fraction))


def _root(text: str) -> ElementTree.Element | None:
    if "<!DOCTYPE" in text:
        return None
    try:
        root = ElementTree.fromstring(text.strip())
    except ElementTree.ParseError:
        return None
    return None if _is_deep(root) else root


def _is_deep(root: ElementTree.Element) -> bool:
    level = [root]
    for _ in range(_DEEPEST):
        level = [child for element in level for child in element]
        if not level:
            return False
    return True


def _element(element: ElementTree.Element, converted: bool) -> str:
    contents: list[str] = []
    positions: dict[str, list[int]] = {}
    _add_text(contents, element.text, converted)
    for child in element:
        positions.setdefault(_name(child.tag), []).append(len(contents))
        contents.append(_element(child, converted))
        _add_text(contents, child.tail, converted)
    found = {name: json.dumps(where[0] if len(where) == 1 else where) for name, where in positions.items()}
    found |= {f"@{_name(key)}": _value(value, converted) for key, value in element.attrib.items()}
    found["@"] = json.dumps(_name(element.tag), ensure_ascii=False)
    found["$"] = contents[0] if len(contents) == 1 else f"[{','.join(contents)}]" if contents else '""'
    return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{found[key]}" for key in sorted(found)) + "}"


def _name(tag: str) -> str:
    """Without the address of its name space."""
    return tag.rpartition("}")[2]


def _add_text(contents: list[str], text: str | None, converted: bool) -> None:
    if text and text.strip():
        contents.append(_value(text.strip(), converted))


def _value(text: str, converted: bool) -> str:
    """A number or a truth value that prints as it was written is one; a number in scientific notation is too."""
    if converted and (text in _WORDS or _is_number(text)):
        return text
    return json.dumps(text, ensure_ascii=False)


def _is_number(text: str) -> bool:
    if _WHOLE.fullmatch(text) or _SCIENTIFIC.fullmatch(text):
        return text != "-0"
    return bool(_DECIMAL.fullmatch(text)) and sum(letter.isdigit() for letter in text) <= _DIGITS


def _written(value: object) -> str:
    """An element of XML as it was, and anything else with the names of its types."""
    if not (isinstance(value, dict) and "@" in value):
        return f"<SnowflakeData{_typed(value)}</SnowflakeData>"
    name = str(value["@"])
    attributes = "".join(
        f" {key[1:]}={quoteattr(_plain(item))}" for key, item in value.items() if key[0] == "@" and key != "@"
    )
    content = value.get("$", "")
    inner = "".join(_inside(item) for item in content) if isinstance(content, list) else _inside(content)
    return f"<{name}{attributes}>{inner}</{name}>"


def _typed(value: object) -> str:
    """What follows the name of an element: the type of its value, and the value."""
    if isinstance(value, dict):
        return ' type="OBJECT">' + "".join(f"<{key}{_typed(item)}</{key}>" for key, item in value.items())
    if isinstance(value, list):
        return ' type="ARRAY">' + "".join(f"<e{_typed(item)}</e>" for item in value)
    return f' type="{_TYPES[type(value)]}">{escape(_plain(value))}'


_TYPES: dict[type, str] = {
    str: "VARCHAR", int: "INTEGER", Decimal: "DECIMAL", float: "DOUBLE", bool: "BOOLEAN", type(None): "NULL_VALUE",
}  # fmt: skip


def _fraction(text: str) -> Decimal | float:
    return Decimal(text) if text.replace(".", "").lstrip("-").isdigit() else float(text)


def _inside(value: object) -> str:
    return _written(value) if isinstance(value, dict) else escape(_plain(value))


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.15e}"
    return str(value).lower() if isinstance(value, bool) else str(value)
