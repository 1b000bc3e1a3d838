"""How much of the latest fetches an owner had, by its domain and by its network."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.shares import LEAST, LEAST_WORTH, WINDOW, Shares
from tests.cases import each_case

names = st.sampled_from(["a.org", "www.a.org", "b.org", "127.0.0.1", "127.0.0.2", "[2001:db8::1]"])


def shares(*hosts: str, share: float = 0.1) -> Shares:
    found = Shares(share, limit=1000)
    for number, host in enumerate(hosts):
        found.fetched(host, float(number))
    return found


def test_an_owner_with_less_than_its_share_has_no_handicap() -> None:
    found = shares(*["a.org"] * 5, *["b.org"] * 95)
    assert found.handicap("a.org") == found.handicap("c.org") == 0
    assert found.handicap("b.org") == math.log(LEAST_WORTH)


def test_the_first_fetches_of_a_crawl_are_nobodys_share() -> None:
    found = shares(*["a.org"] * (LEAST // 10))
    assert found.handicap("a.org") == 0
    found.fetched("a.org", 9.0)
    assert found.handicap("a.org") < 0


def test_while_time_is_scarce_shares_are_of_what_could_have_been_fetched() -> None:
    found = shares(*["a.org", "b.org", "b.org", "b.org"] * 25)  # a fetch a second
    assert found.handicap("a.org") == pytest.approx(math.log(0.1 / 0.25))
    found.look(now=100.0, hosts=4, delay=1.0)
    assert found.handicap("a.org") == 0, "25 in 100 seconds are less than one host gives"
    assert found.handicap("b.org") == 0
    found.look(now=100.0, hosts=4, delay=4.0)
    assert found.handicap("a.org") == 0, "25 are what one host gives"
    assert found.handicap("b.org") == pytest.approx(math.log(LEAST_WORTH))
    found.look(now=100.0, hosts=40, delay=4.0)
    assert found.handicap("b.org") == 0, "75 of 1,000 are less than a tenth"
    found.look(now=100.0, hosts=0, delay=1.0)
    assert found.handicap("a.org") < 0, "pages are scarce"


@each_case(
    "hosts",
    [
        [f"{number}.a.org" for number in range(60)],
        [f"192.0.2.{number}" for number in range(60)],
        [f"[2001:db8::{number:x}]" for number in range(60)],
    ],
)
def test_many_hosts_of_an_owner_are_one(hosts: list[str]) -> None:
    assert shares(*hosts[:-1]).handicap(hosts[-1]) < 0


def test_domains_at_addresses_of_one_network_are_one_when_these_are_known() -> None:
    found = shares()
    for number in range(60):
        found.serves(f"192.0.2.{number}", f"domain{number}.org")
        found.fetched(f"domain{number}.org", 1.0)
    found.fetched("elsewhere.org", 1.0)
    assert found.handicap("domain1.org") < 0
    assert found.handicap("unknown.org") == found.handicap("elsewhere.org") == 0


def test_who_is_vouched_for_has_a_larger_share_and_so_has_its_network() -> None:
    found = shares(*["a.org"] * 50, *["b.org"] * 50)
    found.serves("192.0.2.1", "a.org")
    found.vouch({"a.org": 0.6})
    assert found.handicap("a.org") == 0
    assert found.handicap("b.org") < 0
    assert found.vouched("www.a.org") == 0.6
    assert found.vouched("b.org") == 0


def test_who_had_more_than_may_teach() -> None:
    found = shares(*["a.org"] * 60, *["b.org"] * 40)
    assert [found.beyond(host, 0.5) for host in ("www.a.org", "b.org", "c.org")] == [True, False, False]
    found.vouch({"a.org": 0.6})
    assert not found.beyond("a.org", 0.5)


def test_what_was_fetched_long_ago_is_forgotten() -> None:
    found = shares(*["a.org"] * 500, *["b.org"] * WINDOW)
    assert found.handicap("a.org") == 0
    assert found.largest == 1.0


def test_a_share_of_one_is_no_limit() -> None:
    assert shares(*["a.org"] * 500, share=1.0).handicap("a.org") == 0


@each_case("share", [0.0, -0.1, 1.1, math.nan])
def test_what_is_no_share_is_an_error(share: float) -> None:
    with pytest.raises(ValueError, match="share is"):
        Shares(share, limit=1)


def test_servers_are_known_of_so_many_hosts() -> None:
    found = Shares(0.1, limit=2)
    for number in range(3):
        found.serves("192.0.2.1", f"domain{number}.org")
    assert [len(found.owners(f"domain{number}.org")) for number in range(3)] == [1, 2, 2]


@given(st.lists(names, max_size=400))
def test_the_handicap_is_that_of_the_latest_fetches_counted_anew(hosts: list[str]) -> None:
    found, fresh = shares(*hosts), shares(*hosts[-WINDOW:])
    for host in set(hosts):
        assert found.handicap(host) == fresh.handicap(host)
        assert math.log(LEAST_WORTH) <= found.handicap(host) <= 0
