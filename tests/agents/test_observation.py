"""Lines become accesses; what is none is counted, and one client that writes what it likes changes little."""

import hashlib
import hmac
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from scentline.agents.observe.agent import ObserveAgent
from scentline.agents.observe.observer import Filtered, Malformed, Observer
from scentline.agents.observe.pseudonym import Pseudonyms, user_key
from scentline.models.accesslog.formats import LogFormatError
from scentline.models.facts import Access
from scentline.models.records import DeadLetter, Decoder, partition_of
from scentline.streams.inbox import Message
from scentline.streams.settings import ObserveSettings, Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS
from tests.agents.log_lines import combined, squid
from tests.agents.shards import a_runtime, emitted
from tests.cases import each_case

KEY = b"key"
UNKNOWN = "of no known format (squid, combined, common, w3c, json)"


def observer(**given: Any) -> Observer:
    return Observer(ObserveSettings.model_validate({"base_url": "https://example.org"} | given), KEY)


def access(line: bytes, reader: Observer | None = None) -> Access:
    found = (reader or observer()).observe(line)
    assert isinstance(found, Access)
    return found


def pseudonym(identity: str) -> str:
    return hmac.new(KEY, identity.encode(), hashlib.sha256).hexdigest()[:16]


# what a line becomes


def test_a_page_view_becomes_an_access() -> None:
    line = combined("/a/../b?q=1#top", referrer="HTTP://Example.ORG/from")
    expected = (pseudonym("192.0.2.7"), "https://example.org/b?q=1", 1431857103.0, "http://example.org/from")
    assert access(line) == Access(*expected, 200, None, 5)
    # The authenticated user is the identity before the address.
    assert access(combined(user="alice")).user == pseudonym("alice")
    below = observer(base_url="https://example.org:8443/shop/index.html?a")
    assert access(combined("/a"), below).url == "https://example.org:8443/a"
    with pytest.raises(ValueError, match=r"observe\.base_url is 'example\.org'"):
        observer(base_url="example.org")


def test_queries_and_secrets_leave_url_and_referrer() -> None:
    line = combined("/a?token=1", referrer="http://example.org/s?q=illness")
    found = access(line, observer(keep_query=False))
    assert (found.url, found.referrer) == ("https://example.org/a", "http://example.org/s")
    url = "/a;jsessionid=1F?page=2&token=x&who=me%40example.org&ref_code=7"
    found = access(combined(url, referrer=f"http://example.org{url}"), observer(secrets=("ref-code",)))
    assert (found.url, found.referrer) == ("https://example.org/a?page=2", "http://example.org/a?page=2")


def test_the_size_of_a_whole_page_is_told_and_of_nothing_else() -> None:
    page, anywhere = "http://example.org/b", observer(base_url=None)
    found = access(squid(page), anywhere)
    assert (found.url, found.content_type, found.size) == (page, "text/html", 507)
    assert access(squid(page, size=99999999999), anywhere).size == 2**31
    for result in ("TCP_MISS_ABORTED/200", "TCP_HIT_TIMEDOUT/200", "TCP_INM_HIT/304", "TCP_MISS/206"):
        assert access(squid(page, result=result), anywhere).size == 0
    assert access(combined("/b?q=1")).size == 5
    assert access(combined("/b?q=1"), observer(keep_query=False)).size == 0
    assert access(combined("/b?q=1&sid=12345678")).size == 0


@each_case(("asked", "reason"), [({"url": "http://example.org/" + "a" * 2000}, "url")])
def test_what_is_no_page_view_is_filtered_and_counted(asked: Any, reason: str) -> None:
    line = combined(**asked)
    reader = observer()
    assert reader.observe(line) == Filtered(reason)
    assert (reader.counts.accepted, reader.counts.filtered, reader.counts.malformed) == (0, {reason: 1}, 0)


def test_a_path_without_a_site_is_filtered_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    reader = observer(base_url=None)
    with caplog.at_level(logging.WARNING):
        assert [reader.observe(combined("/private")) for _ in range(3)] == [Filtered("site")] * 3
    assert reader.counts.filtered == {"site": 3}
    assert len(caplog.records) == 1
    assert "observe.base_url" in caplog.text and "private" not in caplog.text


@each_case("url")
def test_a_link_that_acts_or_works_once_becomes_no_candidate(url: str) -> None:
    reader = observer()
    assert reader.observe(combined(url)) == Filtered("secret")
    for referrer in (f"http://example.org{url}", "-", "", "android-app://x", "nonsense", "http://me@a.org/"):
        assert access(combined(referrer=referrer), reader).referrer is None


def test_robots_are_left_out_and_counted_by_reason() -> None:
    reader = observer(robot_rate=5)
    lines = [combined(user="alice"), combined(user="alice", agent="Googlebot/2.1")]
    lines += [combined("/robots.txt", user="bob"), combined(user="bob")]
    lines += [*(combined(f"/{number}", user="carol") for number in range(7)), combined(user="alice")]
    found = [reader.observe(line) for line in lines]
    assert reader.counts.filtered == {"robot by agent": 1, "robot by robots.txt": 2, "robot by rate": 2}
    assert isinstance(found[-1], Access), "the robot's agent says nothing of the next line"
    kept = observer(robots=False)
    assert [type(kept.observe(line)) for line in lines] == [Access] * len(lines)


# formats


def test_a_format_is_recognised_or_set_and_an_unknown_one_is_an_error() -> None:
    reader = observer()
    handshake = combined().replace(b"GET /a HTTP/1.1", rb"\x16\x03")
    assert reader.observe(handshake) == Malformed(UNKNOWN)
    reader.recognise([combined()])
    assert reader.observe(handshake) == Malformed("request is not a method and a URL")
    given = observer(format="squid")
    given.recognise([combined()])
    assert isinstance(given.observe(squid("http://example.org/")), Access)
    assert isinstance(given.observe(combined()), Malformed)
    with pytest.raises(LogFormatError, match="squid, combined, common, w3c, json"):
        observer().recognise([b"hello"])
    observer().recognise([])


@each_case("form", ["auto", "w3c"])
def test_head_lines_are_filtered_and_their_fields_hold_from_then_on(form: str) -> None:
    reader = observer(format=form, base_url=None)
    line = b"2015-05-17 10:05:03 192.0.2.7 GET example.org /a 200\r\n"
    assert isinstance(reader.observe(line), Malformed)
    fields = b"#Fields: date time c-ip cs-method cs-host cs-uri-stem sc-status\r\n"
    assert reader.observe(fields) == Filtered("directive")
    assert access(line, reader).url == "http://example.org/a"
    for other in (b"# a comment", b"#" * 9000):
        assert isinstance(reader.observe(other), Malformed)


def test_a_format_that_is_described_is_the_only_one() -> None:
    reader = observer(format="apache:%t|%u|%m|%U%q|%s|%V", base_url=None)
    found = access(b"[17/May/2015:10:05:03 +0000]|alice|GET|/a?b=1|200|example.org\n", reader)
    assert (found.user, found.url) == (pseudonym("alice"), "http://example.org/a?b=1")
    assert isinstance(reader.observe(combined()), Malformed)
    reader.recognise([combined()])
    line = b'{"peer": "192.0.2.7", "time": 1, "method": "GET", "url": "http://e.org/\\u00e9\\n", "status": 200}'
    named = observer(format="json", json_fields=("client=peer",), base_url=None)
    assert access(line, named).url == "http://e.org/%C3%A9"


def test_other_settings_are_another_reading_and_another_key_is_not() -> None:
    known = Observer(ObserveSettings(), KEY).reading
    assert known == Observer(ObserveSettings(user_key=SecretStr("x")), b"x").reading
    assert known != Observer(ObserveSettings(keep_query=False), KEY).reading


# users


def test_a_pseudonym_is_that_of_hmac_whatever_the_length_of_the_key_and_a_client_has_another() -> None:
    for key in map(bytes, map(range, (0, 1, 63, 64, 65, 200))):
        for identity in ("", "192.0.2.7", "x" * 1000):
            assert Pseudonyms(key).of(identity) == hmac.digest(key, identity.encode(), "sha256").hex()[:16]
    for address, client in (("192.0.2.7:80", "192.0.2.7"), ("2001:db8::7", "2001:db8::/64")):
        assert Pseudonyms(KEY).of_client(address) == (pseudonym(address), pseudonym(client))
    assert Pseudonyms(KEY).of_client("192.0.2.7") == (pseudonym("192.0.2.7"),) * 2
    assert Pseudonyms(KEY).of_client("-") == (pseudonym("-"), None)


def test_the_users_key_is_given_or_random_and_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert user_key(ObserveSettings(user_key=SecretStr("secret")), tmp_path / "key") == b"secret"
    assert not caplog.records and not (tmp_path / "key").exists()
    for number, configured in enumerate((None, SecretStr(""))):
        places = [tmp_path / f"{number}{name}" for name in "aba"]
        with caplog.at_level(logging.WARNING):
            first, second, again = (user_key(ObserveSettings(user_key=configured), place) for place in places)
        assert len(first) == 32 and first != second
        assert again == first, "a crawl that goes on must call its users by the same names"
        assert places[0].stat().st_mode & 0o777 == 0o600
        assert "observe.user_key" in caplog.text and first.hex() not in caplog.text


def test_whom_a_line_names_is_told_for_those_who_are_to_be_forgotten() -> None:
    reader = observer()
    assert reader.identities(combined(user="alice")) == ("alice", "192.0.2.7")
    assert reader.identities(combined()) == ("192.0.2.7", "192.0.2.7")
    assert reader.identities(b"alice was here") == ()
    assert reader.pseudonym("alice") == pseudonym("alice")
    # An address with too many users is one user.
    reader = observer(client_users=1)
    assert reader.identities(combined(user="alice")) == ("alice", "192.0.2.7")
    assert reader.identities(combined("/a.png", user="bob")) == ("bob", "192.0.2.7")
    assert reader.identities(combined(user="bob")) == ("192.0.2.7", "192.0.2.7", "bob")
    assert access(combined(user="bob"), reader).user == pseudonym("192.0.2.7")
    assert access(combined(user="alice"), reader).user == pseudonym("alice")


# the agent


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[ObserveAgent]:
    with a_runtime(Settings.model_validate({"data": tmp_path, "streams": {"partitions": 3}})) as runtime:
        yield ObserveAgent(runtime, observer(base_url=None))


def observed(agent: ObserveAgent, line: bytes | None, partition: int = 2) -> list[Message]:
    agent.take(SimpleNamespace(value=line, partition=partition, offset=9))
    return agent._outboxes[partition].take()


def test_raw_lines_of_every_format_become_accesses_in_the_partition_of_their_user(agent: ObserveAgent) -> None:
    page, user = "http://a.org/page?q=1", pseudonym("alice")
    assert observed(agent, b"#Fields: date time c-ip cs-username cs-method cs-uri sc-status") == []
    json = b'{"ip": "10.0.0.7", "user": "alice", "ts": 1431857103, "method": "GET", "url": "%s", "status": 200}'
    for line in (
        squid(page, user="alice"),
        combined(page, user="alice"),
        combined(page, user="alice").replace(b' "-" "agent"', b""),
        json % page.encode(),
        b"2015-05-17 10:05:03 10.0.0.7 alice GET %s 200" % page.encode(),
    ):
        ((partition, found),) = emitted(observed(agent, line), ACCESSES)
        assert (found.url, found.time, found.user) == (page, 1431857103.0, user), line
        assert partition == partition_of(user, 3)


WORDS = b"alice secret http://a.org/?token=secret"
MALFORMED = [WORDS, b"", b"\n", None, b"\xff\xfe\x00secret", b"secret " * 10_000, combined(user="alice")[:-2]]


def test_a_malformed_line_is_buried_with_its_place_and_reason_alone(agent: ObserveAgent) -> None:
    for line in MALFORMED:
        ((topic, _, _, value),) = observed(agent, line)
        assert topic == DEAD_LETTERS.name
        found = Decoder[DeadLetter](DeadLetter)(value or b"")
        assert (found.topic, found.partition, found.offset, found.time) == ("proxy-log", 2, 9, 1000.0)
        assert found.reason and "secret" not in found.reason and "alice" not in found.reason
        assert found.value == b""
    reader = agent.observer
    assert (reader.counts.accepted, reader.counts.filtered, reader.counts.malformed, reader.counts.lines) == (
        0, {}, 7, 7,
    )  # fmt: skip


def test_a_partition_is_a_log_of_its_own_and_all_are_counted_together(agent: ObserveAgent) -> None:
    assert observed(agent, squid("http://a.org/robots.txt"), 0) == []
    assert observed(agent, squid("http://a.org/a"), 0) == []
    assert len(observed(agent, squid("http://a.org/a"), 1)) == 1
    assert (agent.observer.counts.accepted, agent.observer.counts.filtered) == (1, {"robot by robots.txt": 2})


# one client that writes a log as it likes


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


def taken_in(lines: Lines, **given: object) -> tuple[Observer, list[Access]]:
    observer = Observer(ObserveSettings.model_validate(given), b"key")
    found = [observer.observe(line) for _, line in sorted(lines)]
    return observer, [access for access in found if isinstance(access, Access)]


def users(accesses: Iterable[Access]) -> int:
    return len({access.user for access in accesses})


@each_case(("seconds", "a_second", "views"), [(4, 5_000, RATE), (120, RATE // 60 - 1, 2 * RATE)])
def test_three_hundred_forged_users_are_a_few_at_any_rate(seconds: int, a_second: int, views: int) -> None:
    _, before = taken_in(honest())
    observer, after = taken_in(honest() + flood(seconds, a_second))
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
        assert users(taken_in(lines, **given)[1]) == 900
    assert users(taken_in(flood(1, 300), user_field=False)[1]) == 1


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
