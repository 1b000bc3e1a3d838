"""Why a URL was or was not fetched: its row, and what makes its priority for each predicate."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from agents.frontier.behaviour import SitePatterns
from agents.frontier.depth import why_beyond
from agents.frontier.estimates import ordering
from agents.frontier.groups import Groups
from agents.frontier.keys import depth_of, hub_of, page_key, space_key, visit_of
from agents.frontier.ordering import Ordering, Ranks
from agents.frontier.pages import why_spent
from agents.frontier.rows import FrontierRow, FrontierShard, HubRow, PageRow, SpaceRow, VisitRow
from agents.frontier.scorer import Scorer, learned_scorer
from agents.frontier.scoring import PaperScorer
from agents.operate.inspect.record import definitions, entries, teach
from models.crowd.collaborative import crowd_contributions
from models.domain import owner
from models.frontier.shares import LEAST, WINDOW
from models.interest.linkage import Contribution, contributions, ordered
from models.lessons import lessons
from models.predicate import Predicate, parse
from models.traps import space
from models.url import host
from models.verdict import FAILED
from streams.inbox import Codec, Shard
from streams.records import Decoder, FetchOrder, RecordError
from streams.settings import FrontierSettings, Settings
from streams.topics import FETCHES, partition_of
from streams.transport.journal import Journal


class Part(msgspec.Struct, frozen=True):
    """One input of the learned policy: its value, its weight with its deviation, and what it adds."""

    name: str
    value: float
    weight: float
    deviation: float
    adds: float


@dataclass(frozen=True)
class Again:
    """When a judged page is visited again: its row, the changes a second expected, and from when it is due."""

    visit: VisitRow
    rate: float
    due: float


@dataclass
class Explanation:
    """A URL's row, and for each predicate its priority now and what makes it, the largest effect first.

    ``contributions`` are features by the paper's policies. ``inputs`` and the ``expected`` probability of a
    hit, where a page comes, are those of the learned one; so is how probable it is that one ``comes``, whose
    inputs stand under `FAILED` where it is foretold; and ``named`` is what the predicate's keywords, in its
    links and URL, add to its priority. ``spent`` is why URLs that differ in numbers only are not asked for any
    more, ``unvisited`` the URL's pattern where that has no visits and such are left out, ``beyond`` why the URL
    lies deeper than its site is worth crawling, ``standing_back`` why its owner waits for others.
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
    spent: str = ""
    unvisited: str = ""
    beyond: str = ""
    standing_back: str = ""


def explain(settings: Settings, url: str) -> Explanation | None:
    """Return what is known of a canonical URL; None when the crawl never met it.

    ``settings.frontier.rule`` is the crawl's.
    """
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        return _explained(journal, settings, url)


def _explained(journal: Journal, settings: Settings, url: str) -> Explanation | None:
    frontier = journal.table("frontier")
    partition = partition_of(host(url), len(frontier))
    codec: Codec[FrontierRow] = Codec(FrontierRow)
    shard: FrontierShard = Shard(partition, "explain", frontier[partition], codec, 10_000)
    row = shard.get(page_key(url))
    if not isinstance(row, PageRow):
        return None
    found = Explanation(
        row, hub_of(shard, url), _again(settings, shard, row), spent=_spent(settings, shard, url)
    )
    if settings.frontier.depth:
        found.beyond = why_beyond(row, depth_of(shard, host(url)), settings.frontier)
    predicates = {each.name: parse(each.expression) for each in definitions(journal)}
    found.standing_back = why_standing_back(journal, url, settings.frontier)
    patterns = _patterns(settings, shard, url)
    if patterns is not None and settings.frontier.visited_patterns_only:
        found.unvisited = patterns.unvisited(url)
    importance = ordering(settings.frontier, patterns)
    if importance is not None:
        _by_ordering(found, importance, shard, predicates)
    elif settings.frontier.rule == "learned":
        _by_learned(journal, found, settings, shard, predicates, patterns if settings.patterns else None)
    else:
        _by_paper(journal, found, settings, shard, predicates)
    return found


def _again(settings: Settings, shard: FrontierShard, row: PageRow) -> Again | None:
    """Return when a page is visited again, None where it is not."""
    visit = visit_of(shard, row.url)
    if visit is None or row.state != "judged":
        return None
    groups = Groups(settings.revisit)
    known = groups.estimate(shard, visit)
    return Again(visit, known.rate, groups.due(visit, known))


def _patterns(settings: Settings, shard: FrontierShard, url: str) -> SitePatterns | None:
    """Return the patterns of a URL's site, None where the crawl makes none."""
    if not settings.behaviour:
        return None
    patterns = SitePatterns(settings.frontier.ways)
    patterns.mine_now(shard, host(url))
    return patterns


def _spent(settings: Settings, shard: FrontierShard, url: str) -> str:
    name = space(url)
    row = shard.get(space_key(name)) if name is not None and settings.frontier.traps else None
    return why_spent(row, settings.frontier) if isinstance(row, SpaceRow) else ""


def _taught(scorer: Scorer, journal: Journal, predicates: Mapping[str, Predicate]) -> None:
    for name, predicate in predicates.items():
        scorer.add_predicate(name, predicate.topic, predicate.phrases)
    teach(scorer, journal)


def _by_ordering(
    found: Explanation, importance: Ordering, shard: FrontierShard, predicates: Mapping[str, Predicate]
) -> None:
    importance.open(shard)
    for name in sorted(predicates):
        found.priorities[name] = importance.value(shard, found.row, predicates[name].topic)


def _by_paper(
    journal: Journal,
    found: Explanation,
    settings: Settings,
    shard: FrontierShard,
    predicates: Mapping[str, Predicate],
) -> None:
    known = lessons(settings.frontier.rule)
    scorer = PaperScorer(settings.learn, known, drift=0)
    _taught(scorer, journal, predicates)
    for predicate in sorted(predicates):
        weights = scorer.weights(predicate)
        parts: list[Contribution] = []
        if known.links:
            parts += contributions(scorer.evidence(shard, found.row, predicate), weights)
        if known.users:
            parts += crowd_contributions(scorer.crowd(shard, found.row, predicate), weights)
        found.contributions[predicate] = ordered(parts)
        found.priorities[predicate] = scorer.priority(shard, found.row, predicate)


def _by_learned(
    journal: Journal,
    found: Explanation,
    settings: Settings,
    shard: FrontierShard,
    predicates: Mapping[str, Predicate],
    patterns: SitePatterns | None,
) -> None:
    ranks = Ranks() if settings.importance else None
    if ranks is not None:
        ranks.open(shard)
    scorer = learned_scorer(settings.learn, ranks, patterns)
    _taught(scorer, journal, predicates)
    found.comes = scorer.comes(None)
    for predicate in (*((FAILED,) if scorer.foretells else ()), *sorted(predicates)):
        known = scorer.known(predicate)
        values = found.row.inputs.get(predicate) or scorer.inputs(shard, found.row, predicate)
        weights, deviations = known.mean.tolist(), known.covariance.diagonal() ** 0.5
        rows = zip(scorer.names, values, weights, deviations.tolist(), strict=True)
        parts = [Part(*row, adds=row[1] * row[2]) for row in rows]
        found.inputs[predicate] = sorted(parts, key=lambda part: -abs(part.adds))
        if predicate == FAILED:
            found.comes = scorer.comes(values)
            continue
        found.priorities[predicate] = scorer.priorities(shard, [found.row], (predicate,))[0][predicate]
        found.expected[predicate] = scorer.expected(values, predicate)
        found.named[predicate] = scorer.named(shard, found.row, predicate)


def why_standing_back(journal: Journal, url: str, settings: FrontierSettings) -> str:
    """Return why a URL's owner stands back for others; empty where it does not, as far as names tell."""
    orders = sorted(_latest(journal), key=lambda order: order.lease)[-WINDOW:]
    own = owner(host(url))
    of_owner = [order for order in orders if owner(host(order.url)) == own]
    share = max(settings.domain_share, max((order.vouched or 0.0 for order in of_owner[-1:]), default=0.0))
    if len(of_owner) <= share * max(LEAST, len(orders)):
        return ""
    return (
        f"{own} had {len(of_owner)} of the latest {len(orders)} fetches; above {share:.0%} it is held back "
        "for others worth at least a third as much (frontier.domain_share)"
    )


def _latest(journal: Journal) -> list[FetchOrder]:
    decode, found = Decoder[FetchOrder](FetchOrder), []
    for partition in range(journal.partitions(FETCHES.name)):
        start = max(journal.start(FETCHES.name, partition), journal.end(FETCHES.name, partition) - WINDOW)
        for entry in entries(journal, FETCHES.name, partition, start):
            with suppress(RecordError):
                found.append(decode(entry.value or b""))
    return found
