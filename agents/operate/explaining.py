"""Explanations of a crawl: from its frontier, opened read-only while at rest, and in words."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, product

import numpy as np

from scentline.agents.operate.record import (
    all_entries,
    definitions,
    entries,
    read_ledger,
    read_priors,
    read_standing,
    read_weightings,
    records,
)
from scentline.agents.stored import table_of
from scentline.models.frontier.fairness import WINDOW, Shares
from scentline.models.frontier.keys import page_key
from scentline.models.frontier.rows import INSTANT, FrontierRow, HubRow, PageRow
from scentline.models.frontier.steered import Steered
from scentline.models.page import FAILED, Verdict
from scentline.models.policy.estimates import SitePatterns, ordering
from scentline.models.policy.explain import Again, Explainer, Explanation
from scentline.models.policy.inputs import PLAIN
from scentline.models.policy.priorities import LinkPromises, Priorities, Scorer, scorer
from scentline.models.policy.speaking import Features
from scentline.models.predicate import parse
from scentline.models.published import SILENT_SECONDS, Exclusion, Standing
from scentline.models.records import Decoder, FetchOrder, partition_of
from scentline.models.url import host, owner
from scentline.streams.inbox import Codec, Shard
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, FETCHES, RENDERS, STANDING
from scentline.streams.transport.journal import Journal

#: Bytes of decoded rows cached per partition of the frontier's table.
CACHED_BYTES = 1_000_000

_frontier: Codec[FrontierRow] = Codec(FrontierRow)


class Resting:
    """The frontier of a crawl at rest (an `agents.owners.Owner`).

    What was learned is read on first use, which may take a while (`open`).
    """

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self._journal = journal
        self._settings = settings
        self._patterns = SitePatterns() if settings.behaviour else None
        self._importance = ordering(settings.frontier, self._patterns)
        self._ordered: set[int] = set()

    def open(self) -> None:
        """Read what was learned; raises `TableMissingError` without a crawl."""
        assert self._explainer

    @cached_property
    def _shards(self) -> dict[int, Shard[FrontierRow]]:
        parts = self._journal.table("frontier").items()
        return {number: Shard(number, "inspect", part, _frontier, CACHED_BYTES) for number, part in parts}

    @cached_property
    def _explainer(self) -> Explainer:
        settings, journal, frontier = self._settings, self._journal, self._settings.frontier
        table, printed = table_of(settings.semantic), frontier.candidates == "paper"
        learned = scorer(frontier.rule, settings.learn, table, self._importance, printed=printed)
        predicates = {name: parse(each.expression) for name, each in definitions(journal).items()}
        for name, predicate in predicates.items():
            learned.add_predicate(name, predicate.sought)
        _learn(learned, journal)
        priorities = Priorities(frontier, learned)
        priorities.promises = LinkPromises()
        for shard in self._shards.values():
            priorities.promises.open(shard)
        steered = Steered(entries(journal, CONTROL.name, 0))
        shares = _shares(journal, frontier.domain_share)
        return Explainer(
            settings, self._shard_of, learned, priorities, predicates, steered, self._patterns, shares
        )

    def _shard_of(self, url: str) -> Shard[FrontierRow]:
        return self._shards[partition_of(host(url), len(self._shards))]

    def standings(self, predicate: str = "", hosts: Sequence[str] = ()) -> list[Standing]:
        """Return each worker's last report, with the predicate's best candidates at that time."""
        newest: dict[str, Standing] = {}
        best: dict[str, Standing] = {}
        for standing in records(all_entries(self._journal, STANDING.name), read_standing):
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

    def met(self, url: str) -> bool:
        """Return whether a canonical URL was ever met, without reading what was learned."""
        return isinstance(self._shard_of(url).get(page_key(url)), PageRow)

    def explain(self, url: str) -> Explanation | None:
        """Return what is known about a canonical URL, None if it was never met.

        Where an importance decides, it is computed from the URL's partition.
        """
        if not self.met(url):
            return None
        shard, explainer = self._shard_of(url), self._explainer
        if self._patterns is not None:
            self._patterns.mine_now(shard, host(url))
        if self._importance is not None and shard.partition not in self._ordered:
            self._ordered.add(shard.partition)
            self._importance.open(shard)
        return explainer.explain(url)

    def features(self, predicate: str, kind: str = "", side: str = "for") -> Features | None:
        """Return what was learned about a predicate, None if that is unknown."""
        return self._explainer.features(predicate, kind, side)


def _learn(learned: Scorer, journal: Journal) -> None:
    """Load all counts and the combiners' weights into a scorer, and have it learn."""
    read_ledger(journal.table("frontier").values(), learned.ledger)
    for part in journal.table("interests").values():
        priors = read_priors(part)
        learned.inherit(priors)
        learned.ledger.add_predicates(chain.from_iterable(priors.values()))
        for predicate, weighting in read_weightings(part):
            learned.take(predicate, weighting)
    learned.learn(np.arange(learned.ledger.size))


def _shares(journal: Journal, share: float) -> Shares:
    """Return the shares of hosts' owners in the latest fetches, from the orders."""
    decode, found = Decoder[FetchOrder](FetchOrder), list[FetchOrder]()
    for topic, partition in product((FETCHES.name, RENDERS.name), range(journal.partitions(FETCHES.name))):
        start = max(journal.start(topic, partition), journal.end(topic, partition) - WINDOW)
        found += records(entries(journal, topic, partition, start), decode)
    shares = Shares(share, WINDOW)
    for order in sorted(found, key=lambda order: order.lease)[-WINDOW:]:
        shares.fetched(host(order.url), order.lease)
        if order.vouched is not None:
            shares.vouch({owner(host(order.url)): order.vouched})
    return shares


# in words


def describe(found: Explanation, threshold: float) -> list[str]:
    """Describe a row, line by line; candidates below ``threshold`` are not kept."""
    row = found.row
    lines = [row.url, f"state: {row.state}{f' ({row.reason})' if row.reason else ''}", _known_by(row)]
    if row.verdict is not None:
        lines.append(f"verdict: {verdict_in_words(row.verdict)}")
    if found.hub is not None:
        lines.append(describe_hub(found.hub))
    if found.again is not None:
        lines.append(describe_again(found.again))
    if found.excluded is not None:
        lines.append(_describe_exclusion(found.excluded))
    why = _why_fetched(row) or _why_not_fetched(found, threshold)
    lines += filter(None, (why, found.rendering))
    if found.priorities:
        now = (f"{name} {value:+.2f}" for name, value in found.priorities.items())
        lines.append(f"current priority: {', '.join(now)}")
    if found.inputs and row.visits:
        lines.append(_worth_of_log(found))
    if found.belief < 1:
        lines.append(
            "those who link to it kept fewer promises than others do: "
            f"{found.belief:.0%} of the probability is believed"
        )
    return lines


def _worth_of_log(found: Explanation) -> str:
    """Return the log's part of the logit of a hit, and the sum over all inputs."""
    parts = []
    for predicate, inputs in found.inputs.items():
        if predicate != FAILED:
            of_log = sum(part.adds for part in inputs if PLAIN[part.name].source == "users")
            parts.append(f"{predicate} {of_log:+.2f} of {sum(part.adds for part in inputs):+.2f}")
    return f"what the log adds: {', '.join(parts)}"


def verdict_in_words(verdict: Verdict) -> str:
    """Return which predicates a page satisfies.

    >>> verdict_in_words({"sports": True, "music": False})
    'sports yes, music no'
    """
    return ", ".join(f"{name} {'yes' if hit else 'no'}" for name, hit in verdict.items())


def _known_by(row: PageRow) -> str:
    known = [f"in-links of {max((k for k, _ in row.links.values()), default=0)} judged pages"]
    known += [f"{row.visits} visits"] if row.visits else []
    known += ["a seed"] if row.seed else []
    known += [f"a revisit of {row.found.hub}"] if row.found is not None else []
    return (
        f"known from: {', '.join(known)}; depth {row.depth}, number {row.discovered} in the order of discovery"
    )


def _why_fetched(row: PageRow) -> str:
    """Return why a page was chosen, if it was; where robots.txt forbids it, it was not fetched."""
    choice = row.choice
    if choice is None:
        return ""
    if choice.policy == INSTANT:
        return f"fetched at once (frontier.mode): {instantly(row)}, attempt {row.attempts}"
    by = (
        f"chance, one choice in {1 / choice.probability:,.0f}" if choice.explored else f"policy {choice.policy}"
    )
    parts = sorted(choice.parts.items(), key=lambda entry: -entry[1])
    worth = f"; worth for {', '.join(f'{name} {part:.0%}' for name, part in parts)}" if parts else ""
    was = "fetched" if row.requests else "chosen"
    return (
        f"{was} for {choice.predicate} by {by}, priority {choice.priority:.2f}, attempt {row.attempts}{worth}"
    )


def _why_not_fetched(found: Explanation, threshold: float) -> str:
    row = found.row
    choosable = row.state == "candidate"
    if row.state == "trapped":
        return "not fetched: this URL looks like part of an endless space (frontier.traps)"
    if choosable and (why := _why_out_of_scope(found)):
        return f"not fetched: {why}"
    if max(found.priorities.values(), default=threshold) < threshold and not row.seed:
        return "not fetched: its priority is below frontier.threshold"
    other = found.standing_back or "its host could not be asked yet"
    return f"not fetched: others had a higher priority, or {other}" if choosable else ""


def _why_out_of_scope(found: Explanation) -> str:
    if found.excluded is not None:
        return "it is excluded"
    if found.spent and not found.row.seed:
        return found.spent
    if found.unvisited and not found.row.seed:
        return f"no visits match its pattern {found.unvisited} (frontier.visited_patterns_only)"
    return found.beyond


def _describe_exclusion(found: Exclusion) -> str:
    how = f"begins with {found.prefix}" if found.prefix else f"matches {found.expression}"
    return f"excluded as {found.name} (scentline steer include {found.name} undoes it): it {how}"


def instantly(row: PageRow) -> str:
    """Return why a page was fetched at once."""
    if row.found is None:
        return "it is a hub"
    before = row.found.time - row.found.since
    return (
        f"it is under a news prefix, and new on {row.found.hub}, which did not link to it {before:.1f} s before"
    )


def describe_hub(hub: HubRow) -> str:
    """Describe a hub."""
    visits = f"visited {hub.visits} times, which brought {hub.links} new links"
    if hub.moved:
        return f"a hub until it moved to {hub.moved}; {visits}"
    state = f", {hub.failures} failures in a row" if hub.failures else ""
    return f"a hub: {visits}; {hub.rate.mean * 3600:.2f} new links an hour expected{state}"


def describe_again(again: Again) -> str:
    """Describe the visits to a page, and when the next one is due."""
    visit, history = again.visit, again.visit.history
    signs = ", ".join(f"{number} by {kind}" for kind, number in sorted(visit.signs.items()))
    parts = [
        f"visited again {history.visits} times, changed {history.changes} times",
        f"a change in {time_in_words(1 / again.rate)} is expected",
        f"signs of a change since: {signs}" if signs else "",
        f"{visit.failures} failures in a row" if visit.failures else "",
        "said to be gone, and looked at once more" if visit.missing else "",
        f"last visit {_iso(visit.visited)}, due {_iso(again.due)}",
    ]
    return "; ".join(filter(None, parts))


def time_in_words(seconds: float) -> str:
    """Return a time in its largest unit.

    >>> time_in_words(90.0), time_in_words(36 * 3600)
    ('1.5 minutes', '1.5 days')
    """
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
