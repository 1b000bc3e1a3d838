"""One client that writes a log as it likes: what it can make a crawl learn and fetch is bounded."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import pytest

from scentline.agents.observe.observer import Filtered, Observer
from scentline.models.crowd.trace import Step
from scentline.models.interest.features import USER
from scentline.models.page import Link
from scentline.models.recount import JudgedPage
from scentline.models.url import host
from scentline.streams.facts import Access
from scentline.streams.settings import ObserveSettings
from tests.agents.pipeline import Crawl, Pipeline, Place, a_place
from tests.cases import each_case

START = 1_700_000_000.0
MALLORY = "198.51.100.9"
#: Users of a client that count, and the client itself.
FEW = ObserveSettings().client_users + 1
RATE = ObserveSettings().client_rate


def squid(time: float, client: str, user: str, url: str) -> bytes:
    return f"{time:.3f} 1 {client} TCP_MISS/200 5 GET {url} {user} DIRECT/- text/html\n".encode()


def honest(seconds: int = 600) -> Iterator[tuple[float, bytes]]:
    """Yield the lines of twenty people: half of them read about tea, half about something else."""
    for number in range(seconds):
        person = number % 20
        subject = "tea" if person < 10 else "tax"
        url = f"http://honest.test/{subject}/{number * 7 % 30}.html"
        yield START + number, squid(START + number, f"10.0.0.{person}", "-", url)


def flood(seconds: float, a_second: int, names: int = 300) -> Iterator[tuple[float, bytes]]:
    """Yield the lines of one address under made-up names: its own pages, beside those about tea."""
    for number in range(int(seconds * a_second)):
        time = START + 30 + number / a_second
        hostile = f"http://hostile.test/{number}.html"
        url = hostile if number // names % 2 else f"http://honest.test/tea/{number % 30}.html"
        yield time, squid(time, MALLORY, f"user{number % names}", url)


def observed(*logs: Iterator[tuple[float, bytes]], **given: object) -> tuple[Observer, list[Access]]:
    observer = Observer(ObserveSettings.model_validate(given), b"key")
    lines = sorted(line for log in logs for line in log)
    found = [observer.observe(line) for _, line in lines]
    return observer, [access for access in found if isinstance(access, Access)]


def test_three_hundred_forged_users_at_five_thousand_views_a_second_are_a_few_users() -> None:
    _, before = observed(honest())
    observer, after = observed(honest(), flood(4, 5_000))
    theirs = [access for access in after if access not in before]
    assert [access for access in after if access in before] == before, "what others did counts as it did"
    assert len(theirs) <= RATE
    assert len({access.user for access in theirs}) <= FEW
    assert observer.filtered["robot by rate"] == 20_000 - len(theirs)


def test_who_keeps_below_the_rate_is_a_few_users_too() -> None:
    _, before = observed(honest())
    _, after = observed(honest(), flood(120, RATE // 60 - 1))
    theirs = [access for access in after if access not in before]
    assert len({access.user for access in theirs}) <= FEW
    assert len(theirs) <= 2 * RATE


def test_addresses_of_one_network_and_ports_of_one_address_are_one_client() -> None:
    for clients in ([f"2001:db8::{n:x}" for n in range(1, 301)], [f"192.0.2.9:{n}" for n in range(1024, 1324)]):
        lines = [
            (START + n, squid(START + n, client, "-", "http://a.org/")) for n, client in enumerate(clients)
        ]
        _, found = observed(iter(lines))
        assert len({access.user for access in found}) <= FEW


def test_a_log_that_tells_no_client_or_that_people_share_an_address_in_is_read_as_it_was() -> None:
    for client, given in (("0.0.0.0", {}), ("10.0.0.1", {"client_users": 0, "client_rate": 0})):
        lines = [(START + n, squid(START + n / 50, client, f"u{n}", "http://a.org/")) for n in range(900)]
        _, found = observed(iter(lines), **given)
        assert len({access.user for access in found}) == 900
    _, found = observed(flood(1, 300), user_field=False)
    assert len({access.user for access in found}) == 1


@each_case(
    "line",
    [
        b'192.0.2.7 - - [14/Nov/2023:22:13:20 +0000] "GET http://evil.test/x HTTP/1.1" 200 5 "-" "M"',
        b'192.0.2.7 - - [14/Nov/2023:22:13:20 +0000] "GET //evil.test/x HTTP/1.1" 200 5 "-" "M"',
        b'192.0.2.7 - - [14/Nov/2023:22:13:20 +0000] "GET http://a.org:8080/x HTTP/1.1" 200 5 "-" "M"',
        b'192.0.2.7 - - [14/Nov/2023:22:13:20 +0000] "GET http://a.org.evil.test/x HTTP/1.1" 200 5 "-" "M"',
        b'192.0.2.7 - - [14/Nov/2023:22:13:20 +0000] "GET http://evil.test\\\\@a.org/x HTTP/1.1" 200 5 "-" "M"',
        b'{"client": "192.0.2.7", "ts": 1, "method": "GET", "host": "evil.test", "uri": "/x", "status": 200}',
        b'{"client": "192.0.2.7", "ts": 1, "method": "GET", "host": "a.org", "uri": "//e.test", "status": 200}',
        b'{"client": "192.0.2.7", "ts": 1, "method": "GET", "host": "evil.test/", "uri": "/x", "status": 200}',
    ],
)
def test_a_visitor_of_a_site_can_not_name_pages_of_others(line: bytes) -> None:
    observer = Observer(ObserveSettings(base_url="https://a.org"), b"key")
    found = observer.observe(line)
    if isinstance(found, Access):
        assert found.url.startswith(("http://a.org/", "https://a.org/"))
    else:
        assert found in (Filtered("elsewhere"), Filtered("url"))


def test_a_site_is_the_same_under_either_scheme_and_its_referrers_are_its_own() -> None:
    observer = Observer(ObserveSettings(base_url="https://a.org"), b"key")
    head = b'192.0.2.7 - - [14/Nov/2023:22:13:20 +0000] "GET %s HTTP/1.1" 200 5 "%s" "M"'
    found = [
        observer.observe(head % line)
        for line in (
            (b"/x", b"https://a.org/from"),
            (b"http://A.org/x", b"http://a.org/from"),
            (b"/x", b"http://hub.test/"),
        )
    ]
    assert [(each.url, each.referrer) for each in found if isinstance(each, Access)] == [
        ("https://a.org/x", "https://a.org/from"),
        ("http://a.org/x", "http://a.org/from"),
        ("https://a.org/x", None),
    ]


def test_names_without_end_take_no_memory() -> None:
    observer = Observer(ObserveSettings(), b"key")
    for number in range(3_000):
        observer.observe(squid(START, f"10.{number % 7}.0.1", f"{number}" + "x" * 7_000, "http://a.org/"))
    held = observer._pseudonyms._remembered.cache_info().currsize
    assert held <= 8, "long names are not remembered"


# what is learned


class Learned(NamedTuple):
    """What a pipeline came to: pages and hits of each feature, candidates by host, visitors of each of them."""

    counts: dict[str, tuple[int, int]]
    candidates: dict[str, int]
    visitors: dict[str, int]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("attack")) as found:
        yield found


def judged() -> list[JudgedPage]:
    pages = []
    for number in range(30):
        for subject in ("tea", "tax"):
            url = f"http://honest.test/{subject}/{number}.html"
            links = (Link(f"http://honest.test/{subject}/{number + 30}.html", (), (), 0),)
            pages.append(JudgedPage(url, {"tea": subject == "tea"}, (subject,), links))
    return pages


def learned(place: Place, accesses: Sequence[Access]) -> Learned:
    pipeline = Pipeline(place, Crawl("combined"))
    steps = [Step(access.user, access.url, access.time, access.referrer) for access in accesses]
    pipeline.run(judged(), steps, Random(7))
    counts = {feature: (pages, hits) for feature, _, pages, hits in pipeline.counts.items()}
    rows = [row for _, row in pipeline.candidates()]
    hosts = [host(row.url) for row in rows]
    return Learned(
        counts, {name: hosts.count(name) for name in hosts}, {row.url: len(row.visitors) for row in rows}
    )


def test_what_is_learned_from_a_forged_crowd_is_bounded(place: Place) -> None:
    _, before = observed(honest())
    _, after = observed(honest(), flood(1, 5_000))
    known, told = learned(place, before), learned(place, after)
    users = {name for name in known.counts if name.startswith(USER)}
    # User affinity: each of twenty people says what he said, and a few more are heard.
    assert {name: told.counts.get(name) for name in users} == {name: known.counts[name] for name in users}
    assert len([name for name in told.counts if name.startswith(USER)]) <= len(users) + FEW
    # Signatures, temporal locality, links: counts are of judged pages, and no page counts twice.
    for name, (pages, hits) in told.counts.items():
        assert hits <= pages <= len(judged()), name
    assert {name for name in told.counts if not name.startswith(USER)} == {
        name for name in known.counts if not name.startswith(USER)
    }
    # Visited candidates: at most one for each view that counts, none of them with more than a few visitors.
    assert told.candidates["honest.test"] == known.candidates["honest.test"]
    assert told.candidates["hostile.test"] <= RATE
    assert max(told.visitors.values()) <= FEW
