"""How words sound."""

from __future__ import annotations

_SOUNDS = {
    letter: digit
    for digit, letters in {"1": "BFPV", "2": "CGJKQSXZ", "3": "DT", "4": "L", "5": "MN", "6": "R"}.items()
    for letter in letters
}


def soundex_p123(text: str) -> str:
    """Like SOUNDEX, but the first letter's code stays where the second letter has the same."""
    letters = [letter for letter in text.upper() if "A" <= letter <= "Z"]
    if not letters:
        return ""
    code, last = letters[0], ""
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter, "")
        if sound and sound != last:
            code += sound
        if letter not in "HW":
            last = sound
    return code[:4].ljust(4, "0")
