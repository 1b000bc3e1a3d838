"""Users and rates of clients in logs: bounded, whatever names and times the lines give."""

from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.accesslog import clients as module
from scentline.models.accesslog.clients import Clients, network
from scentline.models.accesslog.entry import Entry
from scentline.models.accesslog.robots import Rates, Robots
from tests.cases import each_case

TODAY = 1_700_000_000.0
FUTURE = 100_000_000_000.0  # the year 5138


def test_a_line_of_the_future_or_the_past_makes_a_robot_of_nobody_else() -> None:
    for wrong in (FUTURE, 0.0):
        robots = Robots(120)
        robots.reason("clock", Entry("", "clock", wrong, "GET", "/", 200, 5))
        seen = [
            robots.reason(f"u{number % 50}", Entry("", None, TODAY + 1.5 * number, "GET", "/", 200, 5))
            for number in range(20_000)
        ]
        assert set(seen) == {None}


def test_lines_of_a_wrong_clock_among_others_empty_no_minute() -> None:
    robots = Robots(120)
    seen = [
        robots.reason("fast", Entry("", None, time, "GET", "/", 200, 5))
        for number in range(130)
        for time in (TODAY + number / 10, FUTURE + 1e6 * number, TODAY - 1e6 - 7_200 * number)
    ]
    assert "robot by rate" in seen


def test_after_a_pause_of_days_the_rate_is_that_of_the_minute() -> None:
    rates = Rates()
    assert [rates.count("u", TODAY + 86_400 * number) for number in range(10)] == [1] * 10


@given(st.lists(st.floats(min_value=0, max_value=1e17), max_size=200))
def test_no_time_has_more_views_counted_than_there_were(times: list[float]) -> None:
    rates = Rates()
    for number, time in enumerate(times, start=1):
        assert 1 <= rates.count("u", time) <= number


@each_case(
    ("client", "name"),
    [
        *(("192.0.2.7", "192.0.2.7"), ("192.0.2.7:443", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7")),
        *(("[2001:db8:1:2:3::7]:443", "2001:db8:1:2::/64"), ("2001:DB8:1:2:ffff::", "2001:db8:1:2::/64")),
        ("fe80::1%eth0", "fe80::/64"),
        *(("2426091a53125110", "2426091a53125110"), ("a:b", "a:b"), ("host.example", "host.example")),
        *(("", None), ("-", None), ("0.0.0.0", None), ("::", None)),
    ],
)
def test_a_client_is_what_one_party_holds_of_addresses(client: str, name: str | None) -> None:
    assert network(client) == name


@given(st.text(max_size=60))
def test_any_text_may_stand_for_a_client(client: str) -> None:
    found = network(client)
    assert found is None or isinstance(found, str)


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["u1", "u2", "u3", "u4", "u5", "u6", "a"]))),
)
def test_a_client_never_counts_as_more_users_than_it_may_and_as_itself(
    most: int, lines: list[tuple[str, str]]
) -> None:
    first, again = Clients(most), Clients(most)
    counted: dict[str, set[str]] = {}
    for client, user in lines:
        who = first.counted(client, user)
        assert who in (user, client)
        assert again.counted(client, user) == who
        counted.setdefault(client, set()).add(who)
    for client, found in counted.items():
        assert len(found - {client}) <= most


def test_the_latest_clients_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 10)
    clients = Clients(1)
    for number in range(100):
        clients.counted(f"client {number}", "first")
    assert [clients.counted(f"client {number}", "second") for number in range(90, 100)] == [
        f"client {number}" for number in range(90, 100)
    ]
    assert len(clients._known) + len(clients._older) <= 20


def test_a_client_under_many_names_is_a_robot_by_rate_and_its_address_alone_is_not_the_client() -> None:
    robots = Robots(120, client_rate=600)
    seen = [
        robots.reason(f"u{number}", Entry("", None, TODAY, "GET", "/", 200, 5), "client")
        for number in range(700)
    ]
    assert seen.count(None) == 600
    assert robots.reason("new", Entry("", None, TODAY + 9_000, "GET", "/", 200, 5), "client") == "robot by rate"
    assert robots.reason("new", Entry("", None, TODAY + 9_000, "GET", "/", 200, 5), "other") is None
    robots.ask("other", Entry("", None, TODAY, "GET", "/robots.txt", 200, 5))
    assert robots.reason("ann", Entry("", None, TODAY, "GET", "/", 200, 5), "other") is None


def test_addresses_of_one_network_are_one_client() -> None:
    names = {network(str(IPv6Address(0x20010DB8 << 96 | number))) for number in range(0, 2**64, 2**55)}
    assert names == {"2001:db8::/64"}
