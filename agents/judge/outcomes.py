"""What is written of a judged page."""

import msgspec

from models.page import Page
from models.verdict import Verdict
from streams.records import FetchedPage, Outcome


def outcome_of(
    fetched: FetchedPage, page: Page, verdict: Verdict, origin: str, *, later: bool = False
) -> Outcome:
    """Return the outcome of a page; what a ``later`` one adds has no need of the words and links again."""
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
        pattern=order.pattern,
        silent=order.silent or msgspec.UNSET,
        requests=order.requests,
    )
