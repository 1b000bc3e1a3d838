"""Six honest sites with hostile ones of five kinds beside them: the honest harvest stays what it was."""

from pathlib import Path

import pytest

from bench.hostile.crawl import crawl
from scentline.models.domain import owner
from scentline.models.url import host
from tests.agents.commands import printed
from tests.e2e.crawls import exact, outcomes_of, pages_of
from tests.webs.rivals import KINDS, Rivals

pytestmark = pytest.mark.slow

BUDGET = 200
#: So many honest pages bear links to each hostile kind that these are found.
COMMENTED = 0.05
#: A crawl of so many pages runs short of honest ones on the topic, and goes to the farm if it is free to.
MORE_THAN_HONEST = 350
#: Of a crawl of the honest sites alone .95 are on the topic; beside all hostile ones .86 to .96, and .83 where
#: the machine has four such crawls at once. Undefended it is half.
LEAST = 0.8 * BUDGET


def test_the_honest_harvest_stays_what_it_was(tmp_path: Path) -> None:
    # Hosts that answer late on a busy machine are asked as soon as ever: that is the machine's doing.
    settings: dict[str, object] = {"fetch.delay_seconds": 0.1, "fetch.delay_factor": 0}
    found = crawl(Rivals(KINDS, 1, COMMENTED), tmp_path / "crawl", BUDGET, settings)
    assert found.harvest >= LEAST, found.fetches
    known = pages_of(tmp_path / "crawl" / "scentline-data")
    assert any(host(row.url).startswith("127.20.") for row in known), "the hostile sites are known"


def test_counts_are_exact_where_an_owner_may_not_teach_and_explain_says_that_it_stands_back(
    tmp_path: Path,
) -> None:
    settings: dict[str, object] = {
        "fetch.delay_seconds": 0.1, "frontier.domain_share": 1, "frontier.evidence_share": 0.15,
    }  # fmt: skip
    crawl(Rivals(("farm",), 2, COMMENTED), tmp_path / "crawl", MORE_THAN_HONEST, settings)
    exact(tmp_path / "crawl")
    data = tmp_path / "crawl" / "scentline-data"
    silent = [outcome.silent is True for outcome in outcomes_of(data)]
    assert 0 < sum(silent) < len(silent)

    # What the crawl was free to do, one with the usual share would not.
    candidates = (row.url for row in pages_of(data) if row.state == "candidate")
    owned = next(url for url in candidates if owner(host(url)) == "127.20.3.0/24")
    said = printed(tmp_path / "crawl", "explain", owned)
    assert "127.20.3.0/24 had" in said, said
    assert "it is held back" in said
