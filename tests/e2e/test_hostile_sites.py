"""Six honest sites with hostile ones of five kinds beside them: the honest harvest stays what it was."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from bench.hostile.crawl import crawl
from scentline.agents.frontier.keys import PAGE_PREFIX
from scentline.agents.frontier.rows import FrontierRow, PageRow
from scentline.agents.operate.inspect.record import outcomes
from scentline.models.domain import owner
from scentline.models.url import host
from scentline.streams.transport.journal import Journal
from tests.agents.commands import last_line, printed
from tests.agents.shards import rows_of
from tests.webs.dangers.rivals import KINDS, Rivals

pytestmark = pytest.mark.slow

BUDGET = 200
#: So many honest pages bear links to each hostile kind that these are found.
COMMENTED = 0.05
#: A crawl of so many pages runs short of honest ones on the topic, and goes to the farm if it is free to.
MORE_THAN_HONEST = 350
#: Of a crawl of the honest sites alone .95 are on the topic; beside all hostile ones .86 to .96, and .83 where
#: the machine has four such crawls at once. Undefended it is half.
LEAST = 0.8 * BUDGET
#: Hosts that answer late on a busy machine are asked as soon as ever: that is the machine's doing.
SETTINGS: dict[str, object] = {"fetch.delay_seconds": 0.1, "fetch.delay_factor": 0}


def fetched(tmp_path: Path, kinds: tuple[str, ...]) -> tuple[int, Counter[str]]:
    outcome = crawl(Rivals(kinds, 1, COMMENTED), tmp_path / "crawl", BUDGET, SETTINGS)
    return outcome.harvest, outcome.fetches


def pages(tmp_path: Path) -> list[PageRow]:
    """Return all pages that a crawl knows."""
    found = rows_of(tmp_path / "crawl" / "scentline-data", "frontier", PAGE_PREFIX)
    rows = [msgspec.msgpack.decode(raw, type=FrontierRow) for _, raw in found]
    return [row for row in rows if isinstance(row, PageRow)]


@pytest.mark.parametrize("kinds", [("farm",), KINDS], ids=["farm", "all"])
def test_the_honest_harvest_stays_what_it_was(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    harvest, fetches = fetched(tmp_path, kinds)
    assert harvest >= LEAST, fetches
    assert any(host(row.url).startswith("127.20.") for row in pages(tmp_path)), "the hostile sites are known"


def test_counts_are_exact_where_an_owner_may_not_teach_and_explain_says_that_it_stands_back(
    tmp_path: Path,
) -> None:
    settings: dict[str, object] = {
        "fetch.delay_seconds": 0.1, "frontier.domain_share": 1, "frontier.evidence_share": 0.15,
    }  # fmt: skip
    crawl(Rivals(("farm",), 2, COMMENTED), tmp_path / "crawl", MORE_THAN_HONEST, settings)
    report = last_line(printed(tmp_path / "crawl", "audit", "--json"))
    assert (report["judged_twice"], report["lost"], report["differences"]) == (0, 0, 0)
    with Journal.open(tmp_path / "crawl" / "scentline-data" / "journal", read_only=True) as journal:
        silent = [outcome.silent is True for outcome in outcomes(journal)]
    assert 0 < sum(silent) < len(silent)

    # What the crawl was free to do, one with the usual share would not.
    owned = [
        row.url
        for row in pages(tmp_path)
        if row.state == "candidate" and owner(host(row.url)) == "127.20.3.0/24"
    ]
    said = printed(tmp_path / "crawl", "explain", owned[0])
    assert "127.20.3.0/24 had" in said, said
    assert "it is held back" in said
