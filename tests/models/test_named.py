"""How far links and URLs name the phrases of predicates, beside plain Python that says what it is."""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.learner.batch import inputs_of, named_of
from scentline.models.learner.candidate import Candidate
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.linking import LinkTable
from scentline.models.learner.named import ABOVE, AROUND, SAID, Named
from scentline.models.learner.words import LEAST, Vocabulary, root
from scentline.models.ledger import Ledger

WORDS = ["password", "passwords", "passwordhash", "time", "zone", "timezones", "zones", "sea", "seas", "x"]
SOME = st.lists(st.sampled_from(WORDS), max_size=4)
PHRASES = st.lists(
    st.lists(st.sampled_from(["password", "time", "zone", "sea", "hash"]), min_size=1, max_size=3).map(tuple),
    max_size=3,
)
LINKS = st.tuples(SOME, SOME, SOME)


def holds(word: str, sought: str) -> bool:
    found = root(sought)
    return found in word if len(found) >= LEAST else found == word


def part(word: str, phrases: Sequence[Sequence[str]]) -> float:
    """Return the part of a phrase that a word holds, of several the largest."""

    def parts() -> Iterator[float]:
        for phrase in phrases:
            if any(holds(word, each) for each in phrase):
                yield 1 / len(phrase)
            both = [first + second for first, second in pairwise(phrase)]
            if any(len(root(each)) >= LEAST and root(each) in word for each in both):
                yield 2 / len(phrase)

    return max(parts(), default=0.0)


def held(words: Sequence[str], phrases: Sequence[Sequence[str]]) -> float:
    return min(1.0, sum(part(word, phrases) for word in words))


def topic_of(phrases: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(phrases)))


@given(phrases=PHRASES, before=SOME, after=SOME, gone=st.booleans(), later=SOME)
def test_words_hold_what_they_hold_whenever_they_are_met(
    phrases: list[tuple[str, ...]], before: list[str], after: list[str], gone: bool, later: list[str]
) -> None:
    vocabulary = Vocabulary(Ledger())
    vocabulary.words(before)
    knowledge = Knowledge("p", vocabulary, topic_of(phrases), phrases)
    vocabulary.words(after)
    if gone:  # all words but those of phrases: they come back under other numbers
        knowledge.renumber(vocabulary.compact(knowledge.words.beside))
    vocabulary.words(later)
    numbers = vocabulary.words(WORDS)
    assert knowledge.named.by_word[numbers].tolist() == pytest.approx([part(each, phrases) for each in WORDS])


@given(
    phrases=st.lists(PHRASES, min_size=1, max_size=2),
    pages=st.lists(st.lists(LINKS, min_size=1, max_size=3), min_size=1, max_size=3),
    urls=st.lists(SOME, min_size=1, max_size=3),
    data=st.data(),
)
def test_a_candidate_is_put_forward_by_the_best_of_its_links_and_its_url(
    phrases: list[list[tuple[str, ...]]],
    pages: list[list[tuple[list[str], list[str], list[str]]]],
    urls: list[list[str]],
    data: st.DataObject,
) -> None:
    vocabulary, table = Vocabulary(Ledger()), LinkTable(len(phrases))
    knowledge = [
        Knowledge(str(number), vocabulary, topic_of(each), each) for number, each in enumerate(phrases)
    ]
    places: list[int] = []
    said: list[tuple[list[str], list[str], list[str]]] = []
    for links in pages:
        page = table.add(range(len(links)), vocabulary.words(["x", "time"]), np.zeros(len(phrases)))
        words = vocabulary.words(chain.from_iterable(chain.from_iterable(links)))
        sizes = [len(part) for link in links for part in link]
        table.say(range(page.first, page.first + page.links), words, sizes)
        places += range(page.first, page.first + page.links)
        said += links
    candidates, expected = [], []
    for url in urls:
        mine = data.draw(st.lists(st.integers(0, len(places) - 1), unique=True))
        candidates.append(
            Candidate(vocabulary.numbers(url), (), [places[each] for each in mine], [(0, 0)] * len(phrases))
        )
        expected.append([plain(url, [said[each] for each in mine], each) for each in phrases])
    if data.draw(st.booleans()):  # whoever looks first
        inputs_of(knowledge, table, candidates)
    assert named_of(knowledge, table, candidates).T.tolist() == pytest.approx(np.array(expected), abs=1e-6)


def plain(
    url: Sequence[str],
    links: Sequence[tuple[list[str], list[str], list[str]]],
    phrases: Sequence[Sequence[str]],
) -> float:
    found = [SAID * held(url, phrases)]
    for inside, around, above in links:
        found += [SAID * held(inside, phrases), AROUND * held(around, phrases), ABOVE * held(above, phrases)]
    return max(found)


def test_without_phrases_nothing_is_put_forward() -> None:
    vocabulary, table = Vocabulary(Ledger()), LinkTable(1)
    knowledge = Knowledge("p", vocabulary, ["sports"])
    candidate = Candidate(vocabulary.numbers(["sports"]), (), (), [(0, 0)])
    assert named_of([knowledge], table, [candidate]).tolist() == [[0.0]]
    assert not Named(vocabulary).any
