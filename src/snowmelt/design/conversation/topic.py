"""What may be asked: when it is open, how it is asked, and what an answer does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from snowmelt.design.conversation.state import Asked, Conversation


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    open: Callable[[Conversation], Iterable[str]]
    """What it is open for, such as tables without columns; the empty text where it is about the whole."""
    ask: Callable[[Conversation, str], Asked]
    take: Callable[[Conversation, str, str], dict[str, Any]]
    """The requirements with an answer in them. Raises NotUnderstoodError, or ValueError for what does not fit."""
    of_parts: bool = False
    """Whether it is always about one source, table or sink, so that it can't be asked before there is one."""
