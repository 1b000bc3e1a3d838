"""What is expected of pages that may need scripts, and when a rendering pays."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.needs import Needs, outlook

SECONDS = st.floats(0.01, 60.0)


@st.composite
def counted(draw: st.DrawFn) -> Needs:
    needs = Needs()
    for needed in draw(st.lists(st.booleans(), max_size=30)):
        needs.came(needed=needed)
    for needed, brought in draw(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30)):
        needs.took(draw(SECONDS), draw(st.integers(1, 50)), needed=needed, brought=brought)
    return needs


GROUPS = st.lists(counted(), min_size=1, max_size=3)


@given(GROUPS, SECONDS, st.floats(0, 100))
def test_what_is_expected_are_probabilities_and_costs_and_moves_with_what_comes(
    groups: list[Needs], delay: float, waiting: float
) -> None:
    before = outlook(groups)
    assert 0 < before.need < 1
    assert 0 < before.brings < 1
    assert before.seconds > 0
    assert before.requests >= 1
    assert 0 < before.part(delay) <= 1
    assert not before.pays(0.0, waiting), "where requests cost nothing, none is saved"
    assert before.pays(delay, 0.0) or not before.pays(delay, waiting), "who waits does not go back for a crowd"
    groups[-1].came(needed=False)
    after = outlook(groups)
    assert after.need < before.need
    assert before.pays(delay, waiting) or not after.pays(delay, waiting)
    groups[-1].took(9.0, 9, needed=True, brought=False)
    assert outlook(groups).brings < after.brings


@given(GROUPS)
def test_a_group_with_many_pages_is_believed_alone(groups: list[Needs]) -> None:
    for _ in range(1_000):
        groups[-1].came(needed=True)
        groups[-1].took(0.5, 3, needed=True, brought=True)
    found = outlook(groups)
    assert found.need > 0.9
    assert found.pays(1.0, 1.0)
    assert found.brings > 0.9
    assert found.requests < 6
