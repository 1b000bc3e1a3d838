"""What screens read of a crawl: harvest curves, and what is asked of frontiers."""

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.window.reading import Points
from scentline.agents.window.watching import HOLDS, RENEWED, SHORTEST, Watching
from scentline.streams.published import MOST_HOSTS, HarvestPoint, Watch

MOST = 20


def a_point(predicate: str, pages: int) -> bytes:
    point = HarvestPoint(
        predicate=predicate, time=float(pages), pages=pages, hits=pages // 2, harvest_rate=0.5,
        rate_by_pages=0.5, rate_by_time=0.5, lift=None, policies={},
    )  # fmt: skip
    return msgspec.json.encode(point)


@given(st.lists(st.tuples(st.sampled_from(["tea", "ski"]), st.integers(0, 40)), max_size=200))
def test_a_curve_is_thinned_and_ends_with_the_newest_point(steps: list[tuple[str, int]]) -> None:
    points, newest = Points(MOST), dict[str, int]()
    for predicate, more in steps:
        newest[predicate] = newest.get(predicate, 0) + more
        points.add([b"no point", a_point(predicate, newest[predicate])])
    assert {name: curve[-1].pages for name, curve in points.curves.items()} == newest
    for curve in points.curves.values():
        assert len(curve) <= MOST
        pages = [point.pages for point in curve]
        assert pages == sorted(pages)


def test_a_long_curve_keeps_points_from_all_of_it() -> None:
    points = Points(MOST)
    points.add(a_point("tea", pages) for pages in range(10_000))
    pages = [point.pages for point in points.curves["tea"]]
    assert len(pages) >= MOST // 2
    assert max(later - earlier for earlier, later in pairwise(pages)) <= 4 * 10_000 / MOST


class Requests:
    """Views that are made each second, with what each wants."""

    def __init__(self) -> None:
        self.watches: list[Watch] = []
        self._watching = Watching(self.watches.append)

    def view(self, now: float, predicate: str = "", hosts: tuple[str, ...] = ()) -> None:
        self._watching.begin(now)
        self._watching.want(predicate, hosts)
        self._watching.end()


def test_a_request_to_tell_is_renewed_before_it_ends() -> None:
    requests = Requests()
    for second in range(60):
        requests.view(float(second))
        assert requests.watches[-1].until > second + SHORTEST
    assert len(requests.watches) == 60 / RENEWED


def test_what_is_wanted_is_asked_for_at_once_and_forgotten_when_nobody_wants_it_any_more() -> None:
    requests = Requests()
    requests.view(0.0)
    requests.view(1.0, "tea", ("b.example", "a.example"))
    assert requests.watches[-1] == Watch(1.0 + HOLDS, "tea", ("a.example", "b.example"))
    requests.view(1.1, "ski")
    assert requests.watches[-1].predicate == "tea", "twice within the shortest time"
    requests.view(2.0)
    assert requests.watches[-1].predicate == "ski"
    requests.view(3.0 + HOLDS)
    assert requests.watches[-1] == Watch(3.0 + 2 * HOLDS)


def test_of_many_hosts_those_that_were_wanted_last_are_asked_for() -> None:
    requests = Requests()
    requests.view(0.0, hosts=tuple(f"old-{number}.example" for number in range(MOST_HOSTS)))
    requests.view(1.0, hosts=tuple(f"new-{number}.example" for number in range(MOST_HOSTS)))
    assert len(requests.watches[-1].hosts) == MOST_HOSTS
    assert all(name.startswith("new-") for name in requests.watches[-1].hosts)
