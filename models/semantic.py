"""Tables of word-piece vectors: their files, the vectors of texts, and the inputs learned from these.

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
from scentline.models.ledger import distinct, longer
from scentline.models.policy.combiner import BayesianLogisticRegression
from scentline.models.policy.inputs import MOST, SEMANTIC_INPUTS
from scentline.models.words import stream_safe, words

#: Prefix of a piece that continues a word.
INSIDE = "##"
#: Longer words have no pieces.
MOST_LETTERS = 100
# Blocks of ideographs; each ideograph is a word.
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
    """Return the numbers of the longest pieces from the left; none if they do not make up the word."""
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
    """Split text, in lower case and without accents, at white space and around each symbol and ideograph."""
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
Places = npt.NDArray[np.intp]

#: Texts with cached vectors: about 15 MB of them.
CACHED = 20_000
#: Characters of a text that count; the rest is ignored.
MOST_TEXT = 2_000


class SemanticTable:
    """Vectors of word pieces: a row of ``vectors`` for each of ``pieces``, times its entry in ``scales``.

    Shapes: vectors (pieces, size), scales (pieces,). The pieces are those of a BERT vocabulary, in lower case,
    without its special ones.
    """

    def __init__(self, pieces: Sequence[str], vectors: Bytes, scales: Scales) -> None:
        self.pieces = tuple(pieces)
        self.vectors = vectors
        self.scales = scales
        self._scales: Vector = scales[:, np.newaxis].astype(np.float64)
        self._numbers = {piece: number for number, piece in enumerate(self.pieces)}
        self._known: dict[str, Vector] = {}

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        return int(self.vectors.shape[1])

    def vector(self, text: str) -> Vector:
        """Return the sum of the vectors of the text's pieces as a unit vector; zeros if it has none.

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
        numbers = np.array(piece_numbers(text, self._numbers), np.intp)
        rows = self.vectors.take(numbers, axis=0) * self._scales.take(numbers, axis=0)
        total: Vector = np.add.reduce(rows)
        length = math.sqrt(np.add.reduce(total * total))
        return total / length if length else total


#: The beginning of a file; the number is the format's version.
NAME, VERSION = b"scentline semantic table ", b"1\n"
#: Most bytes of a file, most pieces, and most numbers in a vector.
MOST_BYTES = 64_000_000
MOST_PIECES = 300_000
MOST_SIZE = 1_024

_CHECKSUM = sha256().digest_size


class SemanticTableError(ScentlineError, ValueError):
    """Bytes that do not hold a table; the text says why."""


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pieces: list[str]
    size: int
    vectors: bytes
    scales: bytes


def pack(table: SemanticTable) -> bytes:
    """Return the bytes of a table; equal tables have the same bytes."""
    scales = table.scales.astype("<f4").tobytes()
    body = msgspec.msgpack.encode(
        _Stored(list(table.pieces), table.size, table.vectors.astype(np.int8).tobytes(), scales)
    )
    return NAME + VERSION + sha256(body).digest() + body


def unpack(data: bytes) -> SemanticTable:
    """Return the table from the bytes of `pack`.

    Other bytes raise `SemanticTableError`; none take memory for more than they hold.
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


#: Candidates with cached vectors, and the initial room for pages and candidates.
CACHED_SENSES, ROOM = 50_000, 64
#: Most words of a fetched page's subject; most judged pages in the kernel's average, the first of a crawl.
MOST_WORDS, MOST_JUDGED = 20, 4_096
#: Prior mean of the regression's bias, and prior deviation of all its weights.
BIAS, DEVIATION = -2.0, 4.0
#: The kernel exp((cos - MIDDLE) / WIDTH), and its largest exponent.
MIDDLE, WIDTH, STEEPEST = 0.5, 0.08, 5.0
#: The cosine of unrelated words, and its spread.
UNLIKE, SPREAD = 0.15, 0.15

_ENDING = re.compile(r"\.[A-Za-z]{1,5}$")


def last_words(url: str) -> str:
    """Return the words of the last segment of a canonical URL's path, without an ending."""
    segments = [segment for segment in url.split("/", 3)[3].partition("?")[0].split("/") if segment]
    return " ".join(words(unquote(_ENDING.sub("", segments[-1])))) if segments else ""


def subjects(urls: Iterable[str], links: Iterable[Iterable[str]]) -> list[str]:
    """Return the subjects of pages before they are fetched: their URLs' `last_words` and anchors, each once.

    >>> subjects([last_words("http://example.org/wp/Rail.html")], [["trains", "rail", "trains"]])
    ['rail trains']
    """
    return [" ".join(dict.fromkeys(filter(None, (url, *said)))) for url, said in zip(urls, links, strict=True)]


def page_subject(url: str, title: str) -> str:
    """Return the subject of a fetched page: its URL's last segment and its title, cut short.

    >>> page_subject("http://example.org/wp/British_Rail.html", "British Rail: a history")
    'british rail british rail history'
    >>> page_subject("http://example.org/wp/British_Rail.html", "British Rail")
    'british rail'
    """
    return " ".join(subjects([last_words(url)], [[" ".join(words(title))]])[0].split()[:MOST_WORDS])


class _Learnt:
    """What one predicate's verdicts taught: a regression, and by judged page whether it counts, and is a hit.

    ``sums`` are the kernel's sums over these, a column per candidate.
    """

    def __init__(self, wanted: Vector, rooms: tuple[int, int]) -> None:
        self.wanted = wanted
        prior = np.zeros(len(wanted) + 1)
        prior[-1] = BIAS
        self.model = BayesianLogisticRegression(prior, np.eye(len(prior)) * DEVIATION**2, drift=0.0)
        self.told: dict[str, tuple[int, int]] = {}
        self.verdicts, self.sums = (np.zeros((2, room)) for room in rooms)

    def more(self, subject: str, pages: int, hits: int) -> list[bool]:
        """Return the verdicts on a subject's pages that were added since the last call.

        Lower counts mean that it was forgotten: what was learned from it stays.
        """
        known_pages, known_hits = self.told.get(subject, (0, 0))
        more_hits = max(0, hits - known_hits)
        if pages:
            self.told[subject] = pages, hits
        else:
            self.told.pop(subject, None)
        return [number < more_hits for number in range(max(more_hits, pages - known_pages))]


class Meanings:
    """Inputs from the meaning of candidates, learned from verdicts on a ``table`` of vectors.

    Three inputs of a candidate with the vector e, each within +-4, and 0 if e is zeros: the logit of a
    Bayesian logistic regression on [e, 1] less that of the base rate p; ln((sum k y + p) / (sum k + 1) / p)
    over the verdicts y, k = exp((cos - .5) / .08), at most exp 5; (cos(e, the predicate's words) - .15) / .15,
    0 for a predicate without words.
    """

    def __init__(self, table: SemanticTable) -> None:
        self.table = table
        self._learnt: dict[str, _Learnt] = {}
        self._pages, self._judged = np.zeros((table.size, ROOM)), 0
        # By URL a candidate's column and text; by column its vector, and the number of judged pages absorbed.
        self._columns: dict[str, tuple[int, str]] = {}
        self._vectors, self._seen = np.zeros((table.size, ROOM)), np.zeros(ROOM, np.intp)

    def add(self, predicate: str, topic: Iterable[str] = ()) -> None:
        """Start to learn from the verdicts of a predicate with these words."""
        rooms = self._pages.shape[1], self._vectors.shape[1]
        self._learnt[predicate] = _Learnt(self.table.vector(" ".join(topic)), rooms)

    def remove(self, predicate: str) -> None:
        """Forget a predicate."""
        self._learnt.pop(predicate, None)

    def hear(self, subject: str, counts: Mapping[str, tuple[int, int]]) -> None:
        """Learn from a subject's pages and hits by predicate; predicates not added are ignored."""
        vector = self.table.vector(subject)
        known = [(self._learnt[name], cell) for name, cell in counts.items() if name in self._learnt]
        told = [(learnt, learnt.more(subject, *cell)) for learnt, cell in known]
        if not vector.any():
            return
        start = self._judged
        self._judged = min(start + max((len(verdicts) for _, verdicts in told), default=0), MOST_JUDGED)
        self._pages = longer(self._pages, self._judged)
        self._pages[:, start : self._judged] = vector[:, np.newaxis]
        for learnt in self._learnt.values():
            learnt.verdicts = longer(learnt.verdicts, self._judged)
        for learnt, verdicts in told:
            for holds in verdicts:
                learnt.model.learn(np.append(vector, 1.0), holds)
            kept = verdicts[: self._judged - start]
            learnt.verdicts[0, start : start + len(kept)] = 1.0
            learnt.verdicts[1, start : start + len(kept)] = kept

    def inputs(self, texts: Sequence[tuple[str, str]], rates: Mapping[str, float]) -> Vector:
        """Return the inputs of distinct URLs with these subjects, shape (predicates, URLs, 3).

        ``rates`` are the base rates of predicates; those not added have zeros.
        """
        columns = self._taken_up(texts)
        self._look(columns)
        vectors = self._vectors[:, columns]
        found = np.zeros((len(rates), len(texts), len(SEMANTIC_INPUTS)))
        for row, (name, rate) in zip(found, rates.items(), strict=True):
            if name in self._learnt:
                learnt = self._learnt[name]
                mean, (weight, hits) = learnt.model.mean, learnt.sums[:, columns]
                row[:, 0] = mean[:-1].dot(vectors) + (mean[-1] - math.log(rate / (1 - rate)))
                row[:, 1] = np.log((hits + rate) / (weight + 1) / rate)
                if learnt.wanted.any():
                    row[:, 2] = (learnt.wanted.dot(vectors) - UNLIKE) / SPREAD
        found[:, ~vectors.any(axis=0)] = 0.0
        return np.minimum(MOST, np.maximum(-MOST, found, out=found), out=found)

    def _taken_up(self, texts: Sequence[tuple[str, str]]) -> Places:
        """Return the columns of candidates; one with a new text has absorbed no page."""
        if len(self._columns) + len(texts) > CACHED_SENSES:
            self._columns.clear()
        known = self._columns
        new = {url: text for url, text in texts if known.get(url, (0, None))[1] != text}
        if new:
            vectors = np.array([*map(self.table.vector, new.values())])  # before columns are given away
            for url, text in new.items():
                known[url] = known[url][0] if url in known else len(known), text
            columns = [known[url][0] for url in new]
            self._make_room(max(columns) + 1)
            self._vectors[:, columns], self._seen[columns] = vectors.T, 0
            for learnt in self._learnt.values():
                learnt.sums[:, columns] = 0.0
        return np.array([known[url][0] for url, _ in texts], np.intp)

    def _make_room(self, columns: int) -> None:
        if columns > self._vectors.shape[1]:
            self._vectors, self._seen = longer(self._vectors, columns), longer(self._seen, columns)
            for learnt in self._learnt.values():
                learnt.sums = longer(learnt.sums, columns)

    def _look(self, columns: Places) -> None:
        """Absorb the pages judged since; candidates that have absorbed the same number go together."""
        seen = self._seen[columns]
        for pages in distinct(seen[seen < self._judged]).tolist():
            group, fresh = columns[seen == pages], slice(pages, self._judged)
            kernel = self._pages[:, fresh].T.dot(self._vectors[:, group])
            kernel -= MIDDLE
            kernel /= WIDTH
            np.exp(np.minimum(kernel, STEEPEST, out=kernel), out=kernel)
            for learnt in self._learnt.values():
                learnt.sums[:, group] += learnt.verdicts[:, fresh].dot(kernel)
        self._seen[columns] = self._judged
