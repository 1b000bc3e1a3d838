"""Owners of hosts: what they had of the latest fetches, what they promised, and who vouches for them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.answers import PRIOR, Promised, Promises, believed
from scentline.models.frontier.fairness import LEAST, LEAST_WORTH, PAIRS, SEEDS, WINDOW, Shares, Trust
from tests.cases import each_case

# shares of the latest fetches, by domain and by network


def shares(*hosts: str, share: float = 0.1) -> Shares:
    found = Shares(share, limit=1000)
    for number, host in enumerate(hosts):
        found.fetched(host, float(number))
    return found


NAMES = ["a.org", "www.a.org", "b.org", "127.0.0.1", "127.0.0.2", "[2001:db8::1]"]


@given(st.lists(st.sampled_from(NAMES), max_size=400))
def test_the_handicap_is_that_of_the_latest_fetches_counted_anew(hosts: list[str]) -> None:
    found, fresh = shares(*hosts), shares(*hosts[-WINDOW:])
    for host in set(hosts):
        assert found.handicap(host) == fresh.handicap(host)
        assert math.log(LEAST_WORTH) <= found.handicap(host) <= 0


def test_an_owner_with_less_than_its_share_has_no_handicap_nor_has_anybody_where_a_share_is_one() -> None:
    found = shares(*["a.org"] * 5, *["b.org"] * 95)
    assert found.handicap("a.org") == found.handicap("c.org") == 0
    assert found.handicap("b.org") == math.log(LEAST_WORTH)
    assert shares(*["a.org"] * 500, share=1.0).handicap("a.org") == 0
    long_ago = shares(*["a.org"] * 500, *["b.org"] * WINDOW)
    assert (long_ago.handicap("a.org"), long_ago.largest) == (0, 1.0)


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


def test_domains_at_addresses_of_one_network_are_one_when_these_are_known() -> None:
    found = shares()
    for number in range(60):
        found.serves(f"192.0.2.{number}", f"domain{number}.org")
        found.fetched(f"domain{number}.org", 1.0)
    found.fetched("elsewhere.org", 1.0)
    assert found.handicap("domain1.org") < 0
    assert found.handicap("unknown.org") == found.handicap("elsewhere.org") == 0
    bounded = Shares(0.1, limit=2)
    for number in range(3):
        bounded.serves("192.0.2.1", f"domain{number}.org")
    assert [len(bounded.owners(f"domain{number}.org")) for number in range(3)] == [1, 2, 2]


def test_who_is_vouched_for_has_a_larger_share_and_so_has_its_network_and_who_had_more_may_not_teach() -> None:
    found = shares(*["a.org"] * 60, *["b.org"] * 40)
    assert [found.beyond(host, 0.5) for host in ("www.a.org", "b.org", "c.org")] == [True, False, False]
    found.serves("192.0.2.1", "a.org")
    found.vouch({"a.org": 0.6})
    assert (found.handicap("a.org"), found.beyond("a.org", 0.5)) == (0, False)
    assert found.handicap("b.org") < 0
    assert (found.vouched("www.a.org"), found.vouched("b.org")) == (0.6, 0)


@each_case("share", [0.0, -0.1, 1.1, math.nan])
def test_what_is_no_share_is_an_error(share: float) -> None:
    with pytest.raises(ValueError, match="share is"):
        Shares(share, limit=1)


# promised hits

OWNERS = ["a.org", "b.org", "farm.net"]
ends = st.lists(st.tuples(st.sampled_from(OWNERS), st.floats(0.01, 0.99), st.booleans()), max_size=200)


def told(*ended: tuple[str, float, bool]) -> Promises:
    promises = Promises()
    for owner, expected, hit in ended:
        promises.ended(owner, expected, hit)
    return promises


@given(ends)
def test_belief_lies_between_nothing_and_all_in_any_order_of_ends(ended: list[tuple[str, float, bool]]) -> None:
    there, back = told(*ended), told(*reversed(ended))
    for owner in OWNERS:
        assert 0 < there.belief([owner]) <= 1
        assert there.belief([owner]) == pytest.approx(back.belief([owner]))
    assert there.belief(["unknown.org"]) == there.belief([]) == 1


def test_one_site_alone_is_believed_however_few_hits_come() -> None:
    """All are overrated alike: that is for calibration, and no reason to prefer anyone."""
    for pages in (5, 20, 300):
        promises = told(*[("only.org", 0.9, number % 3 == 2) for number in range(pages)])
        assert promises.belief(["only.org"]) == 1


def test_a_few_misses_say_little_and_many_much_and_who_is_believed_best_of_those_that_link_decides() -> None:
    honest = [("a.org", 0.8, number % 5 > 0) for number in range(200)]
    few, many = (told(*honest, *[("farm.net", 0.9, False)] * number) for number in (1, 100))
    assert few.belief(["farm.net"]) == 1
    assert many.belief(["farm.net"]) < 2 * PRIOR / 100
    assert many.belief(["farm.net", "a.org"]) == 1
    taken_up = told(*honest)
    taken_up.take_up("farm.net", Promised(100.0, 0))  # what was counted before counts on
    assert taken_up.belief(["farm.net"]) < 0.2


@given(st.floats(-1000, 1000), st.floats(0.01, 1))
def test_a_believed_logit_is_that_of_the_lowered_probability(logit: float, belief: float) -> None:
    found = believed(logit, belief)
    assert math.isfinite(found)
    assert found <= logit + 1e-9
    if abs(logit) < 30:
        assert 1 / (1 + math.exp(-found)) == pytest.approx(belief / (1 + math.exp(-logit)), rel=1e-6)


# trust flows from seeds along links between owners

HONEST = ("a.org", "b.org", "c.org")
HOSTILE = tuple(f"farm{number}.net" for number in range(6))
targets = st.sets(st.sampled_from([*HONEST, *HOSTILE]), min_size=1)


def honest(comments: int = 1) -> Trust:
    """Return three seeds that link to each other on fifty pages each, and to a farm on some."""
    trust = Trust()
    for name in HONEST:
        trust.seeded(f"www.{name}", name)
        for page in range(50):
            others = set(HONEST) if page % 5 == 0 else {name}
            trust.linked(name, others | ({HOSTILE[0]} if page < comments else set()))
    return trust


@given(st.lists(st.tuples(st.sampled_from(HOSTILE), targets), max_size=60))
def test_a_farm_has_no_more_than_is_handed_to_it_however_it_links(farm: list[tuple[str, set[str]]]) -> None:
    trust = honest()
    before = trust.shares()[HOSTILE[0]]
    for source, linked in farm:
        trust.linked(source, linked)
    after = trust.shares()
    # What is handed to one is handed on at most .85 of it at a time: 1 / (1 - .85) of it in all.
    assert sum(after.get(name, 0.0) for name in HOSTILE) <= before / 0.15 + 1e-9
    assert min(after[name] for name in HONEST) > 0.25


def test_who_is_linked_from_more_pages_has_more_but_not_from_pages_that_it_makes_up() -> None:
    trust, more = honest(1), honest(10).shares()
    before = trust.shares()
    assert 0 < before[HOSTILE[0]] < more[HOSTILE[0]] < more["a.org"]
    for _ in range(10_000):
        trust.linked(HOSTILE[0], {HOSTILE[0]})
    assert trust.shares() == before


def test_an_owner_that_no_seed_leads_to_has_none_and_a_seed_counts_once() -> None:
    assert Trust().shares() == {}
    trust = honest()
    trust.linked("nowhere.org", {"elsewhere.org"})
    for _ in range(100):
        trust.seeded("www.a.org", "a.org")
    shares = trust.shares()
    assert shares.keys() == {*HONEST, HOSTILE[0]}
    assert shares["a.org"] == shares["b.org"]
    assert sum(shares.values()) == pytest.approx(1)


def test_it_is_grown_when_a_tenth_is_new() -> None:
    trust = honest()
    found = [trust.grown]
    trust.shares()
    found.append(trust.grown)
    for _ in range(16):
        trust.linked("a.org", {"b.org"})
    assert [*found, trust.grown] == [True, False, True]


def test_what_is_kept_is_bounded() -> None:
    many, one = Trust(), Trust()
    for number in range(2 * SEEDS):
        many.seeded(f"h{number}.org", f"h{number}.org")
    one.seeded("a.org", "a.org")
    for trust in (many, one):
        trust.linked("a.org", {f"t{number}.org" for number in range(PAIRS)})
        trust.linked("b.org", {"c.org"})
    assert (len(many.shares()), len(one.shares())) == (SEEDS, PAIRS + 1)
