"""The pages that link to a URL, and what each word in and around their links, and in the URL, counts for it."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from scentline.agents.frontier.keys import parent_of
from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.rows import FrontierShard, PageRow, ParentRow, place_in
from scentline.models.interest.features import ANCHOR, CONTEXT, HEADING, PAGE_WORD, URL_WORD
from scentline.models.learner.candidate import url_words
from scentline.models.learner.inputs import NAMES
from scentline.models.learner.lessons import IN_LINKS, LinkWords
from scentline.models.learner.words import WORDS
from scentline.models.url import identifier
from scentline.models.verdict import Verdict

#: Where a word stands.
Where: TypeAlias = Literal["in a link", "around a link", "above a link", "on a linking page", "in the URL"]


class Linking(msgspec.Struct, frozen=True):
    """A judged page that links to a URL: its verdict, the place of the link in it, and the words there."""

    url: str
    verdict: Verdict
    position: int
    inside: tuple[str, ...]
    around: tuple[str, ...]
    above: tuple[str, ...]


class Counting(msgspec.Struct, frozen=True):
    """A word that counts: where it stands, the judged pages that had it there and the hits among them.

    ``adds`` is its part of what the inputs made of such words add to the logit of a hit, before their bounds.
    """

    word: str
    where: Where
    pages: int
    hits: int
    adds: float


class _Place(NamedTuple):
    """Words of one place: what they are counted as, and the inputs that weigh them so and as page words."""

    where: Where
    kind: str
    by_kind: str | None
    by_page: str | None


_INSIDE = _Place("in a link", ANCHOR, "anchor words as anchors", "anchor words as page words")
_AROUND = _Place("around a link", CONTEXT, "context words as context", "context words as page words")
_ABOVE = _Place("above a link", HEADING, "heading words as headings", "heading words as page words")
_PAGE = _Place("on a linking page", PAGE_WORD, None, "parent page")
_URL = _Place("in the URL", URL_WORD, "URL words as URL words", "URL words as page words")


def linking_pages(shard: FrontierShard, row: PageRow) -> list[Linking]:
    """Return the pages that link to a URL, those that are kept of them and tell of the link."""
    return [
        Linking(parent.url, parent.verdict, parent.positions[place], *map(tuple, words))
        for parent, place, words in _links(shard, row)
    ]


def _links(shard: FrontierShard, row: PageRow) -> Iterator[tuple[ParentRow, int, LinkWords]]:
    """Yield the linking pages that count, with the place of the link among theirs, and its words."""
    target = identifier(row.url)
    for name in row.parents[:IN_LINKS]:
        parent = parent_of(shard, name)
        place = place_in(parent.targets, target)
        if place is not None:
            yield parent, place, parent.words_at(place)


def counting_words(scorer: LearnedScorer, shard: FrontierShard, row: PageRow, predicate: str) -> list[Counting]:
    """Return the words that count for a URL by a predicate, those that add or take most first."""
    found: dict[tuple[str, _Place], float] = {}
    mean = dict(zip(NAMES, scorer.known(predicate).mean.tolist(), strict=False))
    for words, place, scale in _groups(shard, row):
        for word, adds in zip(words, _added(scorer, predicate, words, place, mean), strict=True):
            found[word, place] = found.get((word, place), 0.0) + scale * adds
    ordered = sorted(found.items(), key=lambda entry: (-abs(entry[1]), entry[0]))
    return [
        Counting(word, place.where, *scorer.ledger.get(place.kind + word, predicate), adds)
        for (word, place), adds in ordered
        if adds
    ]


def _groups(shard: FrontierShard, row: PageRow) -> Iterator[tuple[Sequence[str], _Place, float]]:
    """Yield distinct words that stand together, and what each of them is multiplied by."""
    links = list(_links(shard, row))
    for parent, _, words in links:
        for place, group in zip((_INSIDE, _AROUND, _ABOVE), words, strict=True):
            yield group, place, 1 / math.sqrt(len(links) * max(1, len(group)))
        on_page = parent.text.split()
        yield on_page, _PAGE, 1 / (math.sqrt(len(links)) * max(1, len(on_page)))
    of_url = url_words(row.url)
    yield of_url, _URL, 1 / math.sqrt(max(1, len(of_url)))


def _added(
    scorer: LearnedScorer, predicate: str, words: Sequence[str], place: _Place, mean: dict[str, float]
) -> list[float]:
    """Return what each of some words adds by itself, before it is shared with those beside it."""
    lifts = scorer.known(predicate).knowledge.words
    numbers = lifts.vocabulary.words(words)
    weights = lifts.by_word[numbers]
    as_kind = mean[place.by_kind] if place.by_kind else 0.0
    as_page = mean[place.by_page] if place.by_page else 0.0
    found: list[float] = (
        as_kind * weights[:, WORDS[place.kind]] + as_page * weights[:, WORDS[PAGE_WORD]]
    ).tolist()
    return found
