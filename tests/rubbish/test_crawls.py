"""Whole crawls of a site that sets every trap at once, of webs at random, and among messages of strangers."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scentline.streams.topics import DEAD_LETTERS
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import printed
from tests.e2e.crawls import synthetic
from tests.kafka.test_crawl import WEB, arguments, counts
from tests.rubbish.crawling import SEEDS, crawl, crawl_at_random
from tests.rubbish.strangers import NUMBER, SECONDS, during
from tests.webs.serving import pages, serving

LINKS = [
    "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "gopher://127.0.0.1:70/",
    "javascript:alert(1)", "data:text/html,<p>hello", "/" + "a" * 100_000, "http://" + "a" * 100_000 + ".test/",
    "?" + "q=1&" * 25_000, "/caf\udce9", "/nul\0byte", "http://[::ffff:169.254.169.254]/", "http://0xa9fea9fe/",
    "//", "http://:80/", "http://a.test:99999/", "/loop-a", "/self", "/invalid", "/nul", "/line", "/last",
]  # fmt: skip
#: The good pages: the links of each, and what stands before them.
GOOD = {
    "/": (LINKS, b""),
    "/invalid": (["/after-invalid"], b"\xc3\x28\xf0\x9f\x80\xff" * 100),
    "/nul": (["/after-nul"], b"\0<p>" + b"plain words " * 200 + b"no\0thing"),
    "/line": (["/after-line"], b"word " * 150_000),
    **{path: ([], b"") for path in ("/after-invalid", "/after-nul", "/after-line", "/last")},
}
MOVED: dict[str, bytes | str] = {"/loop-a": "/loop-b", "/loop-b": "/loop-a", "/self": "/self"}


def page(links: Sequence[str], before: bytes) -> bytes:
    anchors = "".join(f'<a href="{link}">a link</a> ' for link in links)
    return before + f"<title>A page</title><p>{anchors}</p>".encode(errors="surrogateescape")


def test_of_a_site_that_sets_every_trap_the_good_pages_are_judged_and_each_page_is_asked_for_once(
    tmp_path: Path,
) -> None:
    given = {"fetch.allow": "127.0.0.1", "frontier.attempts": 2, "frontier.retry_seconds": 0.1}
    with serving(pages(MOVED | {path: page(*given) for path, given in GOOD.items()})) as served:
        found = crawl(tmp_path, f"{served.origin}/", given)
    assert {url.removeprefix(served.origin) for url in found} == GOOD.keys()
    targets = served.targets()
    assert sorted(targets) == sorted(set(targets))
    assert max(map(len, targets)) < 3_000


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_crawl_among_rubbish_at_random_ends_with_every_good_page_and_exact_counts(
    tmp_path: Path, seed: int
) -> None:
    crawl_at_random(seed, tmp_path)


def test_a_crawl_that_strangers_write_to_counts_as_one_alone(tmp_path: Path) -> None:
    with synthetic(SyntheticWeb(*WEB)) as served:
        options = arguments(tmp_path, served.origin)
        alone = counts(tmp_path, *options, "--data", "alone")
        among = counts(tmp_path, *options, "--data", "among", first=during(NUMBER), seconds=SECONDS)
    assert among == alone
    audit = json.loads(printed(tmp_path, "audit", "--data", "among", "--json"))
    assert audit | {"quarantined": 0} == json.loads(printed(tmp_path, "audit", "--data", "alone", "--json"))
    letters = printed(tmp_path, "dead-letters", "--data", "among", "--json").splitlines()
    assert DEAD_LETTERS.most is not None
    assert min(NUMBER, DEAD_LETTERS.most) / 4 < len(letters) <= DEAD_LETTERS.most
