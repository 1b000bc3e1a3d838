"""How the frontier workers of a crawl stand together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from scentline.streams.records import Standing

Number = TypeVar("Number", int, float)

#: The states of workers, the one that says most of the whole crawl first.
_STATES = ("paused", "starting", "running", "spent", "done", "ended")
_ADDED = (
    "partitions", "judged", "requests", "discovered", "failed", "refused", "moved", "trapped", "revisits",
    "in_flight", "revisits_in_flight", "window", "room", "ready", "retries",
)  # fmt: skip


def together(told: Sequence[Standing]) -> Standing | None:
    """Return how workers stand together, as if they were one without a name; None where there is none."""
    if not told:
        return None
    partitions = sum(each.partitions for each in told)
    return Standing(
        worker="",
        time=max(each.time for each in told),
        began=min(each.began for each in told),
        state=next(state for state in (*_STATES, told[0].state) if any(each.state == state for each in told)),
        final=all(each.final for each in told),
        of=max(each.of for each in told),
        waiting=_added(each.waiting for each in told),
        queued=_added(each.queued for each in told),
        hosts=_added(each.hosts for each in told),
        pages_a_second=_sum(each.pages_a_second for each in told),
        requests_a_second=_sum(each.requests_a_second for each in told),
        next_ready=_least(each.next_ready for each in told),
        next_retry=_least(each.next_retry for each in told),
        seen=min(each.seen for each in told),
        opening=any(each.opening for each in told),
        taken_up=sum(each.taken_up * each.partitions for each in told) / max(1, partitions),
        filling=any(each.filling for each in told),
        budget=max(each.budget for each in told),
        requests_budget=max(each.requests_budget for each in told),
        left=_least(each.left for each in told),
        slots=_mean([(each.slots, each.ready + sum(each.waiting.values())) for each in told]),
        held_by=max(told, key=lambda each: each.held).held_by,
        held=sum(each.held for each in told),
        **{name: sum(getattr(each, name) for each in told) for name in _ADDED},
    )


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in counts:
        found.update(each)
    return dict(found)


def _least(values: Iterable[Number | None]) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def _mean(parts: Sequence[tuple[float | None, int]]) -> float | None:
    """Return the mean of parts of so many hosts each, None where none is known."""
    known = [(part, hosts) for part, hosts in parts if part is not None]
    hosts = sum(hosts for _, hosts in known)
    return sum(part * hosts for part, hosts in known) / hosts if hosts else None


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
