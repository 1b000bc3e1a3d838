"""The learned policy's inputs, beside plain Python that says what they are."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ledger import Ledger
from scentline.models.policy.batch import LinkingPage, LinkTable, inputs_of
from scentline.models.policy.candidate import Candidate, CoVisits, Crowd
from scentline.models.policy.features import ANCHOR, BASE, DRIFT, PAGE_WORD, PREFIX, USER, Shrunk, link
from scentline.models.policy.inputs import NAMES, PLAIN, inputs_with
from scentline.models.policy.knowledge import Knowledge
from scentline.models.policy.vocabulary import Vocabulary
from tests.models import teaching
from tests.models.teaching import CELLS, KIND_NAMES, SOME_WORDS, WORDS, Cell, PlainLink, lift, teach

# Of what is kept in seven digits.
KEPT = 1e-5


USERS = ["u1", "u2", "u3"]
PREFIXES = ("org", "example.org", "example.org/a")
FEATURES = [
    *(kind + word for kind in KIND_NAMES for word in WORDS), *(USER + user for user in USERS),
    *(PREFIX + prefix for prefix in PREFIXES), link("p", True), link("p", False), link("other", True),
]  # fmt: skip
CROWDS = st.builds(
    Crowd,
    st.integers(0, 50),
    st.lists(st.sampled_from(USERS), unique=True),
    st.lists(st.builds(lambda covisits, near: CoVisits(*covisits, *near), CELLS, CELLS), min_size=2, max_size=2)
    | st.just([]),
)


class PlainPage(NamedTuple):
    """A linking page: its words, those in, around and above its links, and each predicate's verdicts.

    ``judged`` are the verdicts on its link targets by position; a predicate that has none says None.
    """

    words: list[str]
    links: list[tuple[list[str], list[str], list[str]]]
    verdict: list[bool]
    judged: dict[int, list[bool | None]]

    def link(self, predicate: int, position: int) -> PlainLink:
        verdicts = {place: verdict[predicate] for place, verdict in self.judged.items()}
        children = {place: holds for place, holds in verdicts.items() if holds is not None}
        return PlainLink(self.verdict[predicate], self.words, *self.links[position], children, position)

    def added(self, table: LinkTable, vocabulary: Vocabulary) -> LinkingPage:
        return added(table, vocabulary, self.words, self.links, self.verdict)

    def tell(self, table: LinkTable, page: LinkingPage, places: list[int]) -> None:
        if places:
            told = [[(holds is not None, bool(holds)) for holds in self.judged[place]] for place in places]
            table.judged([page] * len(places), places, np.array(told, float).transpose(1, 0, 2))


def added(
    table: LinkTable, vocabulary: Vocabulary, words: Sequence[str], links: Sequence[Sequence[Sequence[str]]],
    verdict: Sequence[bool] = (False,), positions: Sequence[int] | None = None,
) -> LinkingPage:  # fmt: skip
    places = range(len(links)) if positions is None else positions
    page = table.add(places, vocabulary.words(words), np.array(verdict, float))
    said = vocabulary.words(word for link in links for part in link for word in part)
    table.say(range(page.first, page.first + page.links), said, [len(part) for link in links for part in link])
    return page


class PlainCandidate(NamedTuple):
    """A candidate as plain data; ``links`` are places in a list of pages, and positions there."""

    url_words: list[str]
    depth: int
    links: dict[int, int]
    parents: list[tuple[int, int]]
    crowd: Crowd | None
    place: tuple[int, bool]

    def as_told(self, vocabulary: Vocabulary, pages: list[LinkingPage]) -> Candidate:
        links = [pages[page].first + position for page, position in self.links.items()]
        numbers = vocabulary.numbers(self.url_words)
        return Candidate(numbers, PREFIXES[: self.depth], links, self.parents, self.crowd, *self.place)


PREDICATES, PAGES, POSITIONS = 2, 3, 6
A_PAGE = st.builds(
    PlainPage,
    SOME_WORDS,
    st.lists(st.tuples(SOME_WORDS, SOME_WORDS, SOME_WORDS), min_size=POSITIONS, max_size=POSITIONS),
    st.lists(st.booleans(), min_size=PREDICATES, max_size=PREDICATES),
    st.dictionaries(
        st.integers(0, POSITIONS + 4),
        st.lists(st.none() | st.booleans(), min_size=PREDICATES, max_size=PREDICATES),
    ),
)
CANDIDATE = st.builds(
    PlainCandidate, SOME_WORDS, st.integers(0, 3),
    st.dictionaries(st.integers(0, PAGES - 1), st.integers(0, POSITIONS - 1)),
    st.lists(CELLS, min_size=PREDICATES, max_size=PREDICATES), CROWDS | st.none(),
    st.tuples(st.integers(0, 9), st.booleans()),
)  # fmt: skip


class Learnt(NamedTuple):
    """What one predicate has learned."""

    counts: dict[str, Cell]
    base: tuple[int, int]
    topic: list[str]

    def knowledge(self, vocabulary: Vocabulary, name: str = "p") -> Knowledge:
        """Return what knows the counts, as those of a predicate with this name."""
        own = {link("p", holds): link(name, holds) for holds in (True, False)}
        counts = {own.get(feature, feature): cell for feature, cell in self.counts.items()}
        knowledge = Knowledge(name, vocabulary, self.topic)
        teach(knowledge, {**counts, BASE: self.base}, name)
        # Far enough from the rate before for the words to be weighed anew.
        if abs(knowledge.rate - 0.1) <= DRIFT * 0.1:
            knowledge.words.rebase(Shrunk(0.5))
            teach(knowledge, {}, name)
        return knowledge


LEARNT = st.builds(
    Learnt, st.dictionaries(st.sampled_from(FEATURES), CELLS, max_size=15), CELLS,
    st.lists(st.sampled_from(WORDS), unique=True, max_size=2),
)  # fmt: skip


@given(
    learnt=st.lists(LEARNT, min_size=PREDICATES, max_size=PREDICATES),
    pages=st.lists(A_PAGE, min_size=PAGES, max_size=PAGES),
    candidates=st.lists(CANDIDATE, min_size=1, max_size=4),
    late=st.integers(0, 3),
    kept=st.lists(st.booleans(), min_size=PAGES + 1, max_size=PAGES + 1),
)
def test_the_inputs_are_those_that_are_described_and_pages_that_are_kept_are_worth_what_they_were(
    learnt: list[Learnt], pages: list[PlainPage], candidates: list[PlainCandidate], late: int, kept: list[bool]
) -> None:
    vocabulary, table = Vocabulary(Ledger()), LinkTable(PREDICATES)
    knowledge = [each.knowledge(vocabulary, f"p{number}") for number, each in enumerate(learnt)]
    added = [page.added(table, vocabulary) for page in pages]
    for page, linking in zip(pages, added, strict=True):
        page.tell(table, linking, list(page.judged)[late:])
    if kept.pop():  # before anything is weighed
        added = table.keep(added)
    told = [candidate.as_told(vocabulary, added) for candidate in candidates]
    alone = [inputs_of(knowledge, table, [candidate]) for candidate in told]
    for page, linking in zip(pages, added, strict=True):
        page.tell(table, linking, list(page.judged)[:late])
    found = inputs_of(knowledge, table, told)
    if not late:
        assert np.concatenate(alone, axis=1) == pytest.approx(found, abs=KEPT)
    for number, each in enumerate(learnt):
        plain = teaching.PlainKnowledge(each.counts, each.base, each.topic)
        for candidate, inputs in zip(candidates, found[number].tolist(), strict=True):
            links = [pages[page].link(number, position) for page, position in candidate.links.items()]
            given_to = candidate.url_words, PREFIXES[: candidate.depth], links
            crowd = candidate.crowd or Crowd(0)
            beside = crowd.beside[number] if crowd.beside else CoVisits()
            expected = plain.inputs(*given_to, candidate.parents[number], crowd, beside, candidate.place)
            assert inputs == pytest.approx(expected, abs=KEPT)

    def worth(linking: LinkingPage) -> list[float]:
        places = range(linking.first, linking.first + linking.links)
        of_links = [Candidate((), (), [place], [(0, 0)] * PREDICATES) for place in places]
        values: list[float] = inputs_of(knowledge, table, of_links).ravel().tolist()
        return values

    before = [worth(linking) for linking in added]
    left = table.keep(linking for linking, stays in zip(added, kept, strict=True) if stays)
    left.append(pages[0].added(table, vocabulary))  # what comes later lies behind them
    pages[0].tell(table, left[-1], list(pages[0].judged))
    had = [values for values, stays in zip([*before, before[0]], [*kept, True], strict=True) if stays]
    for linking, values in zip(left, had, strict=True):
        assert worth(linking) == pytest.approx(values, abs=KEPT)


def test_a_link_is_silent_until_it_is_told_what_it_says() -> None:
    vocabulary, table = Vocabulary(Ledger()), LinkTable(1)
    page = table.add([0, 1], vocabulary.words(["ski"]), np.ones(1))
    table.say([page.first], vocabulary.words(["alps"]), [1, 0, 0])
    assert table.silent([page.first, page.first + 1]) == [page.first + 1]
    (page,) = table.keep([page])
    assert table.silent([page.first, page.first + 1]) == [page.first + 1]


def taught(counts: dict[str, Cell]) -> tuple[Knowledge, Vocabulary, LinkTable]:
    vocabulary = Vocabulary(Ledger())
    knowledge = Knowledge("p", vocabulary)
    teach(knowledge, counts)
    return knowledge, vocabulary, LinkTable(1)


def test_verdicts_that_grew_are_told_anew() -> None:
    knowledge, vocabulary, table = taught({link("p", True): (5, 5), BASE: (100, 10)})
    page = added(table, vocabulary, [], [((), (), ())] * 2)
    candidate = Candidate((), (), [page.first], [(1, 0)])
    table.judged([page], [1], np.array([[[1.0, 0.0]]]))
    before = inputs_of([knowledge], table, [candidate])[0, 0, :3].tolist()
    assert before == pytest.approx([0, lift(1, 0, 0.1), lift(1, 0, 0.1, 1.0)])
    table.set_verdict(page, np.ones(1))
    table.forget_judged(page)
    table.judged([page], [1], np.array([[[1.0, 1.0]]]))
    after = inputs_of([knowledge], table, [candidate])[0, 0, :3].tolist()
    assert after == pytest.approx([lift(5, 5, 0.1), lift(1, 1, 0.1), lift(1, 1, 0.1, 1.0)])


def test_a_table_grows_beyond_the_room_that_it_has_at_first() -> None:
    knowledge, vocabulary, table = taught({ANCHOR + "ski": (8, 8), BASE: (100, 10)})
    pages = [added(table, vocabulary, [], [(["ski"], (), ())] * 700) for _ in range(4)]
    assert table.bytes >= 2_800 * 7 * 8
    told = [Candidate((), (), [page.first + 699], [(1, 0)]) for page in pages]
    anchors = inputs_of([knowledge], table, told)[0, :, NAMES.index("anchor words as anchors")]
    assert anchors.tolist() == pytest.approx([lift(8, 8, 0.1)] * 4)


def test_the_words_of_a_linking_page_are_weighed_anew_after_a_few_pages() -> None:
    knowledge, vocabulary, table = taught({BASE: (1000, 100)})
    linking = added(table, vocabulary, ["ski"], [((), (), ())], [True])
    candidate = Candidate((), (), [linking.first], [(1, 1)])

    def page() -> float:
        return float(inputs_of([knowledge], table, [candidate])[0, 0, NAMES.index("parent page")])

    assert page() == 0.0
    teach(knowledge, {PAGE_WORD + "ski": (8, 8), BASE: (1010, 101)})
    assert page() == 0.0, "less than 3 % of the pages are new"
    teach(knowledge, {BASE: (1040, 104)})
    assert page() == pytest.approx(lift(8, 8, 0.1), abs=0.01)


def test_every_input_has_a_plain_name_of_its_own_and_a_sentence() -> None:
    names = [entry.name for entry in inputs_with(meaning=True)]
    assert sorted(PLAIN) == sorted(names)
    assert len({plain.name for plain in PLAIN.values()}) == len(PLAIN)
    assert all(plain.means.endswith(".") and len(plain.means) < 120 for plain in PLAIN.values())
