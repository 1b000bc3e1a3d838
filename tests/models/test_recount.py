"""Counts of pages, their links and a log, as each policy has them."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.factors import SIGNERS, WORDS, kept, rank, signature, signers
from scentline.models.interest.features import split
from scentline.models.interest.trace import Step, Trace, Visit, arrive, insert, sixths
from scentline.models.page import Link
from scentline.models.recount import JudgedPage, recount
from scentline.models.url import identifier
from tests.cases import each_case
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


@each_case(("policy", "expected"))
def test_a_policy_counts_its_own_kinds_of_features_alone(policy: str, expected: str) -> None:
    link = Link(B, ("ski",), ("alps",), heading=("winter",))
    pages = [JudgedPage(f"{A}/skiing", YES, ("snow",), (link,)), JudgedPage(B, YES, ("sea",))]
    trace = Trace([Step("ann", pages[0].url, 1.0), Step("ann", B, 2.0)])
    assert kinds(plain(recount(pages, policy, trace, 32))) == {*expected.split(",")}


VISITS = st.builds(
    Visit, st.integers(0, 6).map(float), st.sampled_from(["http://a/", "http://b/", "http://c/"])
)
URLS = [f"http://h.org/{name}" for name in "abcd"]
NEAR = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 3), st.integers(0, 9)))


@given(st.lists(VISITS, max_size=40), st.integers(1, 8))
def test_the_window_is_the_latest_distinct_visits_in_order(visits: list[Visit], limit: int) -> None:
    window, latest = list[Visit](), list[Visit]()
    for number, each in enumerate(visits, start=1):
        before = list(window)
        place = insert(window, each, limit)
        assert (place is None) == (each in before)
        assert place is None or place == (window.index(each) if each in window else -1)
        latest = sorted(set(visits[:number]), key=lambda v: (v.time, v.url))[-limit:]
        assert window == latest
    insert(window, Visit(9.0, "http://a/"), limit // 2 + 1)  # a smaller limit shortens it
    assert window == sorted({*latest, Visit(9.0, "http://a/")})[-(limit // 2 + 1) :]


def brute_force(window: list[Visit], reach: int) -> Counter[tuple[frozenset[str], str]]:
    """Count every pair of the window by its distance."""
    found: Counter[tuple[frozenset[str], str]] = Counter()
    for one in range(len(window)):
        for two in range(one + 1, min(len(window), one + reach + 1)):
            if window[one].url != window[two].url:
                pair = frozenset((window[one].url, window[two].url))
                found[pair, "times"] += 1
                found[pair, "sixths"] += sixths(two - one)
    return +found


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(URLS)), max_size=12), st.integers(1, 5))
def test_accesses_in_any_order_give_the_pairs_of_the_whole_window(
    visits: list[tuple[int, str]], reach: int
) -> None:
    window: list[Visit] = []
    found: Counter[tuple[frozenset[str], str]] = Counter()
    for time, url in visits:
        for pair in arrive(window, Visit(float(time), url), None, limit=100, reach=reach) or ():
            found[frozenset((pair.url, pair.other)), "times"] += pair.times
            found[frozenset((pair.url, pair.other)), "sixths"] += pair.sixths
    assert {key: value for key, value in found.items() if value} == brute_force(window, reach)


@given(NEAR, st.frozensets(st.sampled_from("abcdefgh")), st.integers(1, 4), st.randoms(use_true_random=False))
def test_signers_are_the_judged_pages_of_lowest_rank_in_whatever_order_they_came(
    near: dict[str, tuple[int, int]], judged: frozenset[str], bound: int, random: Random
) -> None:
    names = {url: bytes([random.randrange(256), ord(url)]) for url in sorted(judged)}
    page_id = bytes([random.randrange(256), 0])
    found = signers(near, names, page_id, bound)
    together = {names[url] for url, (times, _) in near.items() if times and url in judged}
    assert len(found) == min(bound, len(together))
    assert set(found) <= together
    left = together - set(found)
    if found and left:
        assert max(rank(name, page_id) for name in found) < min(rank(name, page_id) for name in left)
    shuffled = list(names.items())
    random.shuffle(shuffled)
    assert signers(near, dict(shuffled), page_id, bound) == found


def test_a_signature_has_the_first_words_of_each_page_alone_and_few_pages_sign() -> None:
    words = [str(number) for number in range(100)]
    assert signature([words, ["new"]]) == {*words[:WORDS], "new"}
    assert signature([]) == frozenset()
    assert len(signers(dict.fromkeys(words, (1, 0)), {url: url.encode() for url in words}, b"")) == SIGNERS
