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

from scentline.models.crowd.trace import Step, Trace
from scentline.models.page import Link, Page
from scentline_lab.simulation.baselines.best_first import BestFirst
from scentline_lab.simulation.baselines.link_classifier import LinkClassifier, fit, platt
from scentline_lab.simulation.baselines.opic import Opic
from scentline_lab.simulation.baselines.queues import Board, Heap
from scentline_lab.simulation.baselines.shark_search import SharkSearch
from scentline_lab.simulation.baselines.simple import Backlink, BreadthFirst, Chance, Oracle, PageRank
from scentline_lab.simulation.baselines.texts import Query, Texts
from scentline_lab.simulation.crawler import Crawler, Task
from scentline_lab.simulation.virtual import Terms, virtual_crawl
from tests.cases import each_case
from tests.papers.ranks import dense


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


def test_breadth_first_takes_what_was_found_first_and_the_log_last() -> None:
    assert order(BreadthFirst(task(log="xfy")), WEB, "a") == "abcdfexy"


def test_a_seed_that_the_log_knows_is_a_seed() -> None:
    assert order(BreadthFirst(task(log="xa")), WEB, "ca") == "cafebdxy"


def test_backlink_takes_the_page_with_the_most_known_in_links() -> None:
    # After a, b, c: d has one link, f one, e one; d was found first, and its link makes e two.
    assert order(Backlink(task(log="x")), WEB, "a") == "abcdefxy"
    assert order(Backlink(task()), [page("a", "bcd"), page("b", "d"), page("c"), page("d")], "a") == "abdc"


def test_a_page_that_links_twice_counts_once() -> None:
    web = [page("a", "bccd"), page("b"), page("c"), page("d", "e"), page("e")]
    assert order(Backlink(task()), web, "a") == "abcde"


def test_the_oracle_takes_known_hits_first_else_goes_breadth_first() -> None:
    assert order(Oracle({"e", "y"}), WEB, "a", "ey") == "abcedf"


def test_chance_draws_every_candidate_alike() -> None:
    web = [page("a", "bc"), page("b"), page("c"), page("d")]
    crawls = Counter(order(Chance(task(log="d", seed=seed)), web, "a") for seed in range(600))
    assert set(crawls) == {"abcd", "abdc", "acbd", "acdb", "adbc", "adcb"}
    assert all(70 < times < 130 for times in crawls.values())


def test_chance_is_the_same_for_the_same_seed() -> None:
    assert order(Chance(task(seed=4)), WEB, "a") == order(Chance(task(seed=4)), WEB, "a")


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.text("abcdefghk", max_size=5), min_size=2))
def test_each_choice_is_the_candidate_of_the_highest_pagerank(links: dict[str, str]) -> None:
    crawler = PageRank(task(), every=1)
    numbers: dict[str, int] = {}
    edges: set[tuple[int, int]] = set()
    done = []
    seeds = list(links)[:2]
    for url in seeds:
        crawler.add_seed(url)
        numbers.setdefault(url, len(numbers))
    todo = list(seeds)
    while todo:
        url = todo.pop(0)
        done.append(url)
        if url not in links:
            crawler.failed(url)
        else:
            crawler.judged(page(url, links[url]), False)
        for target in dict.fromkeys(links.get(url, "")):
            number = numbers.setdefault(target, len(numbers))
            if target != url:
                edges.add((numbers[url], number))
        ranks = dense([one for one, _ in edges], [two for _, two in edges], len(numbers), 0.9)
        if todo:
            continue
        chosen = crawler.next()
        left = [ranks[number] for target, number in numbers.items() if target not in done]
        assert (chosen is None) == (not left)
        if chosen is not None:
            todo.append(chosen.url)
            assert ranks[numbers[chosen.url]] == pytest.approx(max(left), abs=1e-7)
    assert set(done) == set(numbers)


def test_between_computations_a_new_page_has_the_sum_of_its_in_links_shares() -> None:
    # With all ranks 1 at first: c and d have 1 + .9 / 2 of a, and e 1 + .9 of b, which is more; d gets the
    # share .9 * 1.9 of e and goes before c.
    web = [page("a", "cd"), page("b", "e"), page("c"), page("d"), page("e", "d")]
    assert order(PageRank(task(log="z")), web, "ab") == "abedc"


def test_best_first_takes_the_text_most_like_the_keywords() -> None:
    # Two of three words, then one of one beside one of two; all words weigh alike, as no page has them.
    web = [
        page("a", "bcde", b="sea sun", c="snow", d="snow alps sea", e="snow sea"),
        *(page(url) for url in "bcde"),
    ]
    assert order(BestFirst(task("snow", "alps")), web, "a") == "adceb"


def test_best_first_adds_up_the_texts_of_all_links() -> None:
    hub, rest = page("a", "bcd", b="snow sea", c="sea sea snow"), [page("c"), page("d")]
    assert order(BestFirst(task("snow")), [hub, page("b", "c", c="snow snow snow"), *rest], "a") == "abcd"
    assert order(BestFirst(task("snow")), [hub, page("b", "d", d="snow"), *rest], "a") == "abdc"


def test_best_first_without_keywords_looks_for_what_hits_have_and_others_lack() -> None:
    # "the" is in every page and weighs nothing, the hit among them.
    web = [
        page("a", "cd", "the snow", c="the the sea", d="the snow"),
        page("b", "e", "the sea", e="the the the"),
        *(page(url, words="the") for url in "cde"),
    ]
    assert order(BestFirst(task()), web, "ab", hits="a") == "abdce"


def test_best_first_goes_breadth_first_before_a_hit_and_takes_the_log_last() -> None:
    assert order(BestFirst(task(log="xfy")), WEB, "a") == "abcdfexy"


def cosine(text: Counter[str], query: Counter[str], pages: list[Page]) -> float:
    def weight(word: str) -> float:
        return math.log((1 + len(pages)) / (1 + sum(word in found.words for found in pages)))

    length = math.sqrt(sum((times * weight(word)) ** 2 for word, times in text.items()))
    product = sum(times * query[word] * weight(word) ** 2 for word, times in text.items())
    return product / length if length else 0.0


@given(st.integers(0, 10_000))
def test_each_choice_is_the_candidate_of_the_highest_cosine(seed: int) -> None:
    # Up to ten pages the weights are worked out at every page.
    random = Random(seed)
    vocabulary = ["ski", "sea", "sun", "alps", "snow", "the"]

    def some(most: int) -> tuple[str, ...]:
        return tuple(random.choices(vocabulary, k=random.randint(0, most)))

    def link(place: int) -> Link:
        return Link(random.choice("abcdefghijkl"), some(3), some(4), place)

    crawler = BestFirst(task())
    texts: dict[str, Counter[str]] = {"a": Counter()}
    query: Counter[str] = Counter()
    pages: list[Page] = []
    crawler.add_seed("a")
    while (choice := crawler.next()) is not None and len(pages) < 10:
        if pages:
            left = texts.keys() - {found.url for found in pages}
            best = max(cosine(texts[url], query, pages) for url in left)
            assert cosine(texts[choice.url], query, pages) == pytest.approx(best, abs=1e-9)
        fetched = Page(choice.url, words=tuple(dict.fromkeys(some(6))), links=tuple(map(link, range(5))))
        holds = random.random() < 0.5
        crawler.judged(fetched, holds)
        pages.append(fetched)
        query.update(fetched.words if holds else ())
        for found in fetched.links:
            texts.setdefault(found.url, Counter()).update((*found.anchor, *found.context))


def test_opic_hands_cash_on_in_equal_shares_one_of_them_to_the_virtual_page() -> None:
    # f has a half of a's; g and h a third of b's and of c's. Without the virtual page f would have as much.
    web = [page("a", "f"), page("b", "gh"), page("c", "gh"), *map(page, "fgh")]
    assert order(Opic(task(log="x")), web, "abc") == "abcghf"


def test_opic_counts_a_link_once_and_none_to_the_page_itself() -> None:
    # b and d have a half each; d would have more if it counted four times.
    assert order(Opic(task()), [page("a", "b"), page("c", "dddd"), page("b"), page("d")], "ac") == "acbd"
    # d has a third, and b a quarter; if the link from c to itself counted, they would have the same.
    web = [page("a", "bef"), page("c", "cdg"), *map(page, "bdefg")]
    assert order(Opic(task()), web, "ac") == "acdgbef"


def test_opics_virtual_page_hands_on_what_it_has_when_it_is_the_richest() -> None:
    # d and eight others have a tenth of a's, b and c a third of o's, the virtual page the rest, 13/30: so each
    # of the thirteen gets 1/30. The dead link b leaves 11/30 to it. Of c's 11/30 e and f have a third each,
    # more than d's tenth, but less than what d has by now; what all get later makes no difference.
    web = [page("a", "dghijklmn"), page("o", "bc"), page("c", "ef"), *map(page, "defghijklmn")]
    assert order(Opic(task()), web, "ao") == "aoc" + "dghijklmn" + "ef"


def test_shark_search_scores_by_anchor_then_context() -> None:
    # The keyword, on no page yet, as one word of two has similarity .71. b: .2 * .71; c: .8 * .71 + .2, as the
    # context of an anchor that has some counts 1; d: .8 + .2.
    links = (
        Link("b", ("sea",), ("snow", "alps"), 0),
        Link("c", ("snow", "sea"), (), 1),
        Link("d", ("snow",), (), 2),
        Link("e", ("sea",), (), 3),
    )
    assert order(SharkSearch(task("snow")), [Page("a", links=links), *map(page, "bcde")], "a") == "adcbe"


def test_shark_search_passes_a_hits_relevance_on_and_lets_it_decay() -> None:
    # Of the hit a, b has .5 * .5; of that c, by b, a half, .125, and d, by c, .0625. Of x, which is none, e has
    # .5 * .2 * .71 = .07 by its context, and f .5 * (.8 * .45 + .2) = .28 by a fifth of its anchor.
    other = (Link("e", ("sea",), ("snow", "alps"), 0), Link("f", ("snow", *"abcd"), (), 1))
    web = [page("a", "b"), Page("x", links=other), page("b", "c"), page("c", "d"), *map(page, "def")]
    assert order(SharkSearch(task("snow")), web, "ax", hits="a") == "axfbced"


def test_shark_search_goes_by_the_best_of_several_links() -> None:
    # e was found first; d has half a hit's half by b, though x links to it too, before and after.
    web = [page("a", "b"), page("x", "ed"), page("b", "d"), page("d"), page("e", "d")]
    assert order(SharkSearch(task("snow")), web, "ax", hits="a") == "axbde"


def test_shark_search_goes_breadth_first_without_a_hit_and_takes_the_log_last() -> None:
    assert order(SharkSearch(task(log="xfy")), WEB, "a") == "abcdfexy"


@given(st.integers(0, 10_000))
def test_cosines_of_several_texts_are_those_of_each(seed: int) -> None:
    random = Random(seed)

    def some(most: int) -> tuple[str, ...]:
        return tuple(random.choices(["ski", "sea", "sun", "alps", "snow", "the"], k=random.randint(0, most)))

    query, centroid, pages = Query((), Texts()), Counter[str](), list[Page]()
    for _ in range(6):
        pages.append(Page("", words=tuple(dict.fromkeys(some(6)))))
        holds = random.random() < 0.5
        query.count(pages[-1].words, holds)
        centroid.update(pages[-1].words if holds else ())
    # The product of the centroid with itself, by its length, is that length.
    length = cosine(centroid, centroid, pages)
    texts = [some(5) for _ in range(4)]
    expected = [cosine(Counter(text), centroid, pages) / length if length else 0.0 for text in texts]
    assert query.cosines(texts).tolist() == pytest.approx(expected)


def site(pages: int) -> list[Page]:
    """Return a hub that links to pages, every third of them a hit, which the anchor tells."""
    links = [
        Link(f"http://a.test/{n}", ("ski", "report") if n % 3 == 0 else ("sea", "report"), position=n)
        for n in range(pages)
    ]
    return [Page("http://a.test/hub", links=tuple(links)), *(Page(link.url) for link in links)]


def test_the_link_classifier_learns_which_anchors_lead_to_hits() -> None:
    web = {found.url: found for found in site(60)}
    hits = {f"http://a.test/{n}" for n in range(0, 60, 3)}
    fetched = virtual_crawl(web, hits, ["http://a.test/hub"], LinkClassifier(task()), Terms(61))
    # The hub, then breadth-first until there are ten pages, three hits among them, then all other hits.
    assert [found.url for found in fetched[1:10]] == [f"http://a.test/{n}" for n in range(9)]
    assert all(found.hit for found in fetched[10:27])
    assert not any(found.hit for found in fetched[27:])
    assert all(found.probability is None for found in fetched[:10])
    assert all(found.probability is not None and found.probability > 0.5 for found in fetched[10:27])
    assert all(found.probability is not None and found.probability < 0.5 for found in fetched[27:])


def test_the_link_classifier_knows_an_url_word_from_an_anchor_word() -> None:
    crawler = LinkClassifier(task(), every=4)
    first = [Link("http://a.test/ski"), Link("http://a.test/sea"), Link("http://b.test/1", ("ski",))]
    crawler.judged(Page("hub", links=tuple(first)), False)
    crawler.judged(Page("http://a.test/ski"), True)
    crawler.judged(Page("http://a.test/sea"), False)
    crawler.judged(Page("http://b.test/1"), False)
    links = (Link("http://c.test/2", ("ski",)), Link("http://c.test/ski", ("sea",)))
    crawler.judged(Page("other", links=links), False)
    choice = crawler.next()
    assert choice is not None
    assert choice.url == "http://c.test/ski"


def test_the_link_classifier_goes_breadth_first_without_a_hit_and_takes_the_log_last() -> None:
    assert order(LinkClassifier(task(log="xfy")), WEB, "a") == "abcdfexy"


def chosen(crawler: Crawler) -> str | None:
    """Return what would be chosen next."""
    choice = deepcopy(crawler).next()
    return None if choice is None else choice.url


def test_links_found_between_trainings_are_scored_like_all_others() -> None:
    # Trained once, at four pages; what the fifth page adds gives the score of the whole text anew.
    crawler = LinkClassifier(task(), every=4)
    links = [Link("b", ("ski",)), Link("c", ("sea",)), Link("d", ("sea", "ski")), Link("e", ("ski", "sea"))]
    for url, holds in (("hub", False), ("b", True), ("c", False), ("k", False)):
        crawler.judged(Page(url, links=tuple(links) if url == "hub" else ()), holds)
    # Candidates d and e have the same words, and d was found first.
    assert chosen(crawler) == "d"
    crawler.judged(page("l", "d", d="ski sea"), False)
    assert chosen(crawler) == "d"
    # A word that is new to the machine makes e longer, so less sure.
    crawler.judged(page("m", "e", e="sun"), False)
    assert chosen(crawler) == "d"


def test_the_machine_parts_rows_and_weighs_classes_alike() -> None:
    rows = np.arange(20, dtype=np.int32)
    labels = rows == 0
    machine = fit(rows, np.where(labels, 0, 1).astype(np.int32), labels, 3)
    assert machine.weights[0] + machine.bias > 0.5
    assert machine.weights[1] + machine.bias < -0.5
    assert machine.weights[2] == 0


@each_case("holds", [True, False])
def test_one_class_alone_is_an_error(holds: bool) -> None:
    nothing = np.zeros(2, np.int32)
    with pytest.raises(ValueError, match="expected hits and others"):
        fit(nothing, nothing, np.array([holds, holds]), 1)


def test_platt_gives_the_rate_of_each_margin() -> None:
    margins = np.repeat([-1.0, 1.0], 1000)
    labels = np.concatenate((np.arange(1000) < 100, np.arange(1000) < 700))
    slope, offset = platt(margins, labels)
    said = [1 / (1 + math.exp(-(slope * margin + offset))) for margin in (-1, 1)]
    assert said == pytest.approx([0.1, 0.7], abs=0.003)


@given(st.lists(st.tuples(st.floats(-5, 5), st.booleans()), min_size=1, max_size=30))
def test_platt_is_finite_and_never_falls(sample: list[tuple[float, bool]]) -> None:
    slope, offset = platt(np.array([one for one, _ in sample]), np.array([holds for _, holds in sample]))
    assert math.isfinite(slope)
    assert math.isfinite(offset)
    assert slope >= 0


PUTS = st.lists(st.tuples(st.sampled_from("abcdefxy"), st.integers(-1, 5)), max_size=400)


@given(PUTS)
def test_the_heap_gives_what_a_sort_would(puts: list[tuple[str, int]]) -> None:
    # -1 stands for closing; x and y are known from the log at first.
    heap = Heap("xy")
    live: dict[str, int] = {}
    found: list[str] = []
    closed: set[str] = set()
    for url, priority in puts:
        if priority < 0:
            heap.close(url)
            closed.add(url)
        elif url not in closed:
            heap.put(url, priority)
            live[url] = priority
            found += [] if url in found else [url]
        candidates = {"x": 0, "y": 0} | live
        ranked = sorted(
            candidates.keys() - closed,
            key=lambda name: (-candidates[name], found.index(name) if name in found else 100, name),
        )
        assert deepcopy(heap).take() == (ranked[0] if ranked else None)


@given(PUTS)
def test_the_board_gives_what_a_sort_would(puts: list[tuple[str, int]]) -> None:
    board = Board("xy")
    scores: dict[str, int] = {}
    closed: set[str] = set()
    for url, score in puts:
        if score < 0:
            board.close(url)
            closed.add(url)
        else:
            board.row(url)
            scores[url] = score
            board.score(list(scores.values()))
        ranked = sorted(scores.keys() - closed, key=lambda name: (-scores[name], list(scores).index(name)))
        late = [name for name in "xy" if name not in closed and name not in scores]
        assert deepcopy(board).take() == next(iter(ranked + late), None)
        assert len(board) == len(scores)


def test_a_board_grows_beyond_its_first_room() -> None:
    board = Board(())
    for number in range(3000):
        assert board.row(str(number)) == number
    board.score(list(range(3000)))
    assert (board.take(), board.take()) == ("2999", "2998")
    assert board.scored("1500") == 1500


def test_sums_over_occurrences_are_those_over_counts() -> None:
    texts = Texts()
    texts.add(1, ["ski", "ski", "sea", "ski"])
    texts.add(0, ["sea"])
    texts.add(1, ["sea"], field="anchor")
    rows, columns, repeats = texts.occurrences()
    counts = Counter(zip(rows.tolist(), columns.tolist(), strict=True))
    assert counts == {(1, 0): 3, (1, 1): 1, (0, 1): 1, (1, 2): 1}
    assert np.bincount(rows, 2 * repeats + 1).tolist() == [1, 9 + 1 + 1]
    assert np.bincount(rows, repeats == 0).tolist() == [1, 3]
    assert [part.tolist() for part in texts.occurrences(5)] == [[1], [2], [0]]
