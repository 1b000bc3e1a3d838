"""The outcome of a page, and the rows of later predicates in the judge's table."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from scentline.agents.judge.predicates import Predicates
from scentline.models.page import Page
from scentline.models.verdict import Verdict
from scentline.streams.inbox import Shard
from scentline.streams.published import Outcome, PredicateDefinition
from scentline.streams.records import FetchedPage

LATER_PREFIX = b"l"


class LaterRow(msgspec.Struct, array_like=True, tag="later"):
    """A predicate that came after some pages."""

    #: For the partition's next owner, which may not have heard of the predicate yet.
    definition: PredicateDefinition
    #: The pages that came before the predicate have smaller offsets.
    end: int
    #: Those that it has judged have smaller offsets.
    at: int = 0

    @property
    def done(self) -> bool:
        """Whether all pages before the end are judged by it."""
        return self.at >= self.end


def later_key(predicate: str) -> bytes:
    """Return the key of a predicate's row."""
    return LATER_PREFIX + predicate.encode()


def later_row(shard: Shard[Any], predicate: str) -> LaterRow | None:
    """Return a predicate's row in a shard, None where there is none yet."""
    row = shard.get(later_key(predicate))
    return row if isinstance(row, LaterRow) else None


def due(
    predicates: Predicates, shards: Iterable[Shard[Any]]
) -> Iterator[tuple[Shard[Any], PredicateDefinition]]:
    """Yield the shards that have kept pages left to judge, each with the predicate."""
    asking = [
        definition
        for name, definition in predicates.definitions.items()
        if definition.kept and name in predicates.active
    ]
    for shard in shards:
        for definition in asking:
            row = later_row(shard, definition.name)
            if row is None or not row.done:
                yield shard, definition


def outcome_of(
    fetched: FetchedPage,
    page: Page,
    verdict: Verdict,
    origin: str,
    *,
    later: bool = False,
    again: bool | msgspec.UnsetType = msgspec.UNSET,
) -> Outcome:
    """Return the outcome of a page; a ``later`` one has no words and links again."""
    order = fetched.order
    return Outcome(
        url=order.url,
        time=fetched.time,
        title=page.title,
        verdict=verdict,
        predicate=order.predicate,
        policy=order.policy,
        explored=order.explored,
        probability=order.probability,
        priority=order.priority,
        expected=order.expected,
        depth=order.depth,
        words=() if later else page.words,
        links=() if later else page.links,
        origin=origin,
        later=later,
        silent=order.silent or msgspec.UNSET,
        requests=order.requests,
        again=again,
    )
