"""The ways to crawl beside the usual one do on Kafka what they do on the embedded log, all at once."""

from pathlib import Path

from scentline.agents.frontier.keys import DEPTH_PREFIX
from scentline.agents.frontier.rows import DepthRow, FrontierRow
from scentline.streams.inbox import Codec
from tests.agents.commands import last_line, printed
from tests.agents.shards import rows_of
from tests.e2e.test_instant import NEW, PAGES, SITE, Crawled, command
from tests.webs.newspaper.server import read_record
from tests.webs.process import serve_newspaper

PARTITIONS = 2
MODES = {
    "frontier.mode": "instant",
    "frontier.ordering": "pagerank",
    "frontier.depth": "auto",
    "frontier.depth_share": 0.99,
}


def crawled(directory: Path, broker: str) -> Crawled:
    """Crawl a newspaper while it publishes, and copy what the crawl knows to the directory ``snapshot``."""
    options = [word for key, value in MODES.items() for word in ("--set", f"{key}={value}")]
    options += ["--broker", broker, "--set", f"streams.partitions={PARTITIONS}"]
    printed(directory, "topics", "create", *options)
    with serve_newspaper(SITE, directory / "asked.jsonl") as server:
        summary = last_line(printed(directory, *command(server.url), *options))
    printed(directory, "snapshot", "--data", "snapshot", *options)
    return Crawled(read_record(directory / "asked.jsonl"), summary, directory, server.url)


def test_news_in_the_order_of_pagerank_down_to_a_depth_are_crawled_as_on_the_embedded_log(
    tmp_path: Path, empty_kafka: str
) -> None:
    crawl = crawled(tmp_path, empty_kafka)
    assert (crawl.summary["fetched"], crawl.summary["policy"]) == (PAGES, "pagerank")
    for article, path in enumerate(NEW, SITE.first):
        fetched = crawl.of(path)[0].before
        looks = [asked for asked in crawl.of("/") if SITE.published(article) <= asked.before < fetched]
        assert 1 <= len(looks) <= 3, path
    for path in ("/", "/quiet"):
        assert [asked.conditional for asked in crawl.of(path)] == [False] + [True] * (len(crawl.of(path)) - 1)
    report = last_line(printed(tmp_path, "audit", "--data", "snapshot", "--json"))
    assert (report["judged"], report["judged_twice"], report["lost"], report["differences"]) == (PAGES, 0, 0, 0)
    assert sum(sum(row.growth.pages) for row in depths(tmp_path / "snapshot")) == PAGES
    told = printed(tmp_path, "explain", f"{crawl.url.rstrip('/')}{NEW[0]}", "--data", "snapshot")
    assert f"fetched at once (frontier.mode): it is under a news prefix, and new on {crawl.url}" in told


def depths(data: Path) -> list[DepthRow]:
    codec: Codec[FrontierRow] = Codec(FrontierRow)
    rows = [codec.decode(raw) for _, raw in rows_of(data, "frontier", DEPTH_PREFIX)]
    return [row for row in rows if isinstance(row, DepthRow)]
