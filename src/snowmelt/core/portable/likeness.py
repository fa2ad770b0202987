"""How alike two texts are."""

from __future__ import annotations

_SCALE = 0.1


def jarowinkler(one: str, other: str) -> str:
    """The similarity by Jaro and Winkler in percent, whatever the case of letters.

    Snowflake's documented values are those of a common beginning of any length, where Winkler counts four letters.
    """
    left, right = one.lower(), other.lower()
    if not left or not right:
        return "0"
    common, swapped = _common(left, right)
    if not common:
        return "0"
    alike = (common / len(left) + common / len(right) + (common - swapped // 2) / common) / 3
    beginning = next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    return str(int(100 * min(alike + min(beginning * _SCALE, 1) * (1 - alike), 1) + 1e-9))


def _common(left: str, right: str) -> tuple[int, int]:
    """How many letters both have near the same position, and how many of them are in another order."""
    near = max(max(len(left), len(right)) // 2 - 1, 0)
    taken = bytearray(len(right))
    mine: list[str] = []
    for position, letter in enumerate(left):
        for found in range(max(position - near, 0), min(position + near + 1, len(right))):
            if not taken[found] and right[found] == letter:
                taken[found] = 1
                mine.append(letter)
                break
    theirs = [letter for letter, used in zip(right, taken, strict=True) if used]
    return len(mine), sum(a != b for a, b in zip(mine, theirs, strict=True))
