"""``python -m bench.on_kafka``: what a page costs one worker with every role on a real broker.

Beside it stands a crawl on the embedded log, of the same pages with the same predicates and budget, in turn.
Times are CPU time of the crawler's process with its children; the broker's and the web's are not in them.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.command import WIKISPEEDIA, children_cpu, crawling, summary
from bench.faults.cluster import Cluster
from bench.faults.crawl import Crawl, wikispeedia
from scentline.agents.signals import end_as_by_ctrl_c

#: Part of the budget after which a crawl is brought to rest: some pages repeat others, and are not judged.
_ALMOST = 0.98


def main() -> None:
    """Parse the command line, crawl, and print the figures."""
    parser = argparse.ArgumentParser(prog="bench.on_kafka")
    parser.add_argument("--budget", type=int, default=1_000, help="pages of each crawl")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    end_as_by_ctrl_c()
    for number in range(given.rounds):
        with tempfile.TemporaryDirectory(prefix="scentline-on-kafka-") as directory:
            on_kafka, embedded = _round(Path(directory), given.budget)
        print(
            f"{number + 1}: {1000 * on_kafka:.1f} ms of CPU a page on Kafka, {1000 * embedded:.1f} embedded, "
            f"{on_kafka / embedded:.2f} times",
            flush=True,
        )


def _round(directory: Path, budget: int) -> tuple[float, float]:
    """Return the CPU seconds a page of a worker, and of a crawl on the embedded log."""
    crawl = wikispeedia(WIKISPEEDIA, directory / "access.log", lines=0)
    with Cluster(directory, crawl, {"one": ("all",)}, 1, {"frontier.budget": budget}) as cluster:

        def work() -> int:
            cluster.seed()
            cluster.wait_for_pages(round(_ALMOST * budget))
            cluster.pause()
            judged = cluster.judged()
            cluster.workers["one"].leave()
            return judged

        proxy = cluster.settings.fetch.proxy or ""
        return _cpu_a_page(work), _cpu_a_page(lambda: _crawl(directory, crawl, proxy, budget))


def _crawl(directory: Path, crawl: Crawl, proxy: str, budget: int) -> int:
    """Crawl on the embedded log; return the pages."""
    more = ("--labels", str(crawl.labels), "--budget", str(budget))
    summary(*crawling(proxy, directory / "embedded", crawl.seeds, crawl.predicates, *more))
    return budget


def _cpu_a_page(work: Callable[[], int]) -> float:
    """Return the CPU seconds a page of the children that ``work`` waits for; it returns their pages."""
    before = children_cpu()
    pages = work()
    return (children_cpu() - before) / pages


if __name__ == "__main__":
    main()
