"""A data directory of so many candidates, as a crawl leaves it: rows in bulk in the frontier's table."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rocksdict import WriteBatch

from scentline.agents.worker.connect import open_journal
from scentline.models.frontier.answers import Promised
from scentline.models.frontier.candidates import STARTED
from scentline.models.frontier.keys import (
    CHILDREN_PREFIX,
    PARENT_PREFIX,
    START_KEY,
    TOTALS_KEY,
    owner_key,
    page_key,
)
from scentline.models.frontier.linking import ChildrenRow, ParentRow
from scentline.models.frontier.rows import FrontierRow, HostRow, PageRow, TotalsRow
from scentline.models.page import Verdict
from scentline.models.url import host, identifier, owner
from scentline.streams.inbox import Codec
from scentline.streams.settings import Settings

#: Candidates a host on average, links a linking page, and in-links a candidate on average.
HOSTED, LINKS, IN_LINKS = 100, 40, 3
#: Linking pages of one candidate at most.
MOST_IN_LINKS = 8
#: Distinct words that are drawn for a linking page, for a link's anchor and around it; and all words there are.
PAGE_WORDS, ANCHOR, AROUND, ABOVE, WORDS = 200, 3, 8, 4, 20_000
#: Texts of each length that are drawn.
TEXTS = 9_973
#: One linking page in so many satisfies the first predicate, and the second.
HITS = (5, 31)
#: Rows written at once.
BATCH = 500

Row = tuple[bytes, FrontierRow]


def settings(directory: Path) -> Settings:
    """Return the settings of a crawl whose orders nobody answers, so that they are given again and again."""
    predicates = {"first": '"first"', "second": '"second"'}
    frontier = {"lease_seconds": 1.0, "attempts": 1_000_000}
    return Settings.model_validate({"data": directory, "predicates": predicates, "frontier": frontier})


class Web:
    """Candidates and the pages that link to them, by number: what each is like is a function of it."""

    def __init__(self, candidates: int) -> None:
        self.candidates = candidates
        self.linking = -(-candidates * IN_LINKS // LINKS)
        self._hosts = max(1, candidates // HOSTED)
        chance = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = ["".join(chance.choices(letters, k=chance.randint(3, 10))) for _ in range(WORDS)]
        self._texts = {number: self._drawn(number) for number in (PAGE_WORDS, ANCHOR, AROUND, ABOVE)}

    def _drawn(self, number: int) -> list[str]:
        """Draw texts of distinct words, a few of which come often."""
        drawn = (WORDS * np.random.default_rng(number).random((TEXTS, number)) ** 3).astype(int).tolist()
        return [" ".join(dict.fromkeys(self._words[word] for word in words)) for words in drawn]

    def text(self, number: int, place: int) -> str:
        """Return the text of so many words at a place."""
        return self._texts[number][place % TEXTS]

    def url(self, candidate: int) -> str:
        """Return the URL of a candidate; some hosts have many."""
        spread = candidate * 2_654_435_761 % 2**32
        number = int(self._hosts * (spread / 2**32) ** 2)
        section, title = self._words[spread % 997], self._words[spread // 7 % WORDS]
        return f"https://www.{self._words[number % WORDS]}{number}.org/{section}/{title}-{candidate}.html"

    def linking_url(self, page: int) -> str:
        """Return the URL of a linking page."""
        return f"https://www.{self._words[page % WORDS]}{page % self._hosts}.org/page/{page}.html"

    def targets(self, page: int) -> Iterator[int]:
        """Yield the candidates that a page links to: some near each other, some anywhere."""
        for place in range(page * LINKS, (page + 1) * LINKS):
            yield (place // IN_LINKS if place % 2 else place * 7919) % self.candidates

    def verdict(self, page: int) -> Verdict:
        """Return what the predicates said of a linking page."""
        first, second = HITS
        return {"first": page % first == 0, "second": page % second == 0}

    # rows

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the frontier's table."""
        for page in range(self.linking):
            yield from self._linking_rows(page)
        best: list[bytes] = []
        for candidate, parents in enumerate(self._in_links()):
            row = self._candidate(candidate, [page for page in parents.tolist() if page >= 0])
            if len(best) < STARTED and row.links["first"][1] > 1:
                best.append(identifier(row.url))
            yield page_key(row.url), row
        yield START_KEY, TotalsRow(best=best)
        verdicts = dict.fromkeys(("first", "second"), self.linking)
        yield TOTALS_KEY, TotalsRow(self.linking + self.candidates, judged=self.linking, verdicts=verdicts)

    def _linking_rows(self, page: int) -> Iterator[Row]:
        url, verdict = self.linking_url(page), self.verdict(page)
        linking = ParentRow(url, True, verdict, self.text(PAGE_WORDS, page), partitions=(0,), time=1.0)
        for place, target in enumerate(self.targets(page)):
            words = ((ANCHOR, target), (AROUND, target + page), (ABOVE, page + place // 5))
            said = "\t".join(self.text(count, number) for count, number in words)
            linking.add([identifier(self.url(target))], [place], [said])
        children = ChildrenRow()
        for place in (1, 2, 3):
            other = page + place
            children.note(identifier(self.linking_url(other)), self.verdict(other), place)
        name = identifier(url)
        yield PARENT_PREFIX + name, linking
        yield CHILDREN_PREFIX + name, children
        yield page_key(url), PageRow(url, 2, page, "judged", verdict=verdict, judged_at=1.0)
        yield owner_key(owner(host(url))), HostRow(promises=Promised())

    def _in_links(self) -> npt.NDArray[np.int32]:
        """Return the linking pages of each candidate, -1 where there are no more."""
        found = np.full((self.candidates, MOST_IN_LINKS), -1, np.int32)
        filled = np.zeros(self.candidates, np.int8)
        for page in range(self.linking):
            for target in self.targets(page):
                if filled[target] < MOST_IN_LINKS:
                    found[target, filled[target]] = page
                    filled[target] += 1
        return found

    def _candidate(self, candidate: int, parents: list[int]) -> PageRow:
        url = self.url(candidate)
        verdicts = [self.verdict(page) for page in parents]
        links = {name: [len(parents), sum(each[name] for each in verdicts)] for name in ("first", "second")}
        names = [identifier(self.linking_url(page)) for page in parents]
        return PageRow(url, 3, self.linking + candidate, parents=names, links=links)


def build(directory: Path, candidates: int) -> None:
    """Make the data directory."""
    encode = Codec[FrontierRow](FrontierRow).encode
    with open_journal(settings(directory)) as journal:
        store = journal.table("frontier")[0]

        rows = Web(candidates).rows()
        while batch := list(islice(rows, BATCH)):
            written = WriteBatch(raw_mode=True)
            store.stage(written, {key: encode(row) for key, row in batch})
            store.write(written)
