"""The bandit of tag paths: which links are an arm, and which arm is next."""

import math
from random import Random

from scentline.models.page import Link, Page
from scentline.models.trace import Step, Trace
from scentline_lab.simulation.simple import Arms, TagPaths
from scentline_lab.simulation.virtual import Task, Terms, virtual_crawl


def task(log: str = "", seed: int = 1) -> Task:
    return Task((), Trace([Step("u", url, float(time)) for time, url in enumerate(log)]), Random(seed))


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
