"""Why a URL was or was not fetched: its row, and what makes its priority for each predicate."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from scentline.agents.frontier.depth import why_beyond
from scentline.agents.frontier.groups import Groups
from scentline.agents.frontier.keys import depth_of, hub_of, page_key, space_key, visit_of
from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.pages import why_spent
from scentline.agents.frontier.rows import FrontierShard, HubRow, PageRow, SpaceRow, VisitRow
from scentline.agents.frontier.scope import descends
from scentline.agents.frontier.scoring import crowd_of
from scentline.agents.frontier.steered import Steered
from scentline.agents.operate.inspect.linking import Counting, Linking, counting_words, linking_pages
from scentline.agents.operate.inspect.record import entries
from scentline.agents.operate.inspect.teaching import Taught, frontier_shard
from scentline.models.domain import owner
from scentline.models.frontier.shares import LEAST, WINDOW
from scentline.models.interest.features import BASE, region, user
from scentline.models.interest.linkage import Contribution, crowd_contributions, ordered
from scentline.models.interest.weights import weights_of
from scentline.models.lessons import lessons
from scentline.models.traps import space
from scentline.models.url import host
from scentline.models.verdict import FAILED
from scentline.streams.crawl_settings import FrontierSettings, LearnSettings
from scentline.streams.published import Exclusion
from scentline.streams.records import Decoder, FetchOrder, RecordError
from scentline.streams.settings import Settings
from scentline.streams.topics import FETCHES, STEERING, partition_of
from scentline.streams.transport.journal import Journal


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

    ``contributions`` are features by the paper's policies; by the learned one what users say of it, by the same
    ratios, which decide nothing. ``inputs`` and the ``expected`` probability of a hit, where a page comes, are
    those of the learned one; so is how probable it is that one ``comes``, whose inputs stand under `FAILED`
    where it is foretold; and ``named`` is what the predicate's keywords, in its links and URL, add to its
    priority. ``spent`` is why URLs that differ in numbers only are not asked for any more, ``excluded`` by what
    people left it out, ``unvisited`` the URL's pattern where that has no visits and such are left out,
    ``beyond`` why the URL lies deeper than its site is worth crawling, or is no candidate by the paper's
    letter, ``standing_back`` why its owner waits for others. ``linking`` are the pages that link to it, of
    those that count; ``words`` are those in its URL, in and around its links and in these pages, by the learned
    policy, and ``belief`` is how far those who link to it are believed.
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
    linking: list[Linking] = field(default_factory=list)
    words: dict[str, list[Counting]] = field(default_factory=dict)


def explain(
    journal: Journal, settings: Settings, url: str, teach: Callable[[], Taught | None]
) -> Explanation | None:
    """Return what is known of a canonical URL; None when the crawl never met it.

    ``settings.frontier.rule`` is the crawl's. Of what the crawl has learned that is told which ``teach`` gives:
    where that is None, no priorities are.
    """
    shard = frontier_shard(journal, partition_of(host(url), len(journal.table("frontier"))))
    row = shard.get(page_key(url))
    if not isinstance(row, PageRow):
        return None
    found = Explanation(
        row,
        hub_of(shard, url),
        _again(settings, shard, row),
        spent=_spent(settings, shard, url),
        excluded=_excluding(journal, url),
        linking=linking_pages(shard, row),
    )
    if settings.frontier.depth:
        found.beyond = why_beyond(row, depth_of(shard, host(url)), settings.frontier)
    by_paper = settings.frontier.candidates == "paper"
    if by_paper and not row.seed and not descends(row, lessons(settings.frontier.rule)):
        found.beyond = f"{settings.frontier.rule} has no such candidate (frontier.candidates)"
    found.standing_back = why_standing_back(journal, url, settings.frontier)
    taught = teach()
    if taught is not None:
        _by_what_was_taught(found, settings, shard, taught)
    return found


def _by_what_was_taught(found: Explanation, settings: Settings, shard: FrontierShard, taught: Taught) -> None:
    if taught.patterns is not None:
        taught.patterns.mine_now(shard, host(found.row.url))
        if settings.frontier.visited_patterns_only:
            found.unvisited = taught.patterns.unvisited(found.row.url)
    if taught.importance is not None:
        taught.importance.open(shard)
    taught.finish()
    if isinstance(taught.scorer, LearnedScorer):
        taught.scorer.forget_links()  # rows may have changed since
        _by_learned(found, shard, taught.scorer, sorted(taught.predicates), settings.learn)
    elif taught.importance is None:
        for predicate in sorted(taught.predicates):
            found.contributions[predicate] = taught.scorer.contributions(shard, found.row, predicate)
    found.priorities = taught.priorities.of(shard, [found.row], sorted(taught.predicates))[0]
    if settings.frontier.rule == "learned":
        found.belief = taught.promises.belief(shard, found.row)


def _again(settings: Settings, shard: FrontierShard, row: PageRow) -> Again | None:
    """Return when a page is visited again, None where it is not."""
    visit = visit_of(shard, row.url)
    if visit is None or row.state != "judged":
        return None
    groups = Groups(settings.revisit)
    known = groups.estimate(shard, visit)
    return Again(visit, known.rate, groups.due(visit, known))


def _spent(settings: Settings, shard: FrontierShard, url: str) -> str:
    name = space(url)
    row = shard.get(space_key(name)) if name is not None and settings.frontier.traps else None
    return why_spent(row, settings.frontier) if isinstance(row, SpaceRow) else ""


def _excluding(journal: Journal, url: str) -> Exclusion | None:
    steered = Steered()
    if STEERING.name in journal.topics():
        for entry in entries(journal, STEERING.name, 0):
            steered.hear(entry.value)
    return steered.excludes(url)


def _by_learned(
    found: Explanation,
    shard: FrontierShard,
    scorer: LearnedScorer,
    predicates: Sequence[str],
    settings: LearnSettings,
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
        features = (BASE, region(predicate), *map(user, crowd.visitors))
        ratios = weights_of(predicate, scorer.ledger, features, settings.t, settings.significance)
        found.contributions[predicate] = ordered(crowd_contributions(crowd, ratios))


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
