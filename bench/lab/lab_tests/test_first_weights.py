"""The weights before the first page, out of crawls: where these start, and what they come to."""

from random import Random

import numpy as np
import pytest

from bench.first_weights import School, apart
from scentline.models.page import Link, Page
from scentline.models.policy.inputs import INPUTS, Input
from scentline.models.trace import Trace
from scentline_lab.simulation.policies import Truth
from scentline_lab.simulation.trained import Hindsight
from scentline_lab.simulation.virtual import Task, Terms, virtual_crawl
from tests.cases import each_case

FLAT = [Input(entry.name, 0.0, 1.0) for entry in INPUTS]
LINKS = tuple(Link(f"http://a.test/{n}", ("ski" if n % 3 else "sea",), position=n) for n in range(30))
PAGES = {page.url: page for page in (Page("http://a.test/", links=LINKS), *(Page(link.url) for link in LINKS))}
TRUTH = Truth((), Hindsight(PAGES))


def taught(school: School, *crawls: set[str], pages: dict[str, Page] = PAGES) -> list[Input]:
    """Return the weights after a crawl for each set of hits."""
    for hits in crawls:
        crawler = school(Task((), Trace([]), Random(1)), TRUTH)
        virtual_crawl(pages, hits, ["http://a.test/"], crawler, Terms(30))
    return school.learned(FLAT)


@each_case("failures", [False, True])
def test_crawlers_start_with_the_weights_that_are_given(failures: bool) -> None:
    school = School(INPUTS, failures)
    for _ in range(2):
        school(Task((), Trace([]), Random(1)), TRUTH)
    assert list(school.learned(INPUTS)) == [entry._replace(deviation=0.0) for entry in INPUTS]


def test_what_they_learned_is_their_mean_and_how_far_they_differ() -> None:
    hits = [{link.url for link in LINKS if "ski" in link.anchor}, {link.url for link in LINKS[::5]}]
    alone = [taught(School(FLAT, failures=False), each, each) for each in hits]
    assert all(entry.deviation == 0 for found in alone for entry in found)
    weights = [[entry.weight for entry in found] for found in alone]
    found = taught(School(FLAT, failures=False), *hits)
    assert [entry.weight for entry in found] == pytest.approx(np.mean(weights, 0).tolist())
    assert [entry.deviation for entry in found] == pytest.approx(np.std(weights, 0, ddof=1).tolist())
    named = {entry.name: entry for entry in found}
    assert named["anchor words as anchors"].weight > 0
    assert named["users"].weight == 0
    assert apart(Input("siblings", 0.2, 0.25), Input("siblings", -0.3, 0.1)) == pytest.approx(-2)
