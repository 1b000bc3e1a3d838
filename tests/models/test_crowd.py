"""What a log says of pages: windows of visits, pairs of accesses, signatures and regions."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.evidence import SIGNERS, WORDS, signature, signers
from scentline.models.crowd.trace import Step, Trace, Visit, arrive, insert, sixths
from scentline.models.interest.factors import rank

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


def test_a_trace_knows_both_pages_of_a_pair() -> None:
    a, b, c, _ = URLS
    trace = Trace([Step("u", a, 1.0), Step("u", b, 2.0), Step("u", c, 3.0, a), Step("v", a, 1.0)], reach=1)
    assert trace.together == {a: {b: (1, 6), c: (0, 6)}, b: {a: (1, 6), c: (1, 6)}, c: {b: (1, 6), a: (0, 6)}}
    assert trace.visitors == {a: ("u", "v"), b: ("u",), c: ("u",)}
    assert trace.accesses == {a: 2, b: 1, c: 1}


def test_a_trace_keeps_as_many_neighbours_as_it_is_told_whatever_the_order() -> None:
    steps = [Step(f"u{number}", url, time) for number in range(4) for time, url in enumerate(URLS)]
    whole, bounded = Trace(steps), Trace(steps, others=2)
    for url, cells in bounded.together.items():
        assert len(cells) == 2
        assert cells.items() <= whole.together[url].items()


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
