"""Fetch orders: what the frontier sends for a choice, and the choice that an order tells of."""

from agents.frontier.rows import Choice, FrontierShard
from models.url import host
from streams.records import FetchOrder, Revisit, encode
from streams.runtime import Runtime
from streams.topics import FETCHES


def order_of(
    choice: Choice,
    url: str,
    number: int,
    depth: int,
    lease: float,
    *,
    pattern: str = "",
    vouched: float | None = None,
    silent: bool = False,
    revisit: Revisit | None = None,
) -> FetchOrder:
    """Return the order for a choice: the fetch of a URL by this ``number``, whose answer is waited for."""
    return FetchOrder(
        url=url,
        order=number,
        predicate=choice.predicate,
        policy=choice.policy,
        explored=choice.explored,
        probability=choice.probability,
        priority=choice.priority,
        depth=depth,
        lease=lease,
        expected=choice.expected,
        revisit=revisit,
        pattern=pattern,
        vouched=vouched,
        silent=silent,
    )


def choice_of(order: FetchOrder, time: float) -> Choice:
    """Return the choice that an order tells of, as if it was made at ``time``: that is not told."""
    return Choice(
        order.predicate, order.policy, order.explored, order.probability, order.priority, time, order.expected
    )


def send(runtime: Runtime, shard: FrontierShard, order: FetchOrder) -> None:
    """Send an order with what the shard emits, to the partition of its host."""
    partition = runtime.partition(FETCHES, host(order.url))
    shard.outbox.send(FETCHES.name, partition, None, encode(order))
