"""Pages that need scripts: what is left of them, and which the frontier has rendered."""

import copy

from scentline.models.facts import Missing
from scentline.models.page import NEEDS_SCRIPTS
from tests.agents.scenarios import NOW, Frontiers, ended, labels, seeded

SHELL = Missing("refused", NEEDS_SCRIPTS)
URL = "http://app.org/1"


def test_a_page_that_needs_scripts_teaches_nothing(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(seeded(URL))
    [order] = front.order()
    before = copy.deepcopy(front.counts())
    messages = front.hear(ended(URL, SHELL, NOW, order.order, elapsed=0.2))
    row = front.page(URL)
    assert (row.state, row.reason, row.requests, row.shells) == ("refused", NEEDS_SCRIPTS, 1, 1)
    assert (front.counts(), labels(messages)) == (before, [])
    assert front.totals().requests == front.host("app.org").requests == 1
    assert front.host("app.org").causes[NEEDS_SCRIPTS].count == 1
