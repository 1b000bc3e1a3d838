"""Why a URL was or was not fetched: its row, and what makes its priority for each predicate."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from scentline.models.frontier.depth import why_beyond
from scentline.models.frontier.fairness import Shares
from scentline.models.frontier.freshness import Groups, groups_of
from scentline.models.frontier.keys import ALIKE_PREFIX, Rows, depth_of, hub_of, page_key, parents_of, visit_of
from scentline.models.frontier.linking import ParentRow, place_in
from scentline.models.frontier.pages import why_spent
from scentline.models.frontier.rendering import outlook_of, whether_rendered
from scentline.models.frontier.rows import HostRow, HubRow, PageRow, VisitRow
from scentline.models.frontier.steered import Steered, descends
from scentline.models.lessons import lessons
from scentline.models.page import FAILED, Verdict
from scentline.models.policy.candidate import IN_LINKS, LinkWords, url_words
from scentline.models.policy.estimates import SitePatterns
from scentline.models.policy.features import ANCHOR, BASE, CONTEXT, HEADING, PAGE_WORD, URL_WORD, region, user
from scentline.models.policy.inputs import NAMES
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.priorities import OrderedScorer, Priorities, Scorer
from scentline.models.policy.scoring import PaperScorer, crowd_of
from scentline.models.policy.speaking import Features, features
from scentline.models.policy.vocabulary import WORDS
from scentline.models.policy.weights import Contribution, crowd_contributions, ordered, weights_of
from scentline.models.published import Exclusion
from scentline.models.settings import CrawlSettings, LearnSettings
from scentline.models.traps import space
from scentline.models.url import host, identifier, owner

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

    ``adds`` is its part of what the inputs of such words add to the logit of a hit, before clipping.
    """

    word: str
    where: Where
    pages: int
    hits: int
    adds: float


class _Place(NamedTuple):
    """Words of one place: their kind, and the inputs that weigh them as that kind and as page words."""

    where: Where
    kind: str
    by_kind: str | None
    by_page: str | None


_INSIDE = _Place("in a link", ANCHOR, "anchor words as anchors", "anchor words as page words")
_AROUND = _Place("around a link", CONTEXT, "context words as context", "context words as page words")
_ABOVE = _Place("above a link", HEADING, "heading words as headings", "heading words as page words")
_PAGE = _Place("on a linking page", PAGE_WORD, None, "parent page")
_URL = _Place("in the URL", URL_WORD, "URL words as URL words", "URL words as page words")


class Part(msgspec.Struct, frozen=True):
    """One input of the learned policy: its value, its weight with its deviation, and what it adds."""

    name: str
    value: float
    weight: float
    deviation: float
    adds: float


@dataclass(frozen=True)
class Again:
    """The next visit of a judged page: its row, the expected changes a second, and when it is due."""

    visit: VisitRow
    rate: float
    due: float


@dataclass
class Explanation:
    """A URL's row, and for each predicate its priority now and what makes it, the largest effect first.

    Under the learned policy, ``inputs`` make the ``expected`` probability of a hit if a page ``comes`` (whose
    inputs are under `FAILED`), ``named`` is what the predicate's keywords add, ``words`` are the words that
    count, and ``contributions`` are only for comparison. Under the paper's policies these are the features.
    ``belief`` is the part of the probability believed of the owners of ``linking`` pages. ``spent``,
    ``excluded``, ``unvisited``, ``beyond`` and ``standing_back`` say what keeps it from being fetched,
    ``rendering`` whether it is rendered.
    """

    row: PageRow
    hub: HubRow | None = None
    again: "Again | None" = None
    priorities: dict[str, float] = field(default_factory=dict)
    contributions: dict[str, list[Contribution]] = field(default_factory=dict)
    inputs: dict[str, list[Part]] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)
    named: dict[str, float] = field(default_factory=dict)
    comes: float | None = None
    belief: float = 1.0
    spent: str = ""
    excluded: Exclusion | None = None
    unvisited: str = ""
    beyond: str = ""
    standing_back: str = ""
    rendering: str = ""
    linking: list[Linking] = field(default_factory=list)
    words: dict[str, list[Counting]] = field(default_factory=dict)


@dataclass(frozen=True)
class Explainer:
    """Explains a URL by all that a frontier knows; ``shard_of`` returns None for a URL of another worker.

    ``shares`` are those of the latest fetches of a running crawl.
    """

    settings: CrawlSettings
    shard_of: Callable[[str], Rows | None]
    scorer: Scorer
    priorities: Priorities
    predicates: Collection[str]
    steered: Steered
    patterns: SitePatterns | None = None
    shares: Shares | None = None

    def explain(self, url: str) -> Explanation | None:
        """Return what is known of a canonical URL; None if it was never seen here."""
        shard, frontier = self.shard_of(url), self.settings.frontier
        row = None if shard is None else shard.get(page_key(url))
        if shard is None or not isinstance(row, PageRow):
            return None
        found = Explanation(
            row,
            hub_of(shard, url),
            _again(self.settings, shard, row),
            spent=_spent(self.settings, shard, url),
            excluded=self.steered.excludes(url),
            linking=linking_pages(shard, row),
            standing_back=self._standing_back(host(url)),
        )
        pages, groups = self.settings.render.pages, groups_of(shard, url)
        # A command that reads a crawl's directory may not have its settings: what was counted tells.
        if pages == "where-needed" or (pages == "never" and any(group.needs for _, group in groups)):
            found.rendering = whether_rendered(row, outlook_of(shard, url))
        if frontier.depth:
            found.beyond = why_beyond(row, depth_of(shard, host(url)), frontier)
        by_paper = frontier.candidates == "paper"
        if by_paper and not row.seed and not descends(row, lessons(frontier.rule)):
            found.beyond = f"{frontier.rule} has no such candidate (frontier.candidates)"
        if self.patterns is not None and frontier.visited_patterns_only:
            found.unvisited = self.patterns.unvisited(url)
        self._add_scores(found, shard)
        return found

    def features(self, predicate: str, kind: str = "", side: str = "for") -> Features | None:
        """Return what was learned about a predicate, or by `FAILED` about failed requests; None if unknown."""
        of_requests = predicate == FAILED and isinstance(self.scorer, LearnedScorer)
        if predicate not in self.predicates and not of_requests:
            return None
        return features(self.scorer, self.settings.learn, predicate, kind, against=side == "against")

    def _add_scores(self, found: Explanation, shard: Rows) -> None:
        predicates, scorer = sorted(self.predicates), self.scorer
        if isinstance(scorer, LearnedScorer):
            _by_learned(found, shard, scorer, predicates, self.settings.learn)
        elif isinstance(scorer, PaperScorer) and not isinstance(scorer, OrderedScorer):
            for predicate in predicates:
                found.contributions[predicate] = scorer.contributions(shard, found.row, predicate)
        found.priorities = self.priorities.of(shard, [found.row], predicates)[0]
        if self.settings.frontier.rule == "learned" and self.priorities.promises is not None:
            found.belief = self.priorities.promises.belief(shard, found.row)

    def _standing_back(self, name: str) -> str:
        if self.shares is None or not self.shares.handicap(name):
            return ""
        return (
            f"{owner(name)} had more than its share of the latest fetches: it is held back for others worth at "
            "least a third as much (frontier.domain_share)"
        )


def _again(settings: CrawlSettings, shard: Rows, row: PageRow) -> Again | None:
    visit = visit_of(shard, row.url)
    if visit is None or row.state != "judged":
        return None
    groups = Groups(settings.revisit)
    known = groups.estimate(shard, visit)
    return Again(visit, known.rate, groups.due(visit, known))


def _spent(settings: CrawlSettings, shard: Rows, url: str) -> str:
    name = space(url)
    row = shard.get(ALIKE_PREFIX + name) if name is not None and settings.frontier.traps else None
    return why_spent(row, settings.frontier) if isinstance(row, HostRow) else ""


def _by_learned(
    found: Explanation, shard: Rows, scorer: LearnedScorer, predicates: Sequence[str], settings: LearnSettings
) -> None:
    found.comes = scorer.comes(None)
    for predicate in (*((FAILED,) if scorer.foretells else ()), *predicates):
        known = scorer.known(predicate)
        values = found.row.inputs.get(predicate) or scorer.inputs(shard, found.row, predicate)
        weights, deviations = known.mean.tolist(), known.covariance.diagonal() ** 0.5
        rows = zip(scorer.names, values, weights, deviations.tolist(), strict=True)
        parts = [Part(*row, adds=row[1] * row[2]) for row in rows]
        found.inputs[predicate] = sorted(parts, key=lambda part: -abs(part.adds))
        if predicate == FAILED:
            found.comes = scorer.comes(values)
            continue
        found.expected[predicate] = scorer.expected(values, predicate)
        found.named[predicate] = scorer.named(shard, found.row, predicate)
        found.words[predicate] = counting_words(scorer, shard, found.row, predicate)
        crowd = crowd_of(shard, found.row, predicate)
        names = (BASE, region(predicate), *map(user, crowd.visitors))
        ratios = weights_of(predicate, scorer.ledger, names, settings.t, settings.significance)
        found.contributions[predicate] = ordered(crowd_contributions(crowd, ratios))


def linking_pages(shard: Rows, row: PageRow) -> list[Linking]:
    """Return the kept pages that link to a URL and whose rows have the link."""
    return [
        Linking(parent.url, parent.verdict, parent.positions[place], *map(tuple, words))
        for parent, place, words in _links(shard, row)
    ]


def _links(shard: Rows, row: PageRow) -> Iterator[tuple[ParentRow, int, LinkWords]]:
    """Yield the linking pages that count, with the place of the link among theirs, and its words."""
    target = identifier(row.url)
    for parent in parents_of(shard, row.parents[:IN_LINKS]):
        place = place_in(parent.targets, target)
        if place is not None:
            yield parent, place, parent.words_at((place,))[0]


def counting_words(scorer: LearnedScorer, shard: Rows, row: PageRow, predicate: str) -> list[Counting]:
    """Return the words that count for a URL under a predicate, the largest effect first."""
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


def _groups(shard: Rows, row: PageRow) -> Iterator[tuple[Sequence[str], _Place, float]]:
    """Yield distinct words that stand together, their place, and the scale of each word."""
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
    """Return what each word adds by itself, before the scale of its group."""
    lifts = scorer.known(predicate).words
    numbers = lifts.vocabulary.words(words)
    weights = lifts.by_word[numbers]
    as_kind = mean[place.by_kind] if place.by_kind else 0.0
    as_page = mean[place.by_page] if place.by_page else 0.0
    found: list[float] = (
        as_kind * weights[:, WORDS[place.kind]] + as_page * weights[:, WORDS[PAGE_WORD]]
    ).tolist()
    return found
