"""A frontier at rest, opened on its rows to be read only: it explains as the one that wrote them did."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain

import numpy as np

from scentline.agents.operate.inspect.record import (
    definitions,
    entries,
    read_ledger,
    read_priors,
    read_standing,
    read_weightings,
)
from scentline.agents.semantic.tables import table_of
from scentline.models.domain import owner
from scentline.models.frontier.keys import Rows
from scentline.models.frontier.rows import FrontierRow
from scentline.models.frontier.shares import WINDOW, Shares
from scentline.models.frontier.steered import Steered
from scentline.models.policy.behaviour import SitePatterns
from scentline.models.policy.estimates import ordering
from scentline.models.policy.explain import Explainer, Explanation
from scentline.models.policy.features import Features, features
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.ordering import Ordering
from scentline.models.policy.priorities import LinkPromises, Priorities
from scentline.models.policy.scorer import Scorer, scorer
from scentline.models.predicate import parse
from scentline.models.published import Standing
from scentline.models.records import Decoder, FetchOrder, RecordError, partition_of
from scentline.models.url import host
from scentline.models.verdict import FAILED
from scentline.streams.inbox import Codec, Shard
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, FETCHES, STANDING
from scentline.streams.transport.journal import Journal

#: Bytes of decoded rows that are kept of a partition of the frontier's table.
CACHED_BYTES = 1_000_000
#: Seconds without a report after which a worker is not among those that reported last.
SILENT_SECONDS = 150.0

_frontier: Codec[FrontierRow] = Codec(FrontierRow)


class Resting:
    """What a crawl at rest answers of its frontier (`agents.owners.Owner`)."""

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self._journal = journal
        self._settings = settings
        self._opened: _Opened | None = None

    def open(self) -> None:
        """Read what was learned, which may take a while; raises `TableMissingError` without a crawl."""
        if self._opened is None:
            self._opened = _Opened(self._journal, self._settings)

    def standings(self, predicate: str = "", hosts: Sequence[str] = ()) -> list[Standing]:
        """Return how each worker stood when it reported last, with the predicate's best candidates of then."""
        newest: dict[str, Standing] = {}
        best: dict[str, Standing] = {}
        for standing in self._standings():
            for known in (newest, best) if standing.best_of == predicate else (newest,):
                if standing.worker not in known or known[standing.worker].time < standing.time:
                    known[standing.worker] = standing
        last = max((standing.time for standing in newest.values()), default=0.0)
        found = [each for each in newest.values() if each.time > last - SILENT_SECONDS]
        for each in found:
            of = best.get(each.worker)
            if of is not None and of.time > each.time - SILENT_SECONDS:
                each.best, each.best_of = of.best, predicate
        return found

    def _standings(self) -> Iterator[Standing]:
        for entry in (
            entries(self._journal, STANDING.name, 0) if STANDING.name in self._journal.topics() else ()
        ):
            with suppress(RecordError):
                yield read_standing(entry.value or b"")

    def explain(self, url: str) -> Explanation | None:
        """Return what is known of a canonical URL, None where it was never met."""
        self.open()
        assert self._opened is not None
        return self._opened.explain(url)

    def features(self, predicate: str, kind: str = "", side: str = "for") -> Features | None:
        """Return what was learned of a predicate, None where that is not known."""
        self.open()
        assert self._opened is not None
        explainer = self._opened.explainer
        if predicate not in explainer.predicates and not (
            predicate == FAILED and isinstance(explainer.scorer, LearnedScorer)
        ):
            return None
        return features(explainer.scorer, self._settings.learn, predicate, kind, against=side == "against")


class _Opened:
    """What a frontier keeps in memory, made of its rows and of what the learners counted."""

    def __init__(self, journal: Journal, settings: Settings) -> None:
        patterns = SitePatterns() if settings.behaviour else None
        self._importance: Ordering | None = ordering(settings.frontier, patterns)
        self._ordered: set[int] = set()
        rule, printed = settings.frontier.rule, settings.frontier.candidates == "paper"
        learned = scorer(rule, settings.learn, table_of(settings.semantic), self._importance, printed=printed)
        predicates = {name: parse(each.expression) for name, each in definitions(journal).items()}
        for name, predicate in predicates.items():
            learned.add_predicate(name, predicate.sought)
        _learn(learned, journal)
        self._shards = {
            number: Shard(number, "inspect", part, _frontier, CACHED_BYTES)
            for number, part in journal.table("frontier").items()
        }
        priorities = Priorities(settings.frontier, learned)
        priorities.promises = LinkPromises()
        for shard in self._shards.values():
            priorities.promises.open(shard)
        steered = Steered(entries(journal, CONTROL.name, 0))
        shares = _shares(journal, settings.frontier.domain_share)
        self.explainer = Explainer(
            settings, self._shard_of, learned, priorities, predicates, steered, patterns, shares
        )

    def _shard_of(self, url: str) -> Rows:
        return self._shards[partition_of(host(url), len(self._shards))]

    def explain(self, url: str) -> Explanation | None:
        """Return what is known of a URL; where an importance decides, what its partition's rows come to."""
        shard = self._shard_of(url)
        if self.explainer.patterns is not None:
            self.explainer.patterns.mine_now(shard, host(url))
        if self._importance is not None and shard.partition not in self._ordered:
            self._ordered.add(shard.partition)
            self._importance.open(shard)
        return self.explainer.explain(url)


def _learn(learned: Scorer, journal: Journal) -> None:
    """Have a scorer learn all that was counted, at once, and what the combiners weigh."""
    read_ledger(journal.table("frontier").values(), learned.ledger)
    for part in journal.table("interests").values():
        priors = read_priors(part)
        learned.inherit(priors)
        learned.ledger.add_predicates(chain.from_iterable(priors.values()))
        for predicate, weighting in read_weightings(part):
            learned.take(predicate, weighting)
    learned.learn(np.arange(learned.ledger.size))


def _shares(journal: Journal, share: float) -> Shares:
    """Return what owners of hosts had of the latest fetches, by their orders."""
    decode, found = Decoder[FetchOrder](FetchOrder), list[FetchOrder]()
    for partition in range(journal.partitions(FETCHES.name)):
        start = max(journal.start(FETCHES.name, partition), journal.end(FETCHES.name, partition) - WINDOW)
        for entry in entries(journal, FETCHES.name, partition, start):
            with suppress(RecordError):
                found.append(decode(entry.value or b""))
    shares = Shares(share, WINDOW)
    for order in sorted(found, key=lambda order: order.lease)[-WINDOW:]:
        shares.fetched(host(order.url), order.lease)
        if order.vouched is not None:
            shares.vouch({owner(host(order.url)): order.vouched})
    return shares
