"""The learned policy's memory of one predicate, and of the links to candidates."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from scentline.models.frontier.keys import CHILDREN_PREFIX, Rows, parent_of, parents_of
from scentline.models.frontier.linking import ChildrenRow, ParentRow, identifiers_in, places_of
from scentline.models.page import Verdict
from scentline.models.policy.batch import LinkingPage, LinkTable
from scentline.models.policy.candidate import IN_LINKS, LinkWords
from scentline.models.policy.combiner import Calibration, Vector, logits
from scentline.models.policy.inputs import Input, prior_covariance, prior_mean
from scentline.models.policy.knowledge import Knowledge
from scentline.models.policy.vocabulary import Vocabulary
from scentline.models.predicate import Sought
from scentline.models.records import Weighting


class Known(Knowledge):
    """A predicate in memory: its knowledge, and its combiner."""

    def __init__(self, predicate: str, vocabulary: Vocabulary, sought: Sought, inputs: Sequence[Input]) -> None:
        super().__init__(predicate, vocabulary, sought.topic, sought.phrases)
        self.mean: Vector = prior_mean(inputs)
        self.covariance: Vector = prior_covariance(inputs)
        self.shifts = Calibration().shifts

    def take(self, weighting: Weighting) -> None:
        """Apply the combiner that the learner published; `ValueError` if it does not fit, or is not finite."""
        mean = np.frombuffer(weighting.mean)
        if len(mean) != len(self.mean):
            raise ValueError(
                f"combiner of {self.predicate}: it has {len(mean)} weights, expected {len(self.mean)}"
            )
        covariance = np.frombuffer(weighting.covariance).reshape(len(mean), len(mean))
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise ValueError(f"combiner of {self.predicate}: a weight is not finite, expected numbers")
        self.mean, self.covariance = mean, covariance
        self.shifts = weighting.shifts

    def logit(self, inputs: Sequence[float]) -> tuple[float, float]:
        """Return m'x and sqrt(x'Px) of the inputs x."""
        means, deviations = logits(np.array(inputs)[np.newaxis], self.mean, self.covariance)
        return float(means[0]), float(deviations[0])


#: Bytes of linking pages and their links in memory, and more of them for the columns of each predicate. Above
#: it half of the pages are dropped, and read from the rows again on demand.
CACHED_BYTES = 64_000_000
PREDICATE_BYTES = 2_000_000
#: Bytes of a linking page outside the table.
PAGE_BYTES = 400
#: Candidates whose in-links are cached.
CACHED_TARGETS = 20_000
#: Verdicts on link targets in a batch: each is compared with all links of its page.
TOLD = 200


class _Linking:
    """A linking page's links into one partition, by their ``targets``, and the verdicts applied to it.

    ``time`` is that of the page's own verdict. Of its row of judged targets, at the revision ``revised``, the
    first ``told`` are applied.
    """

    __slots__ = ("page", "revised", "targets", "time", "told")

    def __init__(self, page: LinkingPage, targets: bytes, time: float) -> None:
        self.page = page
        self.targets = targets
        self.time = time
        self.told = self.revised = 0


class _Links(NamedTuple):
    """The in-links of a candidate that count: their pages, their places in the table, and the words in each."""

    parents: Sequence[bytes]
    places: tuple[int, ...]
    anchors: tuple[str, ...]


NO_LINKS = _Links([], (), ())


class InLinks:
    """The links that candidates are scored by, for some ``predicates``, in a ``table``.

    Report changed rows of linking pages by `bring_up`.
    """

    def __init__(self, vocabulary: Vocabulary, predicates: Iterable[str] = (), most: int | None = None) -> None:
        self._vocabulary = vocabulary
        self._predicates = tuple(predicates)
        self._most = CACHED_BYTES + PREDICATE_BYTES * len(self._predicates) if most is None else most
        self.forget()

    def forget(self) -> None:
        """Forget all links: the rows may have changed."""
        self.table = LinkTable(len(self._predicates))
        self._pages: dict[tuple[int, bytes], _Linking] = {}
        # By candidate its linking pages that count, with the places of their links to it and the words in them.
        self._places: dict[bytes, _Links] = {}

    def of(self, shard: Rows, targets: Iterable[tuple[bytes, Sequence[bytes]]]) -> "list[_Links]":
        """Return the in-links that count, of each target: a pair of identifier and linking pages."""
        if self.table.bytes + PAGE_BYTES * len(self._pages) > self._most:
            self._let_go()
        if len(self._places) > CACHED_TARGETS:
            self._places = {}
        asked = [(target, parents[:IN_LINKS]) for target, parents in targets]
        unknown = {
            target: parents
            for target, parents in asked
            if parents and self._places.get(target, NO_LINKS).parents != parents
        }
        if unknown:
            self._take_up(shard, unknown)
        return [self._places[target] if parents else NO_LINKS for target, parents in asked]

    def _take_up(self, shard: Rows, unknown: dict[bytes, Sequence[bytes]]) -> None:
        """Load the links to some targets: their pages, where these are new, and the words of the links."""
        known: dict[bytes, dict[bytes, tuple[int, str]]] = {}
        asked: dict[bytes, list[bytes]] = {}
        for target, parents in unknown.items():
            before = self._places.get(target, NO_LINKS)
            links = zip(before.places, before.anchors, strict=True)
            known[target] = dict(zip(before.parents, links, strict=True))
            for name in parents:
                if name not in known[target]:  # mostly just one linking page is new
                    asked.setdefault(name, []).append(target)
        rows = dict(zip(asked, parents_of(shard, asked), strict=True))
        new = [name for name in asked if (shard.partition, name) not in self._pages]
        for name in new:
            self._pages[shard.partition, name] = self._numbered(rows[name])
        self.bring_up(shard, new)
        said: dict[int, LinkWords] = {}
        for name, targets in asked.items():
            linking = self._pages[shard.partition, name]
            numbers = places_of(linking.targets, targets)
            for target, number, words in zip(targets, numbers, rows[name].words_at(numbers), strict=True):
                place = linking.page.first + number
                known[target][name] = place, " ".join(words.inside)
                said[place] = words
        for target, parents in unknown.items():
            self._places[target] = _Links(parents, *zip(*map(known[target].__getitem__, parents), strict=True))
        # Words are numbered target by target.
        places = [place for target in unknown for place in self._places[target].places if place in said]
        silent = self.table.silent(places)
        spoken = [*chain.from_iterable(said[place] for place in silent)]
        self.table.say(silent, self._vocabulary.words(chain.from_iterable(spoken)), list(map(len, spoken)))

    def _numbered(self, row: ParentRow) -> _Linking:
        words = self._vocabulary.words(row.text.split())
        page = self.table.add(row.positions, words, self._satisfied(row.verdict))
        return _Linking(page, row.targets, row.time)

    def bring_up(self, shard: Rows, names: Iterable[bytes]) -> None:
        """Update loaded linking pages from their rows, after new or extended verdicts on them or on targets."""
        pages: list[LinkingPage] = []
        positions: list[int] = []
        verdicts: list[Verdict] = []
        loaded = [name for name in names if (shard.partition, name) in self._pages]
        rows = shard.get_all([CHILDREN_PREFIX + name for name in loaded])
        for name, children in zip(loaded, rows, strict=True):
            linking = self._pages[shard.partition, name]
            if not isinstance(children, ChildrenRow) or not self._revise(linking, shard, name, children):
                continue
            fresh = children.positions[linking.told :]
            pages += [linking.page] * len(fresh)
            positions += fresh
            verdicts += [children.verdicts[kind] for kind in children.kinds[linking.told :]]
            linking.told += len(fresh)
        for begin in range(0, len(pages), TOLD):
            some = slice(begin, begin + TOLD)
            self.table.judged(pages[some], positions[some], self._cells(verdicts[some]))

    def _revise(self, linking: _Linking, shard: Rows, name: bytes, children: ChildrenRow) -> bool:
        """Start over if a verdict on a target, or on the page, has changed.

        A page judged again is dropped until it is needed; return whether the page is still loaded.
        """
        if children.revised == linking.revised:
            return True
        parent = parent_of(shard, name)
        if parent.time != linking.time or parent.targets != linking.targets:
            del self._pages[shard.partition, name]
            for target in identifiers_in(linking.targets):
                self._places.pop(target, None)
            return False
        linking.revised, linking.told = children.revised, 0
        self.table.forget_judged(linking.page)
        self.table.set_verdict(linking.page, self._satisfied(parent.verdict))
        return True

    def _cells(self, verdicts: Sequence[Verdict]) -> Vector:
        names = self._predicates
        return np.array(
            [[(name in verdict, verdict.get(name, False)) for verdict in verdicts] for name in names], float
        )

    def _satisfied(self, verdict: Verdict) -> Vector:
        return np.array([verdict.get(name, False) for name in self._predicates], float)

    def _let_go(self) -> None:
        kept = dict(list(self._pages.items())[len(self._pages) // 2 :])
        pages = self.table.keep(linking.page for linking in kept.values())
        for linking, page in zip(kept.values(), pages, strict=True):
            linking.page = page
        self._pages, self._places = kept, {}
