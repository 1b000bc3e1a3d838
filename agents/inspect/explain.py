"""Why a URL was or was not fetched: its row, and what makes its priority for each predicate."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from agents.frontier.rows import FrontierRow, FrontierShard, PageRow, SpaceRow, page_key, space_key
from agents.frontier.scorer import Scorer, learned_scorer
from agents.frontier.scoring import PaperScorer
from agents.frontier.spaces import why_spent
from agents.inspect.learned import interests
from agents.inspect.record import definitions
from models.crowd.contributions import crowd_contributions
from models.interest.linkage import Contribution, contributions, ordered
from models.lessons import lessons
from models.predicate import parse
from models.traps.barren import space
from models.url import host
from streams.inbox import Codec, Shard
from streams.settings import Settings
from streams.tables import open_read_only
from streams.topics import partition_of
from streams.transport.journal import Journal


class Part(msgspec.Struct, frozen=True):
    """One input of the learned policy: its value, its weight with its deviation, and what it adds."""

    name: str
    value: float
    weight: float
    deviation: float
    adds: float


@dataclass
class Explanation:
    """A URL's row, and for each predicate its priority now and what makes it, the largest effect first.

    ``contributions`` are features by the paper's policies, ``inputs`` and the ``expected`` probability of a
    hit those of the learned one. ``spent`` is why URLs that differ in numbers only are not asked for any more.
    """

    row: PageRow
    priorities: dict[str, float] = field(default_factory=dict)
    contributions: dict[str, list[Contribution]] = field(default_factory=dict)
    inputs: dict[str, list[Part]] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)
    spent: str = ""


def explain(settings: Settings, url: str) -> Explanation | None:
    """Return what is known of a canonical URL; None when the crawl never met it.

    ``settings.frontier.policy`` is the crawl's.
    """
    frontier = open_read_only(settings.data, "frontier")
    partition = partition_of(host(url), len(frontier))
    codec: Codec[FrontierRow] = Codec(FrontierRow)
    shard: FrontierShard = Shard(partition, "explain", frontier[partition], codec, 10_000)
    row = shard.get(page_key(url))
    if not isinstance(row, PageRow):
        return None
    found = Explanation(row, spent=_spent(settings, shard, url))
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        topics = {each.name: parse(each.expression).topic for each in definitions(journal)}
    if settings.frontier.policy == "learned":
        _by_learned(found, settings, shard, topics)
    else:
        _by_paper(found, settings, shard, topics)
    return found


def _spent(settings: Settings, shard: FrontierShard, url: str) -> str:
    name = space(url)
    row = shard.get(space_key(name)) if name is not None and settings.frontier.traps else None
    return why_spent(row, settings.frontier) if isinstance(row, SpaceRow) else ""


def _taught(scorer: Scorer, settings: Settings, topics: Mapping[str, tuple[str, ...]]) -> None:
    for name in topics:
        scorer.add_predicate(name, topics[name])
    for interest in interests(settings.data):
        scorer.learn(interest)


def _by_paper(
    found: Explanation, settings: Settings, shard: FrontierShard, topics: Mapping[str, tuple[str, ...]]
) -> None:
    known = lessons(settings.frontier.policy)
    scorer = PaperScorer(settings.learn, known, drift=0)
    _taught(scorer, settings, topics)
    for predicate in sorted(topics):
        weights = scorer.weights(predicate)
        parts: list[Contribution] = []
        if known.links:
            parts += contributions(scorer.evidence(shard, found.row, predicate), weights)
        if known.users:
            parts += crowd_contributions(scorer.crowd(shard, found.row, predicate), weights)
        found.contributions[predicate] = ordered(parts)
        found.priorities[predicate] = scorer.priority(shard, found.row, predicate)


def _by_learned(
    found: Explanation, settings: Settings, shard: FrontierShard, topics: Mapping[str, tuple[str, ...]]
) -> None:
    scorer = learned_scorer(settings.learn)
    _taught(scorer, settings, topics)
    for predicate in sorted(topics):
        known = scorer.known(predicate)
        values = found.row.inputs.get(predicate) or scorer.inputs(shard, found.row, predicate)
        weights, deviations = known.mean.tolist(), known.covariance.diagonal() ** 0.5
        rows = zip(scorer.names, values, weights, deviations.tolist(), strict=True)
        parts = [Part(*row, adds=row[1] * row[2]) for row in rows]
        found.inputs[predicate] = sorted(parts, key=lambda part: -abs(part.adds))
        found.priorities[predicate] = scorer.priority(shard, found.row, predicate)
        found.expected[predicate] = scorer.expected(values, predicate)
