"""Counts of pages, their links and a log, as each policy has them."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.factors import kept
from scentline.models.interest.features import split
from scentline.models.learner.lessons import LinkWords
from scentline.models.lessons import LinkFrom, lessons
from scentline.models.page import Link
from scentline.models.recount import JudgedPage, recount
from scentline.models.url import identifier
from tests.cases import each_case
from tests.models.webs import PAGES, STEPS
from tests.reference.counts import Counts, plain

YES = {"p": True}
NO = {"p": False}
A, B, C = (f"http://example.org/{name}" for name in "abc")
MANY = [f"http://example.org/{number}" for number in range(10)]


def linkage(pages: list[JudgedPage], parents: int = 32) -> Counts:
    return plain(recount(pages, "linkage", None, parents))


def kinds(counts: Counts) -> set[str]:
    return {split(feature).kind for feature, *_ in counts.items()}


@each_case(
    ("pages", "counts"),
    [
        # Each word of the in-linking pages counts once for the target.
        (
            [JudgedPage(A, NO, ("snow", "sea"), (Link(C),)), JudgedPage(B, YES, ("snow",), (Link(C),)),
             JudgedPage(C, YES, ("own",))],
            {"": (3, 2), "w:snow": (1, 1), "w:sea": (1, 1), "w:own": (0, 0), "l:p:1": (1, 1), "l:p:0": (1, 1),
             "t:a": (1, 0)},
        ),
        # A silent page counts as judged, and its words and links for others alone.
        (
            [JudgedPage(A, YES, ("snow",), (Link(B), Link(C))), JudgedPage(B, YES, (), (Link(C),), silent=True),
             JudgedPage(C, NO)],
            {"": (3, 2), "w:snow": (1, 0), "l:p:1": (2, 0), "t:b": (0, 0)},
        ),
        # Links to the page itself and to pages not judged do not count, others once.
        ([JudgedPage(A, YES, ("snow",), (Link(A), Link(B)))], {"l:p:1": (0, 0), "w:snow": (0, 0)}),
        ([JudgedPage(A, YES, links=(Link(B), Link(B))), JudgedPage(B, YES)], {"l:p:1": (1, 1)}),
        # The first page of a URL counts.
        ([JudgedPage(A, YES), JudgedPage(A, NO), JudgedPage(A, NO)], {"": (1, 1)}),
        # A page counts for the predicates that judged it alone.
        ([JudgedPage(A, YES, links=(Link(B),)), JudgedPage(B, {"q": True})], {"l:p:1": (0, 0), "": (1, 1)}),
    ],
)  # fmt: skip
def test_links_and_words_of_in_linking_pages(
    pages: list[JudgedPage], counts: dict[str, tuple[int, int]]
) -> None:
    found = linkage(pages)
    assert {feature: found.get(feature, "p") for feature in counts} == counts


def test_only_kept_parents_contribute_words_but_every_link_counts() -> None:
    sources = MANY[:5]
    pages = [JudgedPage(url, NO, (f"word{url[-1]}",), (Link(C),)) for url in sources]
    counts = linkage([*pages, JudgedPage(C, YES)], parents=2)
    chosen = kept(map(identifier, sources), identifier(C), 2)
    for url in sources:
        assert counts.get(f"w:word{url[-1]}", "p") == ((1, 1) if identifier(url) in chosen else (0, 0))
    assert counts.get("l:p:0", "p") == (5, 5)
    learned = [JudgedPage(url, NO, (), (Link(C, (f"word{url[-1]}",)),)) for url in MANY]
    of_links = plain(recount([*learned, JudgedPage(C, YES)], "learned", None, 32))
    chosen = kept(map(identifier, MANY), identifier(C), 8)
    for url in MANY:
        assert of_links.get(f"a:word{url[-1]}", "p") == ((1, 1) if identifier(url) in chosen else (0, 0))


def test_users_signature_words_and_regions_of_a_page_count_under_its_verdict() -> None:
    trace = Trace([Step("ann", A, 1.0), Step("ann", B, 2.0), Step("bob", B, 3.0)])
    pages = [JudgedPage(A, YES, ("snow",)), JudgedPage(B, NO, ("sea",)), JudgedPage(C, NO)]
    counts = plain(recount(pages, "collaborative", trace, 32))
    expected = {"u:ann": (2, 1), "u:bob": (1, 0), "s:snow": (1, 0), "s:sea": (1, 1), "": (3, 1)}
    assert {name: counts.get(name, "p") for name in expected} == expected
    assert counts.get("r:p", "p") == (1, 0), "B lies near A, which satisfies; A lies near B, which does not"


def test_pages_that_only_a_referrer_brings_together_do_not_sign_each_other() -> None:
    trace = Trace([Step("ann", A, 1.0, referrer=B)])
    counts = plain(recount([JudgedPage(A, YES), JudgedPage(B, YES, ("sea",))], "collaborative", trace, 32))
    assert kinds(counts) == {"base", "user"}


def test_the_learned_policy_counts_own_words_and_words_in_and_around_kept_links() -> None:
    around = Link(B, ("ski", "area", "ski"), ("the", "alps"))
    other = Link(B, ("later",))
    pages = [JudgedPage(A, NO, ("snow",), (around, other)), JudgedPage(B, YES, ("own",))]
    counts = plain(recount(pages, "learned", Trace([Step("ann", B, 1.0), Step("ann", A, 2.0)]), 32))
    for feature in ("a:ski", "a:area", "c:the", "c:alps", "p:own", "l:p:0"):
        assert counts.get(feature, "p") == (1, 1), feature
    assert counts.get("p:snow", "p") == (1, 0)
    assert counts.get("a:later", "p") == (0, 0), "the first link to a page is the one that counts"
    assert counts.get("u:ann", "p") == (2, 1)
    assert counts.get("r:p", "p") == (1, 0), "the hit was visited near the other page, which is none"
    assert not kinds(counts) & {"word", "token", "signature"}


@each_case(
    ("policy", "expected"),
    [
        ("breadth-first", {"base"}),
        ("random", {"base"}),
        ("linkage", {"base", "word", "token", "link"}),
        ("collaborative", {"base", "user", "signature", "region"}),
        ("combined", {"base", "word", "token", "link", "user", "signature", "region"}),
        (
            "learned",
            {
                "base",
                "link",
                "user",
                "region",
                "page word",
                "anchor",
                "context",
                "heading",
                "URL word",
                "prefix",
            },
        ),
    ],
)
def test_a_policy_counts_its_own_kinds_of_features_alone(policy: str, expected: set[str]) -> None:
    link = Link(B, ("ski",), ("alps",), heading=("winter",))
    pages = [JudgedPage(f"{A}/skiing", YES, ("snow",), (link,)), JudgedPage(B, YES, ("sea",))]
    trace = Trace([Step("ann", pages[0].url, 1.0), Step("ann", B, 2.0)])
    assert kinds(plain(recount(pages, policy, trace, 32))) == expected


POLICIES = st.sampled_from(["linkage", "combined", "learned"])


@given(PAGES, STEPS, POLICIES, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_pages_is_of_no_account(
    pages: list[JudgedPage], steps: list[Step], policy: str, parents: int, random: Random
) -> None:
    trace = Trace(steps, reach=2, others=3)
    expected = plain(recount(pages, policy, trace, parents))
    random.shuffle(pages)
    assert plain(recount(pages, policy, trace, parents)) == expected


SAID = st.lists(st.sampled_from("abcdefgh"), max_size=3)
in_links = st.builds(lambda page, *words: LinkFrom(frozenset(page), LinkWords(*words)), SAID, SAID, SAID, SAID)


@pytest.mark.parametrize(
    "policy", ["learned", "combined", "collaborative", "linkage", "breadth-first", "random", "pagerank"]
)
@given(before=st.lists(in_links, max_size=12), after=st.lists(in_links, max_size=12))
def test_in_links_beyond_those_that_count_change_nothing(
    policy: str, before: list[LinkFrom], after: list[LinkFrom]
) -> None:
    counted = lessons(policy)
    most = counted.in_links
    assert counted.of_links(before) == counted.of_links(before[:most])
    change = counted.change_of_links(before, after)
    assert change == counted.change_of_links(before[:most], after[:most])
    old, new = counted.of_links(before), counted.of_links(after)
    assert change == (new - old, old - new)
