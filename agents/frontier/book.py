"""The frontier's bookkeeping: which rows each kind of sighting changes, and what evidence it gives.

`Pages` keeps the rows of URLs, `Links` those of linking pages, `Crowd` those of pages beside others, and
`EvidenceEmitter` tells the learner. Here is what concerns them all: where a crawl starts, and how fetches end.
"""

from collections.abc import Callable
from typing import Any

from agents.frontier.crowd import Crowd
from agents.frontier.evidence import EvidenceEmitter
from agents.frontier.links import Links
from agents.frontier.pages import Pages
from agents.frontier.rows import CHOOSABLE, FrontierShard, State
from models.lessons import lessons
from models.url import host
from streams.records import (
    Failed,
    Inherited,
    Judged,
    Linked,
    Met,
    Near,
    Redirected,
    Seeded,
    Together,
    Visited,
)
from streams.settings import FrontierSettings
from streams.topics import SIGHTINGS, partition_of


class Book:
    """Absorbs sightings. ``touched`` has, by partition, the pages to be scored anew, ``ended`` what ended."""

    def __init__(self, settings: FrontierSettings, evidence_partitions: int, sighting_partitions: int) -> None:
        self._settings = settings
        self._sighting_partitions = sighting_partitions
        self._lessons = lessons(settings.policy)
        self._pages = Pages()
        self._evidence = EvidenceEmitter(evidence_partitions)
        self._links = Links(self._pages, self._evidence, self._lessons, settings.parents)
        self._crowd = Crowd(self._pages, self._evidence, self._lessons, settings)
        self.touched = self._pages.touched
        self.ended: list[Judged | Failed | Redirected] = []
        self._absorbers: dict[type, Callable[[FrontierShard, Any], None]] = {
            Seeded: self._seeded,
            Inherited: self._inherited,
            Linked: self._links.linked,
            Near: self._links.near,
            Visited: self._crowd.visited,
            Together: self._crowd.together,
            Met: self._crowd.met,
            Judged: self._judged,
            Failed: self._failed,
            Redirected: self._redirected,
        }

    def absorb(self, shard: FrontierShard, sighting: Any) -> None:
        """Change rows and emit evidence for one sighting."""
        self._absorbers[type(sighting)](shard, sighting)

    # where a crawl starts

    def _seeded(self, shard: FrontierShard, sighting: Seeded) -> None:
        key, row = self._pages.find(shard, sighting.url, 0)
        row.seed = True
        self._pages.keep(shard, key, row)

    # how a fetch ends

    def _judged(self, shard: FrontierShard, sighting: Judged) -> None:
        self.ended.append(sighting)
        key, row = self._pages.find(shard, sighting.url)
        if row.verdict is not None:
            return
        self._evidence.label(shard, row, sighting.verdict)
        row.inputs = {}
        row.verdict = sighting.verdict
        self._pages.close(shard, key, row, "judged")
        self._pages.count_for_host(shard, row.url)
        features = self._lessons.own(row.url, sighting.words, sighting.subject)
        features |= self._links.features(shard, row) | self._crowd.features(shard, row)
        self._evidence.count(shard, features, sighting.verdict)
        self._links.judged(shard, row, sighting.verdict)
        self._crowd.judged(shard, row, sighting.verdict, sighting.words)

    def _failed(self, shard: FrontierShard, sighting: Failed) -> None:
        key, row = self._pages.find(shard, sighting.url)
        if row.state != "leased" or row.attempts != sighting.order:
            return  # the order was taken back, and perhaps given again
        self.ended.append(sighting)
        row.reason = sighting.reason
        if sighting.kind == "retry" and row.attempts < self._settings.attempts:
            wait = self._settings.retry_seconds * 2 ** (row.attempts - 1)
            row.not_before = sighting.time + max(wait, sighting.retry_after or 0.0)
            row.state = "candidate"
            self._pages.keep(shard, key, row)
        else:
            kind: State = "gone" if sighting.kind == "gone" else "refused"
            self._pages.close(shard, key, row, "given up" if sighting.kind == "retry" else kind)

    def _redirected(self, shard: FrontierShard, sighting: Redirected) -> None:
        key, row = self._pages.find(shard, sighting.url)
        if row.state != "leased" or row.attempts != sighting.order:
            return  # the order was taken back, and perhaps given again
        self.ended.append(sighting)
        row.reason = f"redirects to {sighting.target}"
        self._pages.close(shard, key, row, "moved")
        heir = Inherited(sighting.target, row.depth, row.priorities, row.seed, row.inputs)
        partition = partition_of(host(sighting.target), self._sighting_partitions)
        shard.outbox.emit(SIGHTINGS.name, partition, heir)

    def _inherited(self, shard: FrontierShard, sighting: Inherited) -> None:
        """Take over what a URL that redirects here had: its inputs with the priority that they gave it."""
        key, row = self._pages.find(shard, sighting.url, sighting.depth)
        row.seed = row.seed or sighting.seed
        for predicate, priority in sighting.priorities.items():
            if predicate not in row.inherited or priority > row.inherited[predicate]:
                row.inherited[predicate] = priority
                if predicate in sighting.inputs and row.state in CHOOSABLE:
                    row.inputs[predicate] = sighting.inputs[predicate]
        self._pages.keep(shard, key, row)
