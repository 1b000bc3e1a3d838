"""Orders from the frontier, and how their results are reported: what the fetch agent and the door share.

An order is acknowledged once its result is in the log; one without an answer comes again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import zstandard

from scentline.agents.fetch.result import OUTCOMES, Body, Ended, NoPage, outcome_of, validators
from scentline.models.facts import Fetched, Found, Missing, Rendering, Same, Signal
from scentline.models.page import keeps
from scentline.models.records import (
    NOT_MODIFIED,
    Decoder,
    FetchedPage,
    FetchOrder,
    HostAnswer,
    Pack,
    RecordError,
    RobotsTxt,
    encode,
)
from scentline.models.url import host, identifier
from scentline.streams.attempts import Place, bury, why
from scentline.streams.inbox import Message, Outbox
from scentline.streams.metrics import Outcomes, catalogue
from scentline.streams.runtime import Runtime
from scentline.streams.topics import FETCHES, PAGES, SIGHTINGS, Topic

EXPIRED = "expired"  #: The outcome of an order whose lease had run out.
QUARANTINED = "quarantined: its fetch failed here"  #: Why an order that could not be carried out has no page.

Fact = Fetched | Found | Signal | RobotsTxt
_compress = zstandard.ZstdCompressor(level=1).compress


def noted(url: str, partition: int, topic: Topic = FETCHES) -> Place:
    """Return the place that stands for a URL's orders: one that is put off comes again at another offset."""
    return Place(topic.name, partition, int.from_bytes(identifier(url)[:8]))


class Given(NamedTuple):
    """A message of `fetches` or `renders`: its place, its order or the error, and the place of its attempts."""

    place: Place
    value: bytes
    order: FetchOrder | RecordError
    noted: Place


class Told(NamedTuple):
    """What a client of the door found in a page: its items, and the links that it wants, None for all."""

    items: tuple[str, ...] = ()
    wanted: tuple[str, ...] | None = None


NOTHING = Told()


class Orders:
    """Reads a topic's orders, and reports a page to the judge, any other result to the frontier."""

    def __init__(self, runtime: Runtime, topic: Topic = FETCHES) -> None:
        self.runtime = runtime
        self._topic = topic
        self._decode = Decoder[FetchOrder](FetchOrder)
        metrics = runtime.metrics
        self._outcomes = Outcomes(metrics, catalogue.FETCHED, (*OUTCOMES, EXPIRED))
        self._bytes = metrics.counter(catalogue.FETCHED_BYTES)
        self._seconds = metrics.histogram(catalogue.FETCH_SECONDS)
        self.taken = metrics.counter(catalogue.TAKEN).labels(topic.name)

    def given(self, event: Any) -> Given:
        """Return the order of a message, or why it can't be read."""
        value = event.value or b""
        place = Place(self._topic.name, event.message.partition, event.message.offset)
        try:
            order = self._decode(value)
        except RecordError as error:
            return Given(place, value, error, place)
        return Given(place, value, order, noted(order.url, place.partition, self._topic))

    def unreadable(self, given: Given, error: RecordError) -> list[Message]:
        """Return the dead letter of a message that is no order."""
        outbox = Outbox("")
        self.runtime.bury(outbox, given.place, given.value, str(error), why(error))
        return outbox.take()

    def quarantined(self, given: Given, order: FetchOrder, reason: str) -> list[Message]:
        """Return the dead letter of an order that can't be carried out, and its end."""
        outbox, now = Outbox(""), self.runtime.clock()
        bury(outbox, given.place, given.value, reason, "quarantine", now)
        return [*outbox.take(), self._end(order, Missing("failed", QUARANTINED), HostAnswer(), now)]

    def expired(self, order: FetchOrder) -> bool:
        """Return whether the frontier has taken an order back, and count it."""
        if order.lease >= self.runtime.clock():
            return False
        self._outcomes.count(EXPIRED)
        return True

    def count(self, ended: Ended) -> None:
        """Count the end of a fetch."""
        self._outcomes.count(outcome_of(ended.result))
        if isinstance(ended.result, Body):
            self._bytes.inc(len(ended.result.body))
        if ended.host.elapsed:
            self._seconds.observe(ended.host.elapsed)

    def messages(self, order: FetchOrder, ended: Ended, told: Told = NOTHING) -> list[Message]:
        """Return a page for the judge, another result for the frontier, an unchanged kept page for both."""
        now, revisit = self.runtime.clock(), order.revisit
        if isinstance(order.robots, RobotsTxt):  # the judge has no use for it
            order = msgspec.structs.replace(order, robots=order.robots.until)
        if isinstance(ended.result, Body):
            return [self._page(order, ended, now, told)]
        messages = [self._end(order, ended.result, ended.host, now, ended.rendering)]
        if isinstance(ended.result, Same) and revisit is not None and revisit.again:
            which = self.runtime.settings.keep.pages
            messages += [self._page(order, ended, now, told)] if keeps(which, revisit.verdict) else []
        return messages

    def _end(
        self, order: FetchOrder, result: NoPage, told: HostAnswer, now: float, how: Rendering | None = None
    ) -> Message:
        fact = Fetched(order.url, order.order, order.visit, now, told, result, order.silent, how)
        return self.pack(host(order.url), [fact])

    def _page(self, order: FetchOrder, ended: Ended, now: float, told: Told) -> Message:
        # By host, so that the near-duplicates of one site meet.
        partition = self.runtime.partition(PAGES, host(order.url))
        return (PAGES.name, partition, None, encode(page_of(order, ended, now, told)))

    def pack(self, name: str, facts: Sequence[Fact]) -> Message:
        """Return the message of facts about one host."""
        pack: Pack[Fact] = Pack(facts=[(0, index, fact) for index, fact in enumerate(facts)])
        return (SIGHTINGS.name, self.runtime.partition(SIGHTINGS, name), None, encode(pack))


def page_of(order: FetchOrder, ended: Ended, now: float, told: Told = NOTHING) -> FetchedPage:
    """Return a page for the judge, to judge or, if it has not changed, to keep."""
    page = ended.result
    if isinstance(page, Body):
        how = page.rendered
        return FetchedPage(
            order=order, status=page.status, headers=page.headers, body=_compress(page.body), time=now,
            host=ended.host, nofollow=page.nofollow, items=told.items, wanted=told.wanted,
            rendered=how and msgspec.structs.replace(how, plain=_compress(how.plain)),
        )  # fmt: skip
    headers = validators(order.revisit.version if order.revisit else None, "etag", "last-modified")
    return FetchedPage(order=order, status=NOT_MODIFIED, headers=headers, body=b"", time=now, host=ended.host)
