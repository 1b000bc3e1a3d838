"""The policies to compare with, on webs whose order can be worked out by hand."""

import math
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from scentline.models.page import Link, Page
from scentline.models.trace import Step, Trace
from scentline.models.url import identifier
from scentline_lab.simulation.queries import BestFirst, SharkSearch
from scentline_lab.simulation.simple import (
    Backlink,
    Board,
    BreadthFirst,
    Chance,
    Opic,
    Oracle,
)
from scentline_lab.simulation.trained import (
    FOLDS,
    Hindsight,
    Informed,
    LinkClassifier,
    cross_fitted,
    linear,
    logistic,
    platt,
)
from scentline_lab.simulation.virtual import Crawler, Task, Terms, virtual_crawl
from tests.cases import each_case


def task(*keywords: str, log: Iterable[str] = (), seed: int = 1) -> Task:
    return Task(keywords, Trace([Step("u", url, float(time)) for time, url in enumerate(log)]), Random(seed))


def page(url: str, targets: str = "", words: str = "", **anchors: str) -> Page:
    """Return a page that links to each letter of ``targets``, ``anchors`` giving the words of the link."""
    links = (Link(to, tuple(anchors.get(to, "").split()), position=n) for n, to in enumerate(targets))
    return Page(url, words=tuple(words.split()), links=tuple(links))


def order(crawler: Crawler, pages: Iterable[Page], seeds: str, hits: str = "") -> str:
    known = {found.url: found for found in pages}
    asked = virtual_crawl(known, set(hits), seeds, crawler, Terms(100))
    return "".join(request.url for request in asked if request.page)


LINKS = {"a": "bc", "b": "dc", "c": "fe", "d": "e", "e": "", "f": "", "x": "y", "y": ""}
WEB = [page(url, targets) for url, targets in LINKS.items()]


def link_page(url: str, *links: tuple[str, str, str]) -> Page:
    """Return a page with links by target, anchor and context."""
    found = (
        Link(to, tuple(anchor.split()), tuple(near.split()), n) for n, (to, anchor, near) in enumerate(links)
    )
    return Page(url, links=tuple(found))


def leaves(urls: str) -> list[Page]:
    return [page(url) for url in urls]


TEXTS = [page("a", "bcde", b="sea sun", c="snow", d="snow alps sea", e="snow sea"), *leaves("bcde")]
CASH = [page("a", "f"), page("b", "gh"), page("c", "gh"), *leaves("fgh")]
VIRTUAL = [page("a", "dghijklmn"), page("o", "bc"), page("c", "ef"), *leaves("defghijklmn")]
SHARK = [
    link_page(
        "a", ("b", "sea", "snow alps"), ("c", "snow sea", ""), ("d", "snow", ""), ("e", "sea", "")
    ), *leaves("bcde"),
]  # fmt: skip
BEST = [page("a", "b"), page("x", "ed"), page("b", "d"), page("e", "d"), page("d")]
INHERITED = [
    page("a", "b"), link_page("x", ("e", "sea", "snow alps"), ("f", "snow a b c d", "")), page("b", "c"),
    page("c", "d"), *leaves("def"),
]  # fmt: skip


@each_case(
    ("crawler", "web", "seeds", "hits", "expected"),
    [
        # What the log alone knows comes last; a seed that it knows is a seed.
        (BreadthFirst(task(log="xfy")), WEB, "a", "", "abcdfexy"),
        (BreadthFirst(task(log="xa")), WEB, "ca", "", "cafebdxy"),
        (BestFirst(task(log="xfy")), WEB, "a", "", "abcdfexy"),
        (SharkSearch(task(log="xfy")), WEB, "a", "", "abcdfexy"),
        (LinkClassifier(task(log="xfy")), WEB, "a", "", "abcdfexy"),
        # After a, b, c: d has one link, f one, e one; d was found first, and its link makes e two.
        (Backlink(task(log="x")), WEB, "a", "", "abcdefxy"),
        (Backlink(task()), [page("a", "bcd"), page("b", "d"), *leaves("cd")], "a", "", "abdc"),
        (Backlink(task()), [page("a", "bccd"), page("d", "e"), *leaves("bce")], "a", "", "abcde"),
        (Oracle({"e", "y"}), WEB, "a", "ey", "abcedf"),
        # Two of three words, then one of one beside one of two; all words weigh alike, as no page has them.
        (BestFirst(task("snow", "alps")), TEXTS, "a", "", "adceb"),
        # f has a half of a's cash; g and h a third of b's and c's. Without the virtual page f had as much.
        (Opic(task(log="x")), CASH, "abc", "", "abcghf"),
        # b and d have a half each; d would have more if it counted four times.
        (Opic(task()), [page("a", "b"), page("c", "dddd"), *leaves("bd")], "ac", "", "acbd"),
        # d has a third, and b a quarter; if the link from c to itself counted, they would have the same.
        (Opic(task()), [page("a", "bef"), page("c", "cdg"), *leaves("bdefg")], "ac", "", "acdgbef"),
        # d and eight others have a tenth of a's, b and c a third of o's, the virtual page the rest, 13/30: so
        # each of the thirteen gets 1/30. The dead link b leaves 11/30 to it. Of c's 11/30 e and f have a third
        # each, more than d's tenth, but less than what d has by now; what all get later makes no difference.
        (Opic(task()), VIRTUAL, "ao", "", "aocdghijklmnef"),
        # The keyword, on no page yet, as one word of two has similarity .71. b: .2 * .71; c: .8 * .71 + .2, as
        # the context of an anchor that has some counts 1; d: .8 + .2.
        (SharkSearch(task("snow")), SHARK, "a", "", "adcbe"),
        # Of the hit a, b has .5 * .5; of that c, by b, a half, .125, and d, by c, .0625. Of x, which is none, e
        # has .5 * .2 * .71 = .07 by its context, and f .5 * (.8 * .45 + .2) = .28 by a fifth of its anchor.
        (SharkSearch(task("snow")), INHERITED, "ax", "a", "axfbced"),
        # e was found first; d has half a hit's half by b, though x links to it too, before and after.
        (SharkSearch(task("snow")), BEST, "ax", "a", "axbde"),
    ],
)  # fmt: skip
def test_the_order_of_a_web_by_hand(
    crawler: Crawler, web: list[Page], seeds: str, hits: str, expected: str
) -> None:
    assert order(crawler, web, seeds, hits) == expected


def test_chance_draws_every_candidate_alike() -> None:
    web = [page("a", "bc"), page("b"), page("c"), page("d")]
    crawls = Counter(order(Chance(task(log="d", seed=seed)), web, "a") for seed in range(600))
    assert set(crawls) == {"abcd", "abdc", "acbd", "acdb", "adbc", "adcb"}
    assert all(70 < times < 130 for times in crawls.values())
    assert order(Chance(task(seed=4)), WEB, "a") == order(Chance(task(seed=4)), WEB, "a")


def cosine(text: Counter[str], query: Counter[str], pages: list[Page]) -> float:
    def weight(word: str) -> float:
        return math.log((1 + len(pages)) / (1 + sum(word in found.words for found in pages)))

    length = math.sqrt(sum((times * weight(word)) ** 2 for word, times in text.items()))
    product = sum(times * query[word] * weight(word) ** 2 for word, times in text.items())
    return product / length if length else 0.0


def some(random: Random, most: int) -> tuple[str, ...]:
    return tuple(random.choices(["ski", "sea", "sun", "alps", "snow", "the"], k=random.randint(0, most)))


@given(st.integers(0, 10_000))
def test_each_choice_is_the_candidate_of_the_highest_cosine(seed: int) -> None:
    # Up to ten pages the weights are worked out at every page.
    random, crawler, pages = Random(seed), BestFirst(task()), list[Page]()
    texts, query = {"a": Counter[str]()}, Counter[str]()
    crawler.add_seed("a")
    while (choice := crawler.next()) is not None and len(pages) < 10:
        if pages:
            left = texts.keys() - {found.url for found in pages}
            best = max(cosine(texts[url], query, pages) for url in left)
            assert cosine(texts[choice.url], query, pages) == pytest.approx(best, abs=1e-9)
        targets = random.choices("abcdefghijkl", k=5)
        links = tuple(Link(to, some(random, 3), some(random, 4), n) for n, to in enumerate(targets))
        pages.append(Page(choice.url, words=tuple(dict.fromkeys(some(random, 6))), links=links))
        holds = random.random() < 0.5
        crawler.judged(pages[-1], holds)
        query.update(pages[-1].words if holds else ())
        for link in links:
            texts.setdefault(link.url, Counter()).update((*link.anchor, *link.context))


URLS = [f"http://a.test/{number}" for number in range(60)]
HITS = frozenset(URLS[::4])
HUB = "http://a.test/hub"


def linked(hits: frozenset[str] = HITS) -> dict[str, Page]:
    """Return a hub that links to pages; the anchor says which are hits."""
    links = (Link(url, ("ski" if url in hits else "sea", "report"), position=n) for n, url in enumerate(URLS))
    return {HUB: Page(HUB, links=tuple(links))} | {url: Page(url) for url in URLS}


def test_the_link_classifier_learns_which_anchors_lead_to_hits() -> None:
    hits = frozenset(URLS[::3])
    fetched = virtual_crawl(linked(hits), hits, [HUB], LinkClassifier(task()), Terms(61))
    # The hub, then breadth-first until there are ten pages, three hits among them, then all other hits.
    assert [found.url for found in fetched[1:10]] == URLS[:9]
    assert [found.hit for found in fetched[10:]] == [True] * 17 + [False] * 34
    assert all(found.probability is None for found in fetched[:10])
    assert all(found.probability is not None for found in fetched[10:])
    assert all(((found.probability or 0) > 0.5) == found.hit for found in fetched[10:])


def test_platt_gives_the_rate_of_each_margin() -> None:
    margins = np.repeat([-1.0, 1.0], 1000)
    labels = np.concatenate((np.arange(1000) < 100, np.arange(1000) < 700))
    slope, offset = platt(margins, labels)
    said = [1 / (1 + math.exp(-(slope * margin + offset))) for margin in (-1, 1)]
    assert said == pytest.approx([0.1, 0.7], abs=0.003)
    assert platt(margins, ~labels)[0] == 0, "a slope never falls"


@given(st.lists(st.tuples(st.sampled_from("abcdefxy"), st.integers(-1, 5)), max_size=400))
def test_the_board_gives_what_a_sort_would(puts: list[tuple[str, int]]) -> None:
    # -1 stands for closing; x and y are known from the log at first.
    board = Board("xy")
    scores: dict[str, int] = {}
    closed: set[str] = set()
    for url, score in puts:
        if score < 0:
            board.close(url)
            closed.add(url)
        else:
            board.put(url, score)
            scores[url] = score
            assert board.scored(url) == score
        ranked = sorted(scores.keys() - closed, key=lambda name: (-scores[name], list(scores).index(name)))
        late = [name for name in "xy" if name not in closed and name not in scores]
        assert deepcopy(board).take() == next(iter(ranked + late), None)
        assert len(board) == len(scores)


def test_it_takes_the_hits_that_words_of_links_tell_from_the_first_choice_on() -> None:
    pages = linked()
    crawler = Informed(Hindsight(pages).expected(HITS))
    asked = virtual_crawl(pages, HITS, [HUB], crawler, Terms(61))
    assert [request.hit for request in asked] == [False] + 15 * [True] + 45 * [False]
    dead = [Link(f"http://a.test/old/{number}", ("ski", "gone"), position=100 + number) for number in range(30)]
    pages[HUB] = Page(HUB, links=(*pages[HUB].links, *dead))
    expected = Hindsight(pages).expected(HITS)
    assert max(expected[link.url] for link in dead) < min(expected[url] for url in HITS), "a word of dead links"


def test_no_label_teaches_of_itself_or_its_fold() -> None:
    pages = linked()
    before = Hindsight(pages).expected(HITS)
    for fold in range(FOLDS):
        here = {url for url in URLS if identifier(url)[0] % FOLDS == fold}
        assert here
        # Whatever this fold's labels are, what it is told stays; and what others are told does not.
        after = Hindsight(pages).expected(HITS ^ here)
        assert {url: after[url] for url in here} == {url: before[url] for url in here}
        assert all(after[url] != before[url] for url in before.keys() - here)


def test_where_all_labels_are_alike_they_are_the_probability() -> None:
    texts = csr_array(np.eye(3))
    folds, taught = np.array([0, 1, 2]), np.ones(3, np.bool_)
    assert cross_fitted(texts, np.zeros(3, np.bool_), taught, folds).tolist() == [0, 0, 0]
    assert cross_fitted(texts, taught, taught, folds).tolist() == [1, 1, 1]
    # Rows 0 to 3 have a word and are hits in turn; row 4, of a fold of its own, is not taught.
    labels = np.array([True, False, True, False, True])
    chances = cross_fitted(csr_array(np.ones((5, 1))), labels, np.arange(5) < 4, np.array([0, 0, 1, 1, 2]))
    assert chances[4] == pytest.approx(0.5, abs=1e-6)


def test_the_regression_is_where_its_slope_is_nought() -> None:
    # One word in half the rows: with the penalty 0.1 on it, and none on the bias, at weights w and b, sums of
    # (label - probability) are 0.1 w over the rows with the word, and 0 over all.
    words = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    labels = np.array([True, True, False, True, False, False])
    weight, bias = linear(csr_array(words[:, np.newaxis]), labels, logistic)
    wrong = labels - 1 / (1 + np.exp(-(weight * words + bias)))
    assert wrong.sum() == pytest.approx(0, abs=1e-4)
    assert (wrong * words).sum() == pytest.approx(0.1 * weight, abs=1e-4)
    assert 0 < weight < 2 * math.log(2)
