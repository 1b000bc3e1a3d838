"""Text cut into the word pieces of a BERT vocabulary (WordPiece, uncased; Wu et al. 2016, section 4.1)."""

from collections.abc import Mapping
from unicodedata import category, normalize

from models.words import stream_safe

#: What a piece that continues a word begins with.
INSIDE = "##"
#: Longer words have no pieces.
MOST_LETTERS = 100
# Blocks of ideographs, each of which is a word of its own.
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2FA1F))


def piece_numbers(text: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the numbers of the pieces of ``text``, in order; words that no pieces make up are left out.

    >>> vocabulary = {"ski": 0, "##ing": 1, "resort": 2, "-": 3}
    >>> piece_numbers("Skiing: a ski-resort", vocabulary)
    [0, 1, 0, 3, 2]
    """
    numbers: list[int] = []
    for word in _words(text):
        numbers += _pieces(word, vocabulary)
    return numbers


def _pieces(word: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the numbers of the longest pieces from the left; none where they do not make up the word."""
    whole = vocabulary.get(word)
    if whole is not None:
        return [whole]
    if len(word) > MOST_LETTERS:
        return []
    numbers: list[int] = []
    start = 0
    while start < len(word):
        prefix = INSIDE if start else ""
        ends = range(len(word), start, -1)
        found = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if found is None:
            return []
        numbers.append(vocabulary[prefix + word[start:found]])
        start = found
    return numbers


def _words(text: str) -> list[str]:
    """Cut text, in lower case and without accents, at white space and around each sign and ideograph."""
    lowered = text.lower()
    if lowered.isascii():
        plain = lowered
    else:
        plain = "".join(sign for sign in normalize("NFD", stream_safe(lowered)) if category(sign) != "Mn")
    if plain.isascii() and plain.replace(" ", "").isalnum():
        return plain.split()
    return "".join(_spaced(sign) for sign in plain).split()


def _spaced(sign: str) -> str:
    if sign.isalnum():
        code = ord(sign)
        alone = code > 127 and any(low <= code <= high for low, high in _IDEOGRAPHS)
        return f" {sign} " if alone else sign
    kind = category(sign)
    if kind[0] == "P" or (sign.isascii() and kind[0] == "S"):
        return f" {sign} "
    if kind[0] == "C" and not sign.isspace():
        return ""
    return " " if sign.isspace() else sign
