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
from scentline_lab.order.crawl import Backlinks
from scentline_lab.simulation.simple import (
    Arms,
    Board,
    BreadthFirst,
    Chance,
    Estimated,
    Opic,
    Ranked,
    TagPaths,
)
from scentline_lab.simulation.virtual import Crawler, Task, Terms, virtual_crawl
from scentline_lab.simulation.words import (
    FOLDS,
    BestFirst,
    Hindsight,
    Informed,
    LinkClassifier,
    SharkSearch,
    linear,
    logistic,
    platt,
)
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
    page("a", "b"), link_page("x", ("e", "sea", "snow alps"), ("f", "snow a b c d e g h", "")), page("b", "c"),
    page("c", "d"), *leaves("def"),
]  # fmt: skip


def by_backlinks(given: Task) -> Estimated:
    return Estimated(Backlinks[str](), given)


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
        (by_backlinks(task(log="x")), WEB, "a", "", "abcdefxy"),
        (by_backlinks(task()), [page("a", "bcd"), page("b", "d"), *leaves("cd")], "a", "", "abdc"),
        (by_backlinks(task()), [page("a", "bccd"), page("d", "e"), *leaves("bce")], "a", "", "abcde"),
        (Ranked(lambda url: float(url in "ey")), WEB, "a", "ey", "abcedf"),
        # Two of three words, then one of one beside one of two; all words weigh alike, as no page has them.
        (BestFirst(task("snow", "alps")), TEXTS, "a", "", "adceb"),
        # Without keywords by the words of hits: of two pages one has snow, and satisfies.
        (BestFirst(task()), [page("a", "bc", "snow", b="sea", c="snow"), page("x", "", "sea"), *leaves("bc")],
         "ax", "a", "axcb"),
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
        # has .5 * .2 * .71 = .07 by its context, and f .5 * (.8 * .35 + .2) = .24 by an eighth of its anchor.
        (SharkSearch(task("snow")), INHERITED, "ax", "a", "axbfced"),
        # e was found first; d has half a hit's half by b, though x links to it too, before and after.
        (SharkSearch(task("snow")), BEST, "ax", "a", "axbde"),
    ],
)  # fmt: skip
def test_orders_by_hand(crawler: Crawler, web: list[Page], seeds: str, hits: str, expected: str) -> None:
    assert order(crawler, web, seeds, hits) == expected


def test_chance_draws_every_candidate_alike() -> None:
    web = [page("a", "bc"), page("b"), page("c"), page("d")]
    crawls = Counter(order(Chance(task(log="d", seed=seed)), web, "a") for seed in range(600))
    assert set(crawls) == {"abcd", "abdc", "acbd", "acdb", "adbc", "adcb"}
    assert all(70 < times < 130 for times in crawls.values())
    assert order(Chance(task(seed=4)), WEB, "a") == order(Chance(task(seed=4)), WEB, "a")


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
        taken = deepcopy(board).next()
        assert (taken and taken.url) == next(iter(ranked + late), None)
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


# the bandit of tag paths: which links are an arm, and which arm is next


def hub(url: str, **paths: str) -> Page:
    """Return a page with a link by each path, to every letter given."""
    links = [(to, path.replace("_", " ")) for path, targets in paths.items() for to in targets]
    found = tuple(Link(to, position=n) for n, (to, _) in enumerate(links))
    return Page(url, links=found, paths=tuple(path for _, path in links))


def crawled(crawler: TagPaths, start: Page, leaves: str, hits: str) -> str:
    """Return the order of a crawl from a hub that links to ``leaves``."""
    pages = {page.url: page for page in [start, *map(Page, leaves)]}
    asked = virtual_crawl(pages, set(hits), [start.url], crawler, Terms(20))
    return "".join(request.url for request in asked)


def test_a_path_joins_the_arm_whose_mean_is_like_enough() -> None:
    # Pairs with both ends: " div", "div ul", "ul a", "a ". One of three in common is .29, two of four .5.
    arms, many = Arms(like=0.5), Arms(like=0.75)
    assert [arms.of(path) for path in ("div ul a", "p a", "div ol a", "div ul a", "")] == [0, 1, 0, 0, 2]
    wide = " ".join(f"tag{number}" for number in range(300))
    others = (f"x{number}" for number in range(200))
    assert [many.of(path) for path in (wide, *others, wide)] == [*range(201), 0]


def test_each_arm_is_tried_then_the_one_with_the_rewards() -> None:
    # Lists lead to hits, paragraphs and the footer don't: after one of each the list's six others come first.
    start = hub("s", p_a="klm", ul_li_a="bcdefgh", footer_div_a="xyz")
    order = crawled(TagPaths(task(), exploration=0.1), start, "klmbcdefghxyz", "bcdefgh")
    assert [{*"klm"} > {order[1]}, {*"bcdefgh"} > {order[2]}, {*"xyz"} > {order[3]}] == [True] * 3
    assert sorted(order[2] + order[4:10]) == list("bcdefgh")
    assert sorted(order) == sorted("sklmbcdefghxyz")


def test_the_bound_is_the_mean_reward_and_what_few_choices_leave_open() -> None:
    # Links of paragraphs (p) bring nothing, of lists (u) a hit. With 2 sqrt(2) sqrt(ln t / n): after p and u
    # 2.35 against 3.35; after another u 2.96 against 3.10; then 3.33 against 2.92; then 2.54 against 3.07.
    start, crawler = hub("s", p_a="klmn", ul_li_a="bcde"), TagPaths(task(), exploration=2 * math.sqrt(2))
    order = crawled(crawler, start, "klmnbcde", "bcde")
    assert "".join("p" if url in "klmn" else "u" for url in order[1:7]) == "puuupu"


def test_the_first_link_to_a_url_decides_and_a_dead_link_is_no_reward() -> None:
    crawler, chosen = TagPaths(task(), exploration=0.0), ""
    crawler.judged(hub("s", p_a="bc", ul_li_a="bde"), False)
    for number in range(4):
        choice = crawler.next()
        assert choice is not None
        chosen += choice.url
        if number == 1:
            crawler.judged(Page(chosen[0]), True)
            crawler.failed(chosen[1])
    assert [{chosen[0], chosen[2]}, {chosen[1], chosen[3]}] == [{*"bc"}, {*"de"}]
    assert crawler.next() is None


def test_seeds_come_before_arms_and_the_log_last() -> None:
    pages = {page.url: page for page in [hub("a", p_a="cx"), *map(Page, "bcxyz")]}
    terms = Terms(20, seeds_first=False)
    asked = "".join(r.url for r in virtual_crawl(pages, (), "ab", TagPaths(task(log="zyxa")), terms))
    assert [{*asked[:2]}, {*asked[2:4]}, asked[4:]] == [{*"ab"}, {*"cx"}, "zy"]
