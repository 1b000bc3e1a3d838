"""Words: text is split the same way for pages, anchors, the words around a link, and keywords."""

import re
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise
from unicodedata import category, normalize

MAX_LENGTH = 40
MAX_DIGITS = 4

# Marks that belong to the letter before them, whether they compose with it or not, as the vowels of Devanagari.
# The ranges leave out blocks without any: Chinese, Korean, private, cuneiform and Tangut.
_MARKED = ((0x300, 0x3400), (0xA000, 0xAC00), (0xFB00, 0x12000), (0x16A00, 0x17000), (0x1B000, 0x1F000))
_SIGNS = (chr(number) for first, end in _MARKED for number in range(first, end))
_ALL = [sign for sign in _SIGNS if category(sign)[0] == "M"]


def _spans(signs: Sequence[str]) -> str:
    """Return ascending characters as ranges of a set: `re` takes ten times as long for single ones."""
    numbers = [ord(sign) for sign in signs]
    firsts = [chr(number) for before, number in pairwise([-1, *numbers]) if number > before + 1]
    lasts = [chr(number) for number, after in pairwise([*numbers, sys.maxunicode + 2]) if after > number + 1]
    return "".join(f"{first}-{last}" for first, last in zip(firsts, lasts, strict=True))


_ALL_MARKS = _spans(_ALL)
_MARKS = _spans([sign for sign in _ALL if sign < "\U00010000"])
#: A run of letters and digits in folded text, whatever its length.
# Possessive: the first character decides which part matches, and backtracking would take endless time.
WORD = re.compile(rf"[^\W_]++(?:[{_MARKS}]++[^\W_]*+)*+")
# Marks in a row beyond the 30 that are kept, as in Unicode's stream-safe text (UAX #15, section 13). To order
# them takes the square of their number.
_EXCESS = re.compile(f"([{_ALL_MARKS}]{{30}})[{_ALL_MARKS}]++")
# Where such a run may be, found many times as fast: no mark is a letter, a digit or a space. The lookbehind has
# a shorter run tried from its first character only.
_SUSPECT = re.compile(r"[^\w\s](?<![^\w\s]{2})[^\w\s]{30,}+")
# Non-ASCII characters, with up to 16 ASCII characters between two of them.
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f](?:[\x00-\x7f]{0,16}+[^\x00-\x7f])*+")
# The most common of these that are no part of a word: no-break space, dashes, quotation marks, dots.
_BETWEEN = "\u00a0\u2013\u2014\u2018\u2019\u201c\u201d\u00ab\u00bb\u00b6\u00b7\u2022\u2026"
# For text.translate: letters in lower case, digits, and a space for all else.
_ASCII = "".join(sign.lower() if sign.isalnum() else " " for sign in map(chr, range(128)))
# Invisible inside a word: soft hyphen, zero-width non-joiner and joiner.
_INVISIBLE = ("\u00ad", "\u200c", "\u200d")
_INSIDE = rf"(?:[^\W_]|[{_ALL_MARKS}{''.join(_INVISIBLE)}])"
_REST = re.compile(rf"(?<={_INSIDE}){_INSIDE}*")


def words(text: str) -> list[str]:
    """Return the words of ``text`` in order, case-folded and in normal form NFC.

    A word is a maximal run of letters (with the marks on them) and digits of any script. Left out are single
    ASCII letters, numbers of more than 4 digits and words of more than 40 characters.

    >>> words("The STRASSE and the Straße: 24 hours, 12345 a_b e-mail")
    ['the', 'strasse', 'and', 'the', 'strasse', '24', 'hours', 'mail']
    """
    runs = (text.translate(_ASCII) if text.isascii() else spaced(text)[0]).split()
    # Most are of letters alone: a call for each run would take a quarter of the time.
    return [
        run for run in runs if 1 < len(run) <= (MAX_LENGTH if run.isalpha() else MAX_DIGITS) or is_word(run)
    ]


def is_word(run: str) -> bool:
    """Return whether a run of folded letters and digits is a word, and not left out."""
    size = len(run)
    if size == 1:
        return run.isdigit() or not run.isascii()
    return size <= MAX_DIGITS or (size <= MAX_LENGTH and not run.isdigit())


def word_end(text: str, offset: int) -> int:
    """Return the end of the word that contains ``offset``; ``offset`` itself between words.

    >>> word_end("two words", 5), word_end("two words", 4)
    (9, 4)
    """
    rest = _REST.match(text, offset)
    return rest.end() if rest is not None else offset


def folded(text: str) -> str:
    """Return ``text`` case-folded, in normal form NFC, without characters that are invisible inside a word.

    Of more than 30 marks in a row the first are kept.

    >>> folded("CAFE\u0301")
    'café'
    """
    for sign in _INVISIBLE:
        text = text.replace(sign, "")
    # Folding is defined on normal forms, and may leave a letter and a mark that compose.
    found = normalize("NFC", normalize("NFC", stream_safe(text)).casefold())
    return stream_safe(found)  # a mark may have become two


def stream_safe(text: str) -> str:
    """Return ``text`` with at most 30 marks in a row, which is safe to normalise.

    >>> len(stream_safe("a" + "\u0301" * 1000))
    31
    """
    return _SUSPECT.sub(lambda found: _EXCESS.sub(r"\1", found[0]), text)


def spaced(text: str, offsets: Sequence[int] = ()) -> tuple[str, list[int]]:
    r"""Return the folded runs of letters and digits with spaces between them, and the new ``offsets``.

    The offsets are in ascending order. A word that contains one of them lies before it.

    A table makes the runs of ASCII in a third of the time of the regular expression. The expression gets only
    non-ASCII text, from one space to the next, because most text is ASCII with a dash or an accent here and
    there; a space ends a run in any normal form.

    >>> spaced("Caf\u00e9 au lait", [2, 5])
    ('  café  au lait ', [7, 8])
    """
    if not text.isascii():
        for sign in _BETWEEN:
            text = text.replace(sign, " ")
    if text.isascii():
        return f" {text.translate(_ASCII)} ", [offset + 1 for offset in offsets]
    pieces = [" "]
    places: list[int] = []
    size, done, waiting = 1, 0, deque(offsets)
    for start, end in _beyond_ascii(text):
        pieces.append(text[done:start].translate(_ASCII))
        while waiting and waiting[0] <= start:
            places.append(size + waiting.popleft() - done)
        size += start - done
        done = start
        while done < end:
            # The word that contains the next offset goes before it.
            cut = word_end(text, waiting[0]) if waiting and waiting[0] < end else end
            pieces.append(f" {' '.join(WORD.findall(folded(text[done:cut])))} ")
            size += len(pieces[-1])
            while waiting and waiting[0] <= cut:
                places.append(size)
                waiting.popleft()
            done = cut
    pieces.append(f"{text[done:].translate(_ASCII)} ")
    return "".join(pieces), places + [size + offset - done for offset in waiting]


def _beyond_ascii(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of non-ASCII text, from one space to the next."""
    done = 0
    while (beyond := _BEYOND_ASCII.search(text, done)) is not None:
        start = max(done, text.rfind(" ", done, beyond.start()))
        end = text.find(" ", beyond.end())
        done = end if end >= 0 else len(text)
        yield start, done
