"""The algorithms of Cho 1998, Figures 1 to 5: by hand, and against the figures read literally."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ordering.estimate import Crawled, Estimate
from scentline.models.ordering.rank import Rank
from scentline_lab.order.crawl import OCCURRENCES, Backlinks, Frontier, Heat, Mentions, NearHot, crawl, is_hot
from tests.papers.test_cho_importance import dense

WORD = "computer"

Links = Mapping[str, Sequence[str]]


def order(links: Links, estimate: Estimate[str] | None = None, start: str = "a") -> str:
    return "".join(crawl(start, lambda page: Crawled(page, links[page]), Frontier(estimate)))


# Figure 1 with each ordering of Figure 2, worked out by hand.
WEB = {"a": "bcd", "b": "e", "c": "fe", "d": "f", "e": "", "f": "e"}


def test_breadth_first_does_nothing_to_the_queue() -> None:
    assert order(WEB) == "abcdef"


def test_backlink_ordering_sorts_the_queue_by_the_links_seen() -> None:
    # Found: b, c, d with a link each. After b: e with one. After c: e has two, f one, d one.
    assert order(WEB, Backlinks()) == "abcedf"


def test_pagerank_ordering_sorts_the_queue_by_rank() -> None:
    # In units of what every page has, a has 1, and b, c and d have 1 + .9 / 3 = 1.3 each. After b, e has
    # 1 + .9 * 1.3 = 2.17. After c, f has 1 + .9 * 1.3 / 2 = 1.585, which is more than d.
    assert order(WEB, Rank(every=1)) == "abecfd"


# Figure 3: page 1 leads into the cluster A of pages that link to each other; a page of few links leads to 2,
# which has more backlinks than any of A, as shown by the pages t to z that it leads to.
CLUSTER = "ABCDE"
BEHIND = "tuvwxyz"
FRAGMENT = {
    "h": "13",
    "1": CLUSTER,
    **{page: CLUSTER.replace(page, "") for page in CLUSTER},
    "3": "2",
    "2": BEHIND,
    **dict.fromkeys(BEHIND, "2"),
}


def test_backlink_ordering_goes_deep_into_a_cluster_and_pagerank_does_not() -> None:
    assert order(FRAGMENT, Backlinks(), "h") == f"h13{CLUSTER}2{BEHIND}"
    assert order(FRAGMENT, Rank(every=1), "h").startswith("h132")


PAGES = "abcdefgh"
LINKS = st.fixed_dictionaries({
    page: st.lists(st.sampled_from(PAGES.replace(page, "")), unique=True, max_size=5) for page in PAGES
})  # fmt: skip


def basic_crawl(
    links: Links, key: Callable[[str, list[tuple[str, str]], list[str]], float]
) -> list[tuple[str, list[float]]]:
    """Return Figure 1 as it stands, with what the queue's keys were when each page left it."""
    found, queue, crawled, pairs = ["a"], ["a"], list[str](), list[tuple[str, str]]()
    steps = []
    while queue:
        keys = [key(page, pairs, crawled) for page in queue]
        best = max(range(len(queue)), key=lambda place: (keys[place], -found.index(queue[place])))
        page = queue.pop(best)
        steps.append((page, keys))
        crawled.append(page)
        for target in links[page]:
            pairs.append((page, target))
            if target not in queue and target not in crawled:
                queue.append(target)
                found.append(target)
    return steps


@given(LINKS)
def test_backlink_ordering_is_figure_2_read_literally(links: Links) -> None:
    def backlinks(page: str, pairs: list[tuple[str, str]], crawled: list[str]) -> float:
        return sum(target == page for _, target in pairs)

    assert order(links, Backlinks()) == "".join(page for page, _ in basic_crawl(links, backlinks))


@given(LINKS)
def test_pagerank_ordering_takes_a_page_of_the_highest_rank_at_every_step(links: Links) -> None:
    pairs: list[tuple[str, str]] = []
    left = {"a"}
    done: list[str] = []
    for page in order(links, Rank(every=1)):
        known = sorted({*done, *left})
        number = {name: place for place, name in enumerate(known)}
        ranks = dense([number[one] for one, _ in pairs], [number[two] for _, two in pairs], len(known), 0.9)
        assert ranks[number[page]] == pytest.approx(max(ranks[number[name]] for name in left), abs=1e-6)
        done.append(page)
        pairs += [(page, target) for target in links[page]]
        left = (left | set(links[page])) - set(done)
    assert not left


# Figures 4 and 5.
def hot(page: str, targets: str = "", **anchors: str) -> Crawled[str]:
    return topic_page(page, targets, {WORD: OCCURRENCES}, **anchors)


def topic_page(
    page: str, targets: str = "", words: Mapping[str, int] | None = None, **anchors: str
) -> Crawled[str]:
    return Crawled(page, targets, [anchors.get(to, "").split() for to in targets], (), words or {})


def topic_order(heat: Heat[str], *pages: Crawled[str]) -> str:
    web = {found.page: found for found in pages}
    return "".join(crawl(pages[0].page, web.__getitem__, Frontier(), heat))


def test_a_page_is_hot_by_its_title_or_by_ten_occurrences() -> None:
    assert is_hot(Crawled("a", title=["my", WORD]), WORD)
    assert is_hot(Crawled("a", words={WORD: 10}), WORD)
    assert not is_hot(Crawled("a", title=["computers"], words={WORD: 9}), WORD)


def test_the_basic_crawler_takes_what_mentions_the_word_first() -> None:
    pages = [topic_page("a", "bcd", d="a computer shop"), topic_page("b"), topic_page("c"), topic_page("d")]
    assert topic_order(Mentions(WORD, str), *pages) == "adbc"
    assert topic_order(Mentions(WORD, {"b": "/", "c": "/Computers/", "d": "/"}.__getitem__), *pages) == "acdb"


def test_a_page_stays_in_the_queue_that_it_was_put_into() -> None:
    # c is found without the word first: the figure does not move it when another anchor has the word.
    pages = [topic_page("a", "bdc"), topic_page("b", "c", c=WORD), topic_page("d"), topic_page("c")]
    assert topic_order(Mentions(WORD, str), *pages) == "abdc"


def test_the_modified_crawler_follows_hot_pages_two_links_far() -> None:
    # b is hot: its target e comes before c and d, then f, two links from b; g, three links from it, does not.
    pages = [
        topic_page("a", "bcd"), hot("b", "e"), topic_page("c"), topic_page("d"), topic_page("e", "f"),
        topic_page("f", "g"), topic_page("g"),
    ]  # fmt: skip
    assert topic_order(NearHot(WORD, str), *pages) == "abefcdg"
    assert topic_order(Mentions(WORD, str), *pages) == "abcdefg"


def distance(page: str, hot_pages: set[str], links: set[tuple[str, str]]) -> int:
    """Return distance_from_hotpage of Figure 5 as it stands."""
    if page in hot_pages:
        return 0
    if any((one, page) in links for one in hot_pages):
        return 1
    if any((one, two) in links and (two, page) in links for one in hot_pages for two in PAGES):
        return 2
    return 3


def literal(web: Mapping[str, Crawled[str]], modified: bool) -> str:
    """Return Figure 4 or 5 as it stands, but for the loop's condition, with first in, first out."""
    url_queue, hot_queue, crawled = ["a"], list[str](), list[str]()
    links: set[tuple[str, str]] = set()
    hot_pages: set[str] = set()
    while hot_queue or url_queue:
        url = hot_queue.pop(0) if hot_queue else url_queue.pop(0)
        page = web[url]
        if page.words.get(WORD, 0) >= 10 or WORD in page.title:
            hot_pages.add(url)
        crawled.append(url)
        links |= {(url, target) for target in page.targets}
        for target, anchor in page.links():
            if target in url_queue or target in hot_queue or target in crawled:
                continue
            near = modified and distance(target, hot_pages, links) < 3
            (hot_queue if WORD in anchor or near else url_queue).append(target)
    return "".join(crawled)


WEBS = st.fixed_dictionaries({
    page: st.builds(
        lambda targets, hot_links, count, page=page: Crawled(
            page, targets, [[WORD] if to in hot_links else ["other"] for to in targets], (), {WORD: count}
        ),
        st.lists(st.sampled_from(PAGES.replace(page, "")), unique=True, max_size=5),
        st.sets(st.sampled_from(PAGES), max_size=2),
        st.sampled_from([0, 9, 10]),
    )
    for page in PAGES
})  # fmt: skip


@given(WEBS)
def test_the_similarity_crawlers_are_figures_4_and_5_read_literally(web: Mapping[str, Crawled[str]]) -> None:
    def fetch(page: str) -> Crawled[str]:
        return web[page]

    crawlers: list[Heat[str]] = [Mentions(WORD, str), NearHot(WORD, str)]
    found = ["".join(crawl("a", fetch, Frontier(), heat)) for heat in crawlers]
    assert found == [literal(web, modified=False), literal(web, modified=True)]


@given(WEBS)
def test_a_hot_queue_is_in_the_order_of_the_estimate_too(web: Mapping[str, Crawled[str]]) -> None:
    counts = dict.fromkeys(PAGES, 0)
    first = crawl("a", web.__getitem__, Frontier(Backlinks()), Mentions[str](WORD, str))
    waiting: dict[str, bool] = {"a": False}
    found = ["a"]
    for page in first:
        best = max(waiting, key=lambda name: (waiting[name], counts[name], -found.index(name)))
        assert page == best
        del waiting[page]
        for target, anchor in web[page].links():
            counts[target] += 1
            if target not in found:
                found.append(target)
                waiting[target] = WORD in anchor
