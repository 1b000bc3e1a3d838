"""Inputs that the learned policy was tried with: they are what the paper's functions make of the same log."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.evidence import affinity_log, crowd_table, inside, region_log
from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.features import BASE, user
from scentline.models.interest.ratio import Base
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.words import Vocabulary
from scentline.models.ledger import Ledger
from scentline_lab.simulation.further import ExpectedVisits, Significance

PAGES = [f"http://a.org/{number}" for number in range(8)]
STEPS = st.lists(
    st.builds(Step, st.sampled_from(["ann", "bob", "eve"]), st.sampled_from(PAGES), st.floats(0, 100)),
    max_size=30,
)


@given(STEPS, st.dictionaries(st.sampled_from(PAGES), st.booleans(), max_size=8))
def test_significant_users_and_the_region_are_those_of_the_paper(
    steps: list[Step], verdicts: dict[str, bool]
) -> None:
    trace = Trace(steps)
    knowledge, further = Knowledge("p", Vocabulary(Ledger())), Significance(trace)
    users: dict[str, tuple[int, int]] = {}
    for url, holds in verdicts.items():
        visitors = trace.visitors.get(url, ())
        knowledge.count([BASE, *map(user, visitors)], holds)
        further.judged(url, holds)
        for name in visitors:
            pages, hits_seen = users.get(name, (0, 0))
            users[name] = pages + 1, hits_seen + holds
    base = Base(len(verdicts), sum(verdicts.values()))
    hits = {url for url, holds in verdicts.items() if holds}
    region = {url for url in PAGES if inside(trace.together.get(url, {}), hits)}
    counts = len(region & verdicts.keys()), len(region & hits)
    table = crowd_table(2.0, "binomial")
    table.work_out(base, users.items())
    for url in PAGES:
        within = url in region if url in trace.accesses else None
        expected = [affinity_log(trace.visitors.get(url, ()), table), region_log(within, counts, base)]
        assert further.values(url, knowledge) == pytest.approx(expected)


def test_expected_visits_are_a_pages_own_drawn_towards_its_patterns() -> None:
    often = [
        Step(f"u{number}", f"http://a.org/{kind}/{number % 60}", 10.0 * number + late)
        for number in range(1200)
        for late, kind in enumerate(("list", "topic"))
    ]
    seldom = [Step(f"v{number}", f"http://a.org/profile/{number}", 1.0) for number in range(60)]
    further, knowledge = ExpectedVisits(Trace((*often, *seldom))), Knowledge("p", Vocabulary(Ledger()))

    def expected(name: str) -> float:
        return further.values(f"http://{name}", knowledge)[0]

    assert expected("a.org/topic/99") > expected("a.org/profile/99") > expected("b.org/") == 0
    assert expected("a.org/topic/1") == pytest.approx(math.log1p(20) / 3, rel=0.01)
