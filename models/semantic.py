"""A table of word-piece vectors: the vectors of texts that it gives, and the file it is.

Text is cut into the word pieces of a BERT vocabulary (WordPiece, uncased; Wu et al. 2016, section 4.1). The
file is a line that names the table, a checksum, then MessagePack.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from unicodedata import category, normalize
from urllib.parse import unquote

import msgspec
import numpy as np
import numpy.typing as npt

from scentline.models.errors import ScentlineError
from scentline.models.policy.combiner import BayesianLogisticRegression
from scentline.models.policy.inputs import INPUTS, MOST, Input
from scentline.models.words import stream_safe, words

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


Vector = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.int8]
Scales = npt.NDArray[np.float32]

#: Texts whose vectors are kept in memory: about 15 MB of them.
CACHED = 20_000
#: Signs of a text that are looked at; the rest is passed over.
MOST_TEXT = 2_000


class SemanticTable:
    """Vectors of word pieces: a row of ``vectors`` for each of ``pieces``, times its number in ``scales``.

    Shapes: vectors (pieces, size), scales (pieces,). The pieces are those of a BERT vocabulary, in lower case,
    without its special ones.

    >>> table = SemanticTable(["ski", "snow"], np.array([[3, 0], [0, 2]], np.int8), np.ones(2, np.float32))
    >>> table.vector("Ski, snow, snow!").tolist()
    [0.6, 0.8]
    """

    def __init__(self, pieces: Sequence[str], vectors: Bytes, scales: Scales) -> None:
        self.pieces = tuple(pieces)
        self.vectors = vectors
        self.scales = scales
        self._numbers = {piece: number for number, piece in enumerate(self.pieces)}
        self._known: dict[str, Vector] = {}

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        return int(self.vectors.shape[1])

    def vector(self, text: str) -> Vector:
        """Return the sum of the vectors of the text's pieces as a unit vector; zeros where it has none.

        The array is read-only: it is cached.
        """
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= CACHED:
                self._known.clear()
            known = self._known[text] = self._sum(text[:MOST_TEXT])
            known.flags.writeable = False
        return known

    def _sum(self, text: str) -> Vector:
        numbers = piece_numbers(text, self._numbers)
        rows = self.vectors[numbers].astype(np.float64)
        total: Vector = (rows * self.scales[numbers, np.newaxis]).sum(axis=0)
        length = float(np.sqrt(np.square(total).sum()))
        return total / length if length else total


#: What a file begins with; the number is the format's version.
NAME, VERSION = b"scentline semantic table ", b"1\n"
#: Bounds of a file, of its pieces and of the numbers in a vector.
MOST_BYTES = 64_000_000
MOST_PIECES = 300_000
MOST_SIZE = 1_024

_CHECKSUM = sha256().digest_size


class SemanticTableError(ScentlineError, ValueError):
    """Bytes that are no table; the text says why."""


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pieces: list[str]
    size: int
    vectors: bytes
    scales: bytes


def pack(table: SemanticTable) -> bytes:
    """Return the bytes of a table: the same for an equal one."""
    scales = table.scales.astype("<f4").tobytes()
    body = msgspec.msgpack.encode(
        _Stored(list(table.pieces), table.size, table.vectors.astype(np.int8).tobytes(), scales)
    )
    return NAME + VERSION + sha256(body).digest() + body


def unpack(data: bytes) -> SemanticTable:
    """Return the table of bytes that `pack` returned.

    Raises `SemanticTableError` for any others, before memory is taken for more than they hold.
    """
    if len(data) > MOST_BYTES:
        raise SemanticTableError(f"semantic table: {len(data)} bytes, expected at most {MOST_BYTES}")
    if not data.startswith(NAME):
        raise SemanticTableError(f"semantic table: begins with {data[:16]!r}, expected {NAME!r}")
    body = memoryview(data)[len(NAME) :]
    if body[: len(VERSION)] != VERSION:
        found = bytes(body[: len(VERSION)])
        raise SemanticTableError(f"semantic table: of version {found!r}, expected {VERSION!r}")
    checksum, body = body[len(VERSION) :][:_CHECKSUM], body[len(VERSION) + _CHECKSUM :]
    if sha256(body).digest() != checksum:
        raise SemanticTableError("semantic table: its checksum is wrong; the file is damaged or cut short")
    try:
        stored = msgspec.msgpack.decode(body, type=_Stored)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SemanticTableError(f"semantic table: {error}") from error
    return _checked(stored)


def _checked(stored: _Stored) -> SemanticTable:
    pieces, size = len(stored.pieces), stored.size
    for name, number, most in (("pieces", pieces, MOST_PIECES), ("numbers in a vector", size, MOST_SIZE)):
        if not 1 <= number <= most:
            raise SemanticTableError(f"semantic table: {number} {name}, expected 1 to {most}")
    if len(set(stored.pieces)) != pieces:
        raise SemanticTableError("semantic table: a piece occurs twice, expected each once")
    for name, data, expected in (
        ("vectors", stored.vectors, pieces * size),
        ("scales", stored.scales, 4 * pieces),
    ):
        if len(data) != expected:
            raise SemanticTableError(f"semantic table: {len(data)} bytes of {name}, expected {expected}")
    scales = np.frombuffer(stored.scales, "<f4").astype(np.float32)
    if not bool(np.all(np.isfinite(scales) & (scales > 0))):
        raise SemanticTableError("semantic table: a scale is not a positive number")
    vectors = np.frombuffer(stored.vectors, np.int8).reshape(pieces, size)
    return SemanticTable(stored.pieces, vectors, scales)


#: The inputs beside those of `models.policy.inputs.INPUTS`.
SEMANTIC_INPUTS = (
    Input("meaning", 0.15, 0.25),
    Input("near in meaning", 0.15, 0.25),
    Input("meaning of the predicate's words", 0.15, 0.25),
)

#: Words of a fetched page's subject at most.
MOST_WORDS = 20
#: Judged pages that the kernel average looks at: the first of a crawl.
MOST_JUDGED = 4_096
#: Mean of the regression's bias before the first page, and deviation of all its weights.
BIAS, DEVIATION = -2.0, 4.0
#: Of the kernel exp((cos - MIDDLE) / WIDTH), and its largest exponent.
MIDDLE, WIDTH, STEEPEST = 0.5, 0.08, 5.0
#: The cosine of words that have nothing in common, and what it varies by.
UNLIKE, SPREAD = 0.15, 0.15

_ENDING = re.compile(r"\.[A-Za-z]{1,5}$")


def subject(url: str, anchors: Iterable[str]) -> str:
    """Return the text that says what a page is about before it is fetched: its URL's last segment and anchors.

    Each of them counts once.

    >>> subject("http://example.org/wp/British_Rail.html?class=66", ["trains", "british rail", "trains"])
    'british rail trains'
    """
    segments = [segment for segment in url.split("/", 3)[3].partition("?")[0].split("/") if segment]
    last = " ".join(words(unquote(_ENDING.sub("", segments[-1])))) if segments else ""
    return " ".join(dict.fromkeys(text for text in (last, *anchors) if text))


def page_subject(url: str, title: str) -> str:
    """Return the text that says what a fetched page is about: its URL's last segment and its title, cut short.

    >>> page_subject("http://example.org/wp/British_Rail.html", "British Rail: a history")
    'british rail british rail history'
    >>> page_subject("http://example.org/wp/British_Rail.html", "British Rail")
    'british rail'
    """
    return " ".join(subject(url, (" ".join(words(title)),)).split()[:MOST_WORDS])


def inputs_with(meaning: bool) -> tuple[Input, ...]:
    """Return the learned policy's inputs, with those of ``meaning`` at their end."""
    return (*INPUTS, *SEMANTIC_INPUTS) if meaning else INPUTS


class Sense:
    """A candidate's vector, a unit vector or zeros, and what the kernel average has seen of the judged pages.

    The average is kept up: of the first ``pages`` judged pages, ``weight`` and ``hits`` are the sums.
    """

    __slots__ = ("blank", "hits", "pages", "vector", "weight")

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.blank = not vector.any()
        self.pages = 0
        self.weight = self.hits = 0.0


class Meaning:
    """What one predicate's verdicts say about meaning, from a table of vectors.

    Three inputs of a candidate with the vector e, each within +-4, and 0 where e is zeros: the logit of a
    Bayesian logistic regression on [e, 1] less that of the base rate p; ln((sum k y + p) / (sum k + 1) / p)
    over the verdicts y, k = exp((cos - .5) / .08), at most exp 5; (cos(e, the predicate's words) - .15) / .15,
    0 for a predicate without words.
    """

    def __init__(self, table: SemanticTable, topic: Iterable[str] = ()) -> None:
        self.table = table
        self._wanted = table.vector(" ".join(topic))
        self._asked = bool(self._wanted.any())
        prior = np.zeros(table.size + 1)
        prior[-1] = BIAS
        self._model = BayesianLogisticRegression(prior, np.eye(len(prior)) * DEVIATION**2, drift=0.0)
        self._vectors: Vector = np.zeros((64, table.size))
        self._verdicts: Vector = np.zeros(64)
        self._judged = 0

    def learn(self, vector: Vector, holds: bool) -> None:
        """Absorb the verdict on a page of this vector."""
        if not vector.any():
            return
        self._model.learn(np.append(vector, 1.0), holds)
        if self._judged == MOST_JUDGED:
            return
        if self._judged == len(self._verdicts):
            self._vectors = np.concatenate((self._vectors, np.zeros_like(self._vectors)))
            self._verdicts = np.concatenate((self._verdicts, np.zeros_like(self._verdicts)))
        self._vectors[self._judged] = vector
        self._verdicts[self._judged] = holds
        self._judged += 1

    def inputs(self, senses: Sequence[Sense], rate: float) -> Vector:
        """Return the inputs of distinct candidates at the base rate ``rate``, shape (candidates, 3)."""
        self._look(senses)
        vectors = np.array([sense.vector for sense in senses])
        weight = np.array([sense.weight for sense in senses])
        hits = np.array([sense.hits for sense in senses])
        mean = self._model.mean
        found = np.zeros((len(senses), len(SEMANTIC_INPUTS)))
        found[:, 0] = vectors.dot(mean[:-1]) + (mean[-1] - math.log(rate / (1 - rate)))
        found[:, 1] = np.log((hits + rate) / (weight + 1) / rate)
        if self._asked:
            found[:, 2] = (vectors.dot(self._wanted) - UNLIKE) / SPREAD
        found[~vectors.any(axis=1)] = 0.0
        clipped: Vector = np.minimum(MOST, np.maximum(-MOST, found))
        return clipped

    def _look(self, senses: Iterable[Sense]) -> None:
        """Absorb the pages that were judged since; candidates that have seen as many go together."""
        behind: dict[int, list[Sense]] = {}
        for sense in senses:
            if sense.pages < self._judged:
                behind.setdefault(sense.pages, []).append(sense)
        for pages, group in behind.items():
            cosines = np.array([sense.vector for sense in group]).dot(self._vectors[pages : self._judged].T)
            kernel = _kernel(cosines)
            sums = kernel.sum(axis=1).tolist(), kernel.dot(self._verdicts[pages : self._judged]).tolist()
            for sense, weight, hits in zip(group, *sums, strict=True):
                self._add(sense, weight, hits)

    def _add(self, sense: Sense, weight: float, hits: float) -> None:
        sense.weight += weight
        sense.hits += hits
        sense.pages = self._judged


def _kernel(cosines: Vector) -> Vector:
    found: Vector = np.exp(np.minimum((cosines - MIDDLE) / WIDTH, STEEPEST))
    return found
