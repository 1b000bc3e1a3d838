import hashlib
import hmac
import logging
from pathlib import Path

import pytest
from pydantic import SecretStr

from scentline.agents.observe.observer import Filtered, Malformed, Observer
from scentline.agents.observe.pseudonym import Pseudonyms, user_key
from scentline.models.accesslog.recognise import LogFormatError
from scentline.streams.facts import Access
from scentline.streams.settings import ObserveSettings
from tests.cases import each_case

KEY = b"key"
SQUID = b"1431857103.586 921 192.0.2.7 TCP_MISS/200 507 GET %s - HIER_DIRECT/192.0.2.1 text/html\n"


def combined(
    url: str = "/a", method: str = "GET", status: int = 200, referrer: str = "-", user: str = "-"
) -> bytes:
    head = f"192.0.2.7 - {user} [17/May/2015:10:05:03 +0000]"
    return f'{head} "{method} {url} HTTP/1.1" {status} 5 "{referrer}" "agent"\n'.encode()


def observer(
    base_url: str | None = "https://example.org", keep_query: bool = True, key: bytes = KEY
) -> Observer:
    return Observer(ObserveSettings(base_url=base_url, keep_query=keep_query), key)


def access(line: bytes, reader: Observer | None = None) -> Access:
    found = (reader or observer()).observe(line)
    assert isinstance(found, Access)
    return found


def pseudonym(identity: str) -> str:
    return hmac.new(KEY, identity.encode(), hashlib.sha256).hexdigest()[:16]


def test_a_page_view_becomes_an_access() -> None:
    line = combined("/a/../b?q=1#top", referrer="HTTP://Example.ORG/from")
    expected = (pseudonym("192.0.2.7"), "https://example.org/b?q=1", 1431857103.0, "http://example.org/from")
    assert access(line) == Access(*expected, 200, None, 5)
    # The authenticated user is the identity before the address.
    assert access(combined(user="alice")).user == pseudonym("alice")


def test_the_query_is_dropped_by_setting_from_url_and_referrer() -> None:
    reader = observer(keep_query=False)
    found = access(combined("/a?token=1", referrer="http://example.org/s?q=illness"), reader)
    assert (found.url, found.referrer) == ("https://example.org/a", "http://example.org/s")


def test_the_size_of_a_whole_page_is_told_and_of_nothing_else() -> None:
    page = SQUID % b"http://example.org/b"
    found = access(page, observer(base_url=None))
    assert (found.url, found.content_type, found.size) == ("http://example.org/b", "text/html", 507)
    assert access(page.replace(b" 507 ", b" 99999999999 ")).size == 2**31
    for changed in (b"TCP_MISS_ABORTED/200", b"TCP_HIT_TIMEDOUT/200", b"TCP_INM_HIT/304", b"TCP_MISS/206"):
        assert access(page.replace(b"TCP_MISS/200", changed)).size == 0
    assert access(combined("/b?q=1")).size == 5
    assert access(combined("/b?q=1"), observer(keep_query=False)).size == 0
    assert access(combined("/b?q=1&sid=12345678")).size == 0


@each_case("path", ["//evil.example/b", "/\\evil.example/b", "/http://evil.example/b", "/@evil.example"])
def test_a_path_never_leaves_its_site(path: str) -> None:
    assert access(combined(path)).url.startswith("https://example.org/")
    below = observer(base_url="https://example.org:8443/shop/index.html?a")
    assert access(combined("/a"), below).url == "https://example.org:8443/a"
    with pytest.raises(ValueError, match=r"observe\.base_url is 'example\.org'"):
        observer(base_url="example.org")


@each_case(
    ("line", "reason"),
    [
        (combined(method="POST"), "method"),
        (b'192.0.2.7 - - [17/May/2015:10:05:03 +0000] "-" 408 - "-" "-"', "method"),
        (combined(status=404), "status"),
        (combined("/a.png"), "media"),
        (combined("http://user:password@example.org/"), "url"),
        (combined("ftp://example.org/"), "url"),
        (combined("*"), "url"),
        (combined("http://example.org/" + "a" * 2000), "url"),
    ],
)
def test_what_is_no_page_view_is_filtered_and_counted(line: bytes, reason: str) -> None:
    reader = observer()
    assert reader.observe(line) == Filtered(reason)
    assert (reader.accepted, reader.filtered, reader.malformed) == (0, {reason: 1}, 0)


def test_a_path_without_a_site_is_filtered_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    reader = observer(base_url=None)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert reader.observe(combined("/private")) == Filtered("site")
    assert reader.filtered == {"site": 3}
    assert len(caplog.records) == 1
    assert "observe.base_url" in caplog.text and "private" not in caplog.text


def test_malformed_lines_are_counted_and_not_quoted() -> None:
    reader = observer()
    for line in (b"alice was here", b"", b"\n", b"a" * 9000, b"\xff\xfe", combined()[:-2]):
        found = reader.observe(line)
        assert isinstance(found, Malformed) and "alice" not in found.reason
    assert (reader.accepted, reader.filtered, reader.malformed, reader.lines) == (0, {}, 6, 6)


def test_a_format_is_recognised_or_set_and_an_unknown_one_is_an_error() -> None:
    reader = observer()
    handshake = combined().replace(b"GET /a HTTP/1.1", rb"\x16\x03")
    assert reader.observe(handshake) == Malformed("of no known format (squid, combined, common, w3c, json)")
    reader.recognise([combined()])
    assert reader.observe(handshake) == Malformed("request is not a method and a URL")
    given = Observer(ObserveSettings(format="squid"), KEY)
    given.recognise([combined()])
    assert isinstance(given.observe(SQUID % b"http://example.org/"), Access)
    assert isinstance(given.observe(combined()), Malformed)
    with pytest.raises(LogFormatError, match="squid, combined, common, w3c, json"):
        observer().recognise([b"hello"])
    observer().recognise([])


@each_case("length", [0, 1, 63, 64, 65, 200])
def test_a_pseudonym_is_that_of_hmac_whatever_the_length_of_the_key(length: int) -> None:
    key = bytes(range(length))
    for identity in ("", "192.0.2.7", "x" * 1000):
        assert Pseudonyms(key).of(identity) == hmac.digest(key, identity.encode(), "sha256").hex()[:16]


@each_case(
    ("address", "client"),
    [("192.0.2.7", "192.0.2.7"), ("192.0.2.7:80", "192.0.2.7"), ("2001:db8::7", "2001:db8::/64"), ("-", None)],
)
def test_an_address_has_a_pseudonym_and_its_client_another(address: str, client: str | None) -> None:
    told = pseudonym(address), client and pseudonym(client)
    assert Pseudonyms(KEY).of_client(address) == told


def test_the_users_key_is_given_or_random_and_kept_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = ObserveSettings(user_key=SecretStr("secret"))
    assert user_key(given, tmp_path / "key") == b"secret"
    assert not caplog.records and not (tmp_path / "key").exists()
    for number, configured in enumerate((None, SecretStr(""))):
        settings, places = (
            ObserveSettings(user_key=configured),
            [tmp_path / f"{number}{name}" for name in "aba"],
        )
        with caplog.at_level(logging.WARNING):
            first, second, again = (user_key(settings, place) for place in places)
        assert len(first) == 32 and first != second
        assert again == first, "a crawl that goes on must call its users by the same names"
        assert places[0].stat().st_mode & 0o777 == 0o600
        assert "observe.user_key" in caplog.text and first.hex() not in caplog.text


def seen_by(user: str, agent: str = "Mozilla/5.0 (X11; Linux x86_64)", url: str = "/a") -> bytes:
    head = f"192.0.2.7 - {user} [17/May/2015:10:05:03 +0000]"
    return f'{head} "GET {url} HTTP/1.1" 200 5 "-" "{agent}"\n'.encode()


def test_robots_are_left_out_and_counted_by_reason() -> None:
    reader = Observer(ObserveSettings(base_url="https://example.org", robot_rate=5), KEY)
    lines = [
        seen_by("alice"),
        seen_by("alice", "Googlebot/2.1"),
        seen_by("bob", url="/robots.txt"),
        seen_by("bob"),
    ]
    lines += [*(seen_by("carol", url=f"/{number}") for number in range(7)), seen_by("alice")]
    found = [reader.observe(line) for line in lines]
    assert reader.filtered == {"robot by agent": 1, "robot by robots.txt": 2, "robot by rate": 2}
    assert isinstance(found[-1], Access), "the robot's agent says nothing of the next line"
    kept = Observer(ObserveSettings(base_url="https://example.org", robots=False), KEY)
    assert [type(kept.observe(line)) for line in lines] == [Access] * len(lines)


def test_logs_are_observed_apart_and_counted_together() -> None:
    reader = observer()
    first, second = reader.another(), reader.another()
    first.observe(seen_by("bob", url="/robots.txt"))
    assert first.observe(seen_by("bob")) == Filtered("robot by robots.txt")
    assert isinstance(second.observe(seen_by("bob")), Access)
    for each in (reader, second):
        assert (each.accepted, each.filtered) == (1, {"robot by robots.txt": 2})


def test_secrets_leave_url_and_referrer() -> None:
    url = "/a;jsessionid=1F?page=2&token=x&who=me%40example.org&ref_code=7"
    settings = ObserveSettings(base_url="https://example.org", secrets=("ref-code",))
    found = access(combined(url, referrer=f"http://example.org{url}"), Observer(settings, KEY))
    assert (found.url, found.referrer) == ("https://example.org/a?page=2", "http://example.org/a?page=2")


@each_case(
    "url",
    [
        "/logout", "/unsubscribe?u=7", "/reset/x9Kq27Lmw0", "/a?action=logout", "/unsubscribe/me@example.org",
        "/u/me@example.org",
    ],
)  # fmt: skip
def test_a_link_that_acts_or_works_once_becomes_no_candidate(url: str) -> None:
    reader = observer()
    assert reader.observe(combined(url)) == Filtered("secret")
    for referrer in (
        f"http://example.org{url}",
        "-",
        "",
        "android-app://x",
        "nonsense",
        "http://me@example.org/",
    ):
        assert access(combined(referrer=referrer), reader).referrer is None


@each_case("form", ["auto", "w3c"])
def test_head_lines_are_filtered_and_their_fields_hold_from_then_on(form: str) -> None:
    reader = Observer(ObserveSettings(format=form), KEY)
    line = b"2015-05-17 10:05:03 192.0.2.7 GET example.org /a 200\r\n"
    assert isinstance(reader.observe(line), Malformed)
    fields = b"#Fields: date time c-ip cs-method cs-host cs-uri-stem sc-status\r\n"
    assert reader.observe(fields) == Filtered("directive")
    assert access(line, reader).url == "http://example.org/a"
    for other in (b"# a comment", b"#" * 9000):
        assert isinstance(reader.observe(other), Malformed)


def test_a_format_that_is_described_is_the_only_one() -> None:
    reader = Observer(ObserveSettings(format="apache:%t|%u|%m|%U%q|%s|%V"), KEY)
    found = access(b"[17/May/2015:10:05:03 +0000]|alice|GET|/a?b=1|200|example.org\n", reader)
    assert (found.user, found.url) == (pseudonym("alice"), "http://example.org/a?b=1")
    assert isinstance(reader.observe(combined()), Malformed)
    reader.recognise([combined()])
    line = b'{"peer": "192.0.2.7", "time": 1, "method": "GET", "url": "http://e.org/\\u00e9\\n", "status": 200}'
    named = Observer(ObserveSettings(format="json", json_fields=("client=peer",)), KEY)
    assert access(line, named).url == "http://e.org/%C3%A9"


def test_other_settings_are_another_reading_and_another_key_is_not() -> None:
    known = Observer(ObserveSettings(), KEY).reading
    assert known == Observer(ObserveSettings(user_key=SecretStr("x")), b"x").reading
    assert known != Observer(ObserveSettings(keep_query=False), KEY).reading


def test_whom_a_line_names_is_told_for_those_who_are_to_be_forgotten() -> None:
    reader = observer()
    assert reader.identities(combined(user="alice")) == ("alice", "192.0.2.7")
    assert reader.identities(combined()) == ("192.0.2.7", "192.0.2.7")
    assert reader.identities(b"alice was here") == ()
    assert reader.pseudonym("alice") == pseudonym("alice")
    # An address with too many users is one user.
    reader = Observer(ObserveSettings(base_url="https://example.org", client_users=1), KEY)
    assert reader.identities(combined(user="alice")) == ("alice", "192.0.2.7")
    assert reader.identities(combined("/a.png", user="bob")) == ("bob", "192.0.2.7")
    assert reader.identities(combined(user="bob")) == ("192.0.2.7", "192.0.2.7", "bob")
    assert access(combined(user="bob"), reader).user == pseudonym("192.0.2.7")
    assert access(combined(user="alice"), reader).user == pseudonym("alice")
