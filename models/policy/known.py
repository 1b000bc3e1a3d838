"""What the learned policy keeps in memory of one predicate, and what words mean to it.

Meanings are candidates' vectors, and what verdicts say of their like.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from scentline.models.frontier.keys import Rows, children_of, parent_of
from scentline.models.frontier.linking import ChildrenRow, ParentRow, identifiers_in, place_of
from scentline.models.frontier.rows import PageRow
from scentline.models.page import Verdict
from scentline.models.policy.batch import LinkingPage, LinkTable
from scentline.models.policy.candidate import IN_LINKS
from scentline.models.policy.combiner import Calibration, Vector, logits
from scentline.models.policy.inputs import Input, prior_covariance, prior_mean
from scentline.models.policy.knowledge import Knowledge
from scentline.models.policy.vocabulary import Vocabulary
from scentline.models.predicate import Sought
from scentline.models.records import Weighting
from scentline.models.semantic import Meaning, SemanticTable, Sense, subject
from scentline.models.url import identifier

#: Candidates whose vectors are kept in memory, about 0.6 kB each; as many are kept of each predicate.
CACHED_SENSES = 50_000


class Texts:
    """Vectors of candidates, each made again when an in-link came that is kept."""

    def __init__(self, table: SemanticTable) -> None:
        self.table = table
        self._known: dict[str, tuple[list[bytes], Vector]] = {}

    def vector(self, shard: Rows, row: PageRow) -> Vector:
        """Return the vector of what a page's URL and the kept links to it say."""
        parents = row.parents[:IN_LINKS]
        known = self._known.get(row.url)
        if known is None or known[0] != parents:
            if len(self._known) >= CACHED_SENSES:
                self._known.clear()
            known = parents, self.table.vector(subject(row.url, _anchors(shard, row, parents)))
            self._known[row.url] = known
        return known[1]


class HeardMeaning:
    """One predicate's verdicts on meanings, as its counts of subjects are learned."""

    def __init__(self, table: SemanticTable, topic: Iterable[str]) -> None:
        self._meaning = Meaning(table, topic)
        self._told: dict[str, tuple[int, int]] = {}
        self._senses: dict[str, Sense] = {}

    def hear(self, subject: str, pages: int, hits: int) -> None:
        """Learn from the pages of a subject that are more than it had before.

        Fewer mean that it was forgotten: what was learned from it stays.
        """
        known_pages, known_hits = self._told.get(subject, (0, 0))
        more_hits = max(0, hits - known_hits)
        more = max(more_hits, pages - known_pages)
        vector = self._meaning.table.vector(subject)
        for number in range(more):
            self._meaning.learn(vector, number < more_hits)
        if pages:
            self._told[subject] = pages, hits
        else:
            self._told.pop(subject, None)

    def inputs(self, texts: Iterable[tuple[str, Vector]], rate: float) -> Vector:
        """Return the inputs of distinct URLs with these vectors at the base rate ``rate``, a row for each."""
        return self._meaning.inputs([self._sense(url, vector) for url, vector in texts], rate)

    def _sense(self, url: str, vector: Vector) -> Sense:
        sense = self._senses.get(url)
        if sense is None or sense.vector is not vector:
            if len(self._senses) >= CACHED_SENSES:
                self._senses.clear()
            sense = self._senses[url] = Sense(vector)
        return sense


def _anchors(shard: Rows, row: PageRow, parents: Iterable[bytes]) -> list[str]:
    page = identifier(row.url)
    linking = (parent_of(shard, name) for name in parents)
    return [" ".join(row.words_at(row.place(page)).inside) for row in linking]


class Known:
    """What is kept in memory of one predicate: its counts, its combiner, what pages mean to it."""

    def __init__(
        self,
        predicate: str,
        vocabulary: Vocabulary,
        sought: Sought,
        table: SemanticTable | None,
        inputs: Sequence[Input],
    ) -> None:
        self.predicate = predicate
        self.knowledge = Knowledge(predicate, vocabulary, sought.topic, sought.phrases)
        self.meaning = None if table is None else HeardMeaning(table, sought.topic)
        self.mean: Vector = prior_mean(inputs)
        self.covariance: Vector = prior_covariance(inputs)
        self.shifts = Calibration().shifts

    def hear_subject(self, subject: str, pages: int, hits: int) -> None:
        """Absorb the counts of pages with a subject."""
        if self.meaning is not None:
            self.meaning.hear(subject, pages, hits)

    def take(self, weighting: Weighting) -> None:
        """Absorb the combiner as the learner tells it; `ValueError` where it is one of other inputs."""
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


#: Bytes that linking pages and their links take in memory, and more of them for each predicate, which has
#: columns of its own. Where there are more, half of the pages are dropped, and taken from the rows again when
#: they are asked for.
CACHED_BYTES = 64_000_000
PREDICATE_BYTES = 2_000_000
#: What a linking page takes beside the table.
PAGE_BYTES = 400
#: Candidates whose links are kept together.
CACHED_TARGETS = 20_000
#: Verdicts on link targets that are told at once: each is held against all links of its page.
TOLD = 200


class _Linking:
    """A linking page's links into one partition, by their ``targets``, and how far it was told of verdicts.

    ``time`` is that of the page's own verdict.

    Of its row of judged targets it was told so many as ``told`` says, as they were when ``revised``.
    """

    __slots__ = ("page", "revised", "targets", "time", "told")

    def __init__(self, page: LinkingPage, targets: bytes, time: float) -> None:
        self.page = page
        self.targets = targets
        self.time = time
        self.told = self.revised = 0


class InLinks:
    """The links that scores of candidates are made of, for some ``predicates``, in a ``table``.

    Whoever changes rows of linking pages says so by `bring_up`.
    """

    def __init__(self, vocabulary: Vocabulary, predicates: Iterable[str] = (), most: int | None = None) -> None:
        self._vocabulary = vocabulary
        self._predicates = tuple(predicates)
        self._most = CACHED_BYTES + PREDICATE_BYTES * len(self._predicates) if most is None else most
        self.forget()

    def forget(self) -> None:
        """Forget all links: the rows may be others now."""
        self.table = LinkTable(len(self._predicates))
        self._pages: dict[tuple[int, bytes], _Linking] = {}
        # By candidate its linking pages that count, and the places of their links to it.
        self._places: dict[bytes, tuple[Sequence[bytes], list[int]]] = {}

    def of(self, shard: Rows, targets: Iterable[tuple[bytes, Sequence[bytes]]]) -> list[list[int]]:
        """Return the places of the in-links that count, of each target by its identifier and linking pages."""
        if self.table.bytes + PAGE_BYTES * len(self._pages) > self._most:
            self._let_go()
        if len(self._places) > CACHED_TARGETS:
            self._places = {}
        asked = [(target, parents[:IN_LINKS]) for target, parents in targets]
        unknown = {
            target: parents
            for target, parents in asked
            if parents and ((known := self._places.get(target)) is None or known[0] != parents)
        }
        if unknown:
            self._take_up(shard, unknown)
        return [self._places[target][1] if parents else [] for target, parents in asked]

    def _take_up(self, shard: Rows, unknown: dict[bytes, Sequence[bytes]]) -> None:
        """Take up the links to some targets: their pages, where these are new, and what the links say."""
        pages = dict.fromkeys(chain.from_iterable(unknown.values()))
        new = [name for name in pages if (shard.partition, name) not in self._pages]
        for name in new:
            self._pages[shard.partition, name] = self._numbered(parent_of(shard, name))
        self.bring_up(shard, new)
        found: dict[bytes, tuple[Sequence[bytes], list[int]]] = {}
        links: list[int] = []
        said: list[Sequence[str]] = []
        for target, parents in unknown.items():
            known = dict(zip(*self._places.get(target, ((), ())), strict=True))
            for name in parents:
                if name in known:  # mostly one page more has come to link there
                    continue
                linking = self._pages[shard.partition, name]
                number = place_of(linking.targets, target)
                place = known[name] = linking.page.first + number
                if self.table.silent(place):
                    links.append(place)
                    said += parent_of(shard, name).words_at(number)
            found[target] = parents, [known[name] for name in parents]
        words = self._vocabulary.words(chain.from_iterable(said))
        self.table.say(links, words, list(map(len, said)))
        self._places |= found

    def _numbered(self, row: ParentRow) -> _Linking:
        words = self._vocabulary.words(row.text.split())
        page = self.table.add(row.positions, words, self._satisfied(row.verdict))
        return _Linking(page, row.targets, row.time)

    def bring_up(self, shard: Rows, names: Iterable[bytes]) -> None:
        """Bring linking pages that are known up to their rows: verdicts, theirs or of targets, came or grew."""
        pages: list[LinkingPage] = []
        positions: list[int] = []
        verdicts: list[Verdict] = []
        for name in names:
            linking = self._pages.get((shard.partition, name))
            if linking is None:
                continue
            children = children_of(shard, name)
            if not self._revise(linking, shard, name, children):
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
        """Where a verdict became another, or the page's own, have all told again.

        One that was judged again is dropped until it is asked for: return whether it is still there.
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
