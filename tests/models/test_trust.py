"""Trust flows from seeds along links between owners; nobody makes any for himself."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.trust import PAIRS, SEEDS, Trust

HONEST = ("a.org", "b.org", "c.org")
HOSTILE = tuple(f"farm{number}.net" for number in range(6))
links = st.lists(
    st.tuples(st.sampled_from(HOSTILE), st.sets(st.sampled_from([*HONEST, *HOSTILE]), min_size=1)), max_size=60
)


def honest(comments: int = 1) -> Trust:
    """Return three seeds that link to each other on fifty pages each, and to a farm on some."""
    trust = Trust()
    for name in HONEST:
        trust.seeded(f"www.{name}", name)
        for page in range(50):
            others = set(HONEST) if page % 5 == 0 else {name}
            trust.linked(name, others | ({HOSTILE[0]} if page < comments else set()))
    return trust


@given(links)
def test_a_farm_has_no_more_than_what_is_handed_to_it_however_it_links(
    farm: list[tuple[str, set[str]]],
) -> None:
    trust = honest()
    before = trust.shares()[HOSTILE[0]]
    for source, targets in farm:
        trust.linked(source, targets)
    after = trust.shares()
    # What is handed to one is handed on at most .85 of it at a time: 1 / (1 - .85) of it in all.
    assert sum(after.get(name, 0.0) for name in HOSTILE) <= before / 0.15 + 1e-9
    assert min(after[name] for name in HONEST) > 0.25


def test_pages_made_up_bring_their_owner_nothing() -> None:
    trust = honest()
    before = trust.shares()
    for _ in range(10_000):
        trust.linked(HOSTILE[0], {HOSTILE[0]})
    assert trust.shares() == before


def test_who_is_linked_from_more_pages_has_more() -> None:
    few, many = honest(1).shares(), honest(10).shares()
    assert 0 < few[HOSTILE[0]] < many[HOSTILE[0]] < many["a.org"]


def test_an_owner_that_no_seed_leads_to_has_none() -> None:
    trust = honest()
    trust.linked("nowhere.org", {"elsewhere.org"})
    assert trust.shares().keys() == {*HONEST, HOSTILE[0]}
    assert Trust().shares() == {}


def test_a_seed_counts_once_and_shares_add_up_to_one() -> None:
    trust = honest()
    for _ in range(100):
        trust.seeded("www.a.org", "a.org")
    assert trust.shares()["a.org"] == trust.shares()["b.org"]
    assert abs(sum(trust.shares().values()) - 1) < 1e-9


def test_it_is_grown_when_a_tenth_is_new() -> None:
    trust = honest()
    found = [trust.grown]
    trust.shares()
    found.append(trust.grown)
    for _ in range(16):
        trust.linked("a.org", {"b.org"})
    assert [*found, trust.grown] == [True, False, True]


def test_what_is_kept_is_bounded() -> None:
    trust = Trust()
    for number in range(2 * SEEDS):
        trust.seeded(f"h{number}.org", f"h{number}.org")
    trust.linked("a.org", {f"t{number}.org" for number in range(PAIRS)})
    trust.linked("b.org", {"c.org"})
    assert len(trust.shares()) == SEEDS
    one = Trust()
    one.seeded("a.org", "a.org")
    one.linked("a.org", {f"t{number}.org" for number in range(PAIRS)})
    assert len(one.shares()) == PAIRS + 1
