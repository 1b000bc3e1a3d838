"""Crawls without a predicate, in the order of an importance, on webs that have what the papers tell of."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.agents.commands import complaint, last_line, printed
from tests.agents.test_archive import page, write
from tests.e2e.crawls import exact, options, outcomes_of, pages_of

#: Figure 3 of Cho 1998: the start leads to two pages of a large cluster, whose pages all link to each other,
#: and to pages that share a target, which is more important than the cluster's pages are.
ROOT = "http://site.test"
CLUSTER = [f"{ROOT}/cluster/{number}" for number in range(30)]
WAYS = [f"{ROOT}/way/{number}" for number in range(6)]
POPULAR = f"{ROOT}/a/b/popular"
LEAVES = {way: [f"{way}/leaf-{number}" for number in range(4)] for way in WAYS}
#: One page at a time, and none by chance.
IN_ORDER: dict[str, object] = {"frontier.explore": 0, "frontier.window_max": 1}


def archive_of(path: Path, web: Mapping[str, Sequence[str]]) -> Path:
    """Write pages with these links."""

    def html(url: str, links: Sequence[str]) -> bytes:
        anchors = "".join(f'<a href="{link}">{link.rpartition("/")[2]}</a> ' for link in links)
        return f"<title>{url}</title><p>{anchors}".encode()

    return write(path, *(page(url, html(url, links)) for url, links in web.items()))


def judged(data: Path) -> list[str]:
    """Return the pages in the order in which they were judged."""
    return [outcome.url for outcome in sorted(outcomes_of(data), key=lambda outcome: outcome.time)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = {f"{ROOT}/": [*CLUSTER[:2], *WAYS], POPULAR: [f"{ROOT}/"]}
    pages |= {one: [other for other in CLUSTER if other != one] for one in CLUSTER}
    pages |= {way: [POPULAR, *leaves] for way, leaves in LEAVES.items()}
    pages |= {leaf: [] for leaves in LEAVES.values() for leaf in leaves}
    return archive_of(tmp_path_factory.mktemp("web") / "pages.warc.gz", pages)


def crawled(cwd: Path, archive: Path, ordering: str, budget: int = 20, *more: str) -> list[str]:
    summary = last_line(printed(
        cwd, "crawl", "--archive", str(archive), "--seed", f"{ROOT}/", "--ordering", ordering,
        "--budget", str(budget), "--json", *options(IN_ORDER), *more,
    ))  # fmt: skip
    assert summary["policy"] == ordering
    assert summary["predicates"]["every-page"]["harvest_rate"] == 1.0
    return judged(cwd / "scentline-data")


def test_backlink_goes_deep_into_the_cluster(tmp_path: Path, archive: Path) -> None:
    pages = crawled(tmp_path, archive, "backlink")
    assert set(pages[1:]) <= set(CLUSTER)
    found = json.loads(printed(tmp_path, "explain", CLUSTER[-1], "--json"))
    assert found["priorities"] == {"every-page": len(pages) - 1 - (CLUSTER[-1] in pages)}
    named = options({"fetch.user_agent": "test (+https://scentline.dev)"})
    said = complaint(tmp_path, "crawl", "--seed", f"{ROOT}/", "--ordering", "pagerank", *named)
    assert "holds a crawl with the policy backlink" in said


def test_pagerank_finds_the_important_page_before_the_cluster_and_goes_on(
    tmp_path: Path, archive: Path
) -> None:
    pages = crawled(tmp_path, archive, "pagerank")
    assert POPULAR in pages[1:10]
    assert sum(url in CLUSTER for url in pages[:10]) <= 2
    later = crawled(tmp_path, archive, "pagerank", 30)
    assert (later[:20], len(later)) == (pages, 30)


def test_location_prefers_short_paths(tmp_path: Path, archive: Path) -> None:
    slashes = [url.count("/") for url in crawled(tmp_path, archive, "location", 60)]
    assert slashes == sorted(slashes)


def test_similarity_prefers_what_is_called_like_the_query(tmp_path: Path, archive: Path) -> None:
    said = complaint(tmp_path, "crawl", "--seed", f"{ROOT}/", "--ordering", "similarity")
    assert said.startswith("frontier.query: '' has no words")
    pages = crawled(tmp_path, archive, "similarity", 20, "--set", "frontier.query=popular ways")
    assert pages.index(POPULAR) <= 5


# by what users do there: a forum that has what Liu 2011 assumes


# Its lists and topics are read, its profiles hardly, its printable copies never; half of its topics are newer
# than the log. Nothing but the pattern of their URLs tells these from the copies.
FORUM = "http://forum.test"
LISTS = [f"{FORUM}/list/{name}" for name in ("cars", "boats", "bikes", "trains", "planes", "trams")]
TOPICS = [[f"{FORUM}/topic/{name.rpartition('/')[2]}-{number}" for number in range(10)] for name in LISTS]
AGENT = "Mozilla/5.0 (X11; Linux x86_64) Firefox/99.0"


def of(kind: str, topic: str) -> str:
    return topic.replace("/topic/", f"/{kind}/")


ALL_TOPICS = [topic for topics in TOPICS for topic in topics]
PROFILES = [of("user", topic) for topic in ALL_TOPICS]
COPIES = [of("print", topic) for topic in ALL_TOPICS]


@pytest.fixture(scope="module")
def forum(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that crawls the forum with its log."""
    directory = tmp_path_factory.mktemp("forum")
    web = {f"{FORUM}/": [*COPIES[:5], *PROFILES[:5], *LISTS]}
    for name, topics in zip(LISTS, TOPICS, strict=True):
        around = (link for topic in topics for link in (of("print", topic), of("user", topic), topic))
        web[name] = [*LISTS, *around]
    web |= {topic: [of("user", topic), of("print", topic)] for topic in ALL_TOPICS}
    web |= {url: [] for url in (*PROFILES, *COPIES)}
    archive_of(directory / "pages.warc.gz", web)
    (directory / "access.log").write_text("".join(log(Random(5))))
    return [
        "crawl", "--archive", str(directory / "pages.warc.gz"), "--log", str(directory / "access.log"),
        "--seed", f"{FORUM}/", *options(IN_ORDER),
    ]  # fmt: skip


def log(random: Random) -> Iterator[str]:
    """Yield what forty people did: each reads a list's topics, every fourth a profile."""
    second = 0
    for number in range(40):
        name = random.randrange(len(LISTS))
        ways = [(LISTS[name], "-"), *((topic, LISTS[name]) for topic in random.sample(TOPICS[name][:5], 4))]
        if number % 4 == 0:
            topic = ways[-1][0]
            ways.append((of("user", topic), topic))
        for url, referrer in ways:
            second += 7
            time = f"21/Nov/2026:{10 + second // 3600}:{second // 60 % 60:02}:{second % 60:02} +0000"
            yield f'10.0.0.{number} - - [{time}] "GET {url} HTTP/1.1" 200 900 "{referrer}" "{AGENT}"\n'


def in_forum(cwd: Path, forum: Sequence[str], *more: str) -> list[str]:
    """Read the log while one page is fetched, then crawl; return the pages as they were judged."""
    printed(cwd, *forum, *more, "--set", "frontier.host_budget=1")
    printed(cwd, *forum, *more)
    return judged(cwd / "scentline-data")


def test_behaviour_fetch_takes_what_is_read_old_or_new_first_and_what_matches_no_visits_never(
    tmp_path: Path, forum: Sequence[str]
) -> None:
    never = ("--set", "frontier.visited_patterns_only=true")
    pages = in_forum(tmp_path, forum, "--ordering", "behaviour-fetch", *never)
    read = {*LISTS, *ALL_TOPICS}
    assert set(pages[1 : len(read)]) <= read
    assert sorted(pages[1:]) == sorted([*read, *PROFILES])
    assert {row.state for row in pages_of(tmp_path / "scentline-data") if row.url in COPIES} == {"candidate"}
    said = printed(tmp_path, "explain", COPIES[0], *never)
    assert "not fetched: no visits match its pattern" in said
    exact(tmp_path, judged=len(pages))


def test_behaviour_discovery_takes_what_leads_to_the_rest_first(tmp_path: Path, forum: Sequence[str]) -> None:
    pages = in_forum(tmp_path, forum, "--ordering", "behaviour-discovery", "--budget", "10")
    assert set(pages[2 : len(LISTS)]) <= set(LISTS)
