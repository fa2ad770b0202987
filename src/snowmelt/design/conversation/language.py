"""In which language a description is written: the grammar is English, and half a sentence understood is a wrong one."""

from __future__ import annotations

from collections.abc import Sequence

from snowmelt.design.conversation.tokens import AnswerToken

_WORDS = {
    "German": "der die das den dem des und aus wir eine einer einen einem jede jeden jeder mit von nach für ist sind "
    "nicht soll sollen werden wird bitte unsere unserer unserem unser alle auf pro stunde täglich sein auch bei zum "
    "zur ich sie oder aber als wie",
    "French": "le la les des du dans pour avec chaque une est sont nous notre nos vers depuis et sur toutes tous sans "
    "par heure jour doit doivent ne pas que qui",
    "Spanish": "el los las del para cada una con desde nuestro nuestra nuestros hacia y por sin todos todas hora día "
    "debe deben que se",
    "Italian": "il gli della dei delle dal nella per ogni una con nostro nostra verso e senza tutti tutte ora giorno "
    "deve devono che di",
    "Portuguese": "o os da das dos para cada uma com do nosso nossa até por sem todos todas hora dia deve devem que",
    "Dutch": "de het een uit wij elke met van naar voor zijn niet moet moeten worden onze alle per uur dag en of ook",
}
_ENGLISH = frozenset({
    "the", "a", "an", "of", "to", "from", "in", "into", "with", "and", "or", "for", "is", "are", "be", "must", "may",
    "should", "we", "our", "every", "each", "all", "that", "which", "when", "it", "they", "by", "on", "at", "as", "not",
    "no", "have", "has", "need",
})  # fmt: skip
_ENOUGH = 2


def foreign_language(tokens: Sequence[AnswerToken]) -> str | None:
    """The language that more of its little words are from than from English; None for English and for mere names."""
    words = [token.word for token in tokens if token.kind == "word"]
    counts = {
        name: sum(word in known for word in words)
        for name, known in ((name, frozenset(listed.split()) - _ENGLISH) for name, listed in _WORDS.items())
    }
    name = max(counts, key=lambda item: counts[item])
    english = sum(word in _ENGLISH for word in words)
    return name if counts[name] >= _ENOUGH and counts[name] > english else None
