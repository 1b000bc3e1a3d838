"""The judge agent: reads fetched pages and checks each against every active predicate.

Reads `pages` and `predicates`; keeps nothing; writes `outcomes`, and to `sightings` what was linked and judged.
"""

from collections import defaultdict
from typing import Any

import msgspec
import zstandard

from agents.labels import Labels
from agents.predicates import Predicates
from agents.web.parse import parse
from models.learner.semantic import page_subject
from models.page import Link, Page
from models.predicate import View
from models.url import host, identifier
from models.verdict import Verdict
from streams.outbox import Outbox
from streams.records import Decoder, Failed, FetchedPage, Judged, Linked, Outcome, RecordError
from streams.relay import Relay
from streams.runtime import Runtime
from streams.topics import OUTCOMES, PAGES, SIGHTINGS


class JudgeAgent:
    """Parses, judges and reports each page as a function of the page and the predicates."""

    def __init__(self, runtime: Runtime, predicates: Predicates, labels: Labels | None) -> None:
        self._runtime = runtime
        self._predicates = predicates
        self._labels = labels
        self._settings = runtime.settings.judge
        self._meanings = runtime.settings.semantic is not None
        self._decode = Decoder[FetchedPage](FetchedPage)
        self._decompress = zstandard.ZstdDecompressor()
        self.relay = Relay(runtime, PAGES, "judge", self.handle)

    def handle(self, outbox: Outbox, message: Any) -> None:
        """Judge one page; raises `RecordError` for what is no page."""
        fetched = self._decode(message.value)
        page = parse(
            fetched.order.url, self._body(fetched), fetched.headers.get("content-type"), self._settings
        )
        if page.indexable:
            verdict = self.verdict(page)
            origin = f"{PAGES.name}/{message.partition}@{message.offset}"
            self._report(outbox, fetched, page, verdict, origin)
        else:
            self._refuse(outbox, fetched)

    def _body(self, fetched: FetchedPage) -> bytes:
        most = self._runtime.settings.fetch.max_bytes
        try:
            # A size that the body states is what the decompressor makes room for, whatever the limit.
            if zstandard.frame_content_size(fetched.body) > most:
                raise RecordError(f"not a FetchedPage: its body has more than {most} bytes")
            return self._decompress.decompress(fetched.body, max_output_size=most)
        except zstandard.ZstdError as error:
            raise RecordError(f"not a FetchedPage: its body can't be decompressed: {error}") from error

    def verdict(self, page: Page) -> Verdict:
        """Return what each active predicate says of a page."""
        categories = self._labels.categories(page.url) if self._labels is not None else frozenset()
        view = View(page.url, page.title, page.text, categories)
        return {name: predicate.evaluate(view) for name, predicate in self._predicates.active.items()}

    def _report(self, outbox: Outbox, fetched: FetchedPage, page: Page, verdict: Verdict, origin: str) -> None:
        order = fetched.order
        outcome = Outcome(
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
            words=page.words,
            links=page.links,
            origin=origin,
        )
        key = order.url
        outbox.send(
            OUTCOMES.name, self._runtime.partition(OUTCOMES, key), key.encode(), msgspec.json.encode(outcome)
        )
        self._report_links(outbox, fetched, page, verdict)
        subject = page_subject(order.url, page.title) if self._meanings else ""
        judged = Judged(order.url, verdict, fetched.time, fetched.crawl_delay, page.words, subject)
        outbox.emit(SIGHTINGS.name, self._sightings(order.url), judged)

    def _report_links(self, outbox: Outbox, fetched: FetchedPage, page: Page, verdict: Verdict) -> None:
        by_partition: dict[int, list[Link]] = defaultdict(list)
        for link in page.links:
            by_partition[self._sightings(link.url)].append(link)
        partitions = tuple(sorted(by_partition))
        for partition in partitions:
            linked = Linked(
                page=identifier(fetched.order.url),
                url=fetched.order.url,
                depth=fetched.order.depth,
                verdict=verdict,
                words=page.words,
                links=tuple(by_partition[partition]),
                partitions=partitions,
            )
            outbox.emit(SIGHTINGS.name, partition, linked)

    def _refuse(self, outbox: Outbox, fetched: FetchedPage) -> None:
        order = fetched.order
        refusal = Failed(order.url, order.order, "refused", "the page asks not to be indexed", fetched.time)
        outbox.emit(SIGHTINGS.name, self._sightings(order.url), refusal)

    def _sightings(self, url: str) -> int:
        return self._runtime.partition(SIGHTINGS, host(url))
