"""One client that writes a log as it likes: what it can make a crawl learn and fetch is bounded."""

from collections.abc import Iterable

from scentline.agents.observe.observer import Filtered, Observer
from scentline.models.facts import Access
from scentline.streams.settings import ObserveSettings
from tests.agents.log_lines import combined, squid
from tests.cases import each_case

START = 1_700_000_000.0
#: Users of a client that count, and the client itself.
FEW = ObserveSettings().client_users + 1
RATE = ObserveSettings().client_rate

Lines = list[tuple[float, bytes]]


def honest(seconds: int = 600) -> Lines:
    """Return the lines of twenty people: half of them read about tea, half about something else."""
    urls = [f"http://honest.test/{'tea' if n % 20 < 10 else 'tax'}/{n * 7 % 30}.html" for n in range(seconds)]
    return [(START + n, squid(url, START + n, client=f"10.0.0.{n % 20}")) for n, url in enumerate(urls)]


def flood(seconds: float, a_second: int, names: int = 300) -> Lines:
    """Return the lines of one address under made-up names: its own pages, beside those about tea."""
    lines = []
    for number in range(int(seconds * a_second)):
        time = START + 30 + number / a_second
        tea, hostile = f"http://honest.test/tea/{number % 30}.html", f"http://hostile.test/{number}.html"
        url = hostile if number // names % 2 else tea
        lines.append((time, squid(url, time, client="198.51.100.9", user=f"user{number % names}")))
    return lines


def observed(lines: Lines, **given: object) -> tuple[Observer, list[Access]]:
    observer = Observer(ObserveSettings.model_validate(given), b"key")
    found = [observer.observe(line) for _, line in sorted(lines)]
    return observer, [access for access in found if isinstance(access, Access)]


def users(accesses: Iterable[Access]) -> int:
    return len({access.user for access in accesses})


@each_case(("seconds", "a_second", "views"), [(4, 5_000, RATE), (120, RATE // 60 - 1, 2 * RATE)])
def test_three_hundred_forged_users_are_a_few_at_any_rate(seconds: int, a_second: int, views: int) -> None:
    _, before = observed(honest())
    observer, after = observed(honest() + flood(seconds, a_second))
    theirs = [access for access in after if access not in before]
    assert [access for access in after if access in before] == before, "what others did counts as it did"
    assert len(theirs) <= views
    assert users(theirs) <= FEW
    assert observer.counts.filtered.get("robot by rate", 0) == seconds * a_second - len(theirs)


def test_a_log_that_tells_no_client_or_that_people_share_an_address_in_is_read_as_it_was() -> None:
    for client, given in (("0.0.0.0", {}), ("10.0.0.1", {"client_users": 0, "client_rate": 0})):
        times = [START + n / 50 for n in range(900)]
        lines = [
            (time, squid("http://a.org/", time, client=client, user=f"u{n}")) for n, time in enumerate(times)
        ]
        assert users(observed(lines, **given)[1]) == 900
    assert users(observed(flood(1, 300), user_field=False)[1]) == 1


JSON = '{"client": "192.0.2.7", "ts": 1, "method": "GET", "host": "%s", "uri": "%s", "status": 200}'


@each_case(("asked", "known_as"))
def test_a_visitor_of_a_site_can_not_name_pages_of_others(asked: str | list[str], known_as: str) -> None:
    line = combined(asked) if isinstance(asked, str) else (JSON % (*asked,)).encode()
    found = Observer(ObserveSettings(base_url="https://a.org"), b"key").observe(line)
    if isinstance(found, Access):
        assert found.url.partition("://a.org")[2] == known_as
    else:
        assert found == Filtered(known_as)


def test_a_site_is_the_same_under_either_scheme_and_its_referrers_are_its_own() -> None:
    observer = Observer(ObserveSettings(base_url="https://a.org"), b"key")
    for url, referrer, known_as, came_from in (
        ("/x", "https://a.org/from", "https://a.org/x", "https://a.org/from"),
        ("http://A.org/x", "http://a.org/from", "http://a.org/x", "http://a.org/from"),
        ("/x", "http://hub.test/", "https://a.org/x", None),
    ):
        found = observer.observe(combined(url, referrer=referrer))
        assert isinstance(found, Access) and (found.url, found.referrer) == (known_as, came_from)


def test_names_without_end_take_no_memory() -> None:
    observer = Observer(ObserveSettings(), b"key")
    for n in range(3_000):
        observer.observe(squid("http://a.org/", client=f"10.{n % 7}.0.1", user=f"{n}" + "x" * 7_000))
    assert observer._pseudonyms._remembered.cache_info().currsize <= 8, "long names are not remembered"
