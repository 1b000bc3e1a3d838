"""A disk that is full: one clear line, and nothing is lost once there is room again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.rubbish.measured import Ended, complaint, run

WEB = (5, 4, 60, 4)  # seed, sites, pages a site, topics
BUDGET = 150

# The log and the tables fill a disk by growing, a file at a time: a bound on a file's size stops them as a
# full disk does, without one, and without the rights to make one.
FULL = ("sh", "-c", 'ulimit -f 300; exec "$@"', "sh")


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


def crawl(cwd: Path, proxy: str, *, full: bool) -> Ended:
    web = SyntheticWeb(*WEB)
    seeds = [word for seed in web.seeds(2) for word in ("--seed", seed)]
    return run(
        cwd, "crawl", *seeds, "--predicate", 'any=not "unheard-of"', "--budget", str(BUDGET), "--json",
        "--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0", prefix=FULL if full else (),
    )  # fmt: skip


def test_a_crawl_on_a_full_disk_says_so_and_loses_nothing(tmp_path: Path, proxy: str) -> None:
    line = complaint(crawl(tmp_path, proxy, full=True))
    assert "scentline-data" in line
    assert "too large" in line or "No space left" in line
    ended = crawl(tmp_path, proxy, full=False)
    assert ended.status == 0, ended.err
    assert last_line(ended.out)["fetched"] == BUDGET
    report = json.loads(printed(tmp_path, "audit", "--json"))
    assert (report["judged"], report["judged_twice"], report["lost"], report["differences"]) == (
        BUDGET,
        0,
        0,
        0,
    )


def test_a_log_that_is_fed_onto_a_full_disk_is_read_again_from_where_it_was(tmp_path: Path) -> None:
    web = SyntheticWeb(*WEB)
    lines = list(web.access_log(users=50, accesses=8_000))
    (tmp_path / "access.log").write_text("".join(f"{line}\n" for line in lines))
    line = complaint(run(tmp_path, "feed", "access.log", prefix=FULL))
    assert "scentline-data" in line
    whole = run(tmp_path, "feed", "access.log")
    assert whole.status == 0, whole.err
