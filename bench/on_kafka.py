"""``python -m bench.on_kafka``: what a page costs one worker with every role on a real broker.

Beside it stands a crawl on the embedded log, of the same pages with the same predicates and budget, in turn.
Times are CPU time of the crawler's process with its children; the broker's and the web's are not in them. With
``--stages`` both crawls have timers, and a table says what each stage takes a page on either.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.command import COMMAND, WIKISPEEDIA, children_cpu
from bench.faults.cluster import Cluster
from bench.faults.crawl import Crawl, wikispeedia
from bench.stages.within import program
from scentline.agents.signals import end_as_by_ctrl_c

#: Where the stages of each crawl are written to.
KAFKA, EMBEDDED = "kafka.json", "embedded.json"
#: Part of the budget after which a crawl is brought to rest: some pages repeat others, and are not judged.
_ALMOST = 0.98


def main() -> None:
    """Parse the command line, crawl, and print the figures."""
    parser = argparse.ArgumentParser(prog="bench.on_kafka")
    parser.add_argument("--budget", type=int, default=1_000, help="pages of each crawl")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--stages", action="store_true", help="show where the time goes")
    given = parser.parse_args()
    end_as_by_ctrl_c()
    for number in range(given.rounds):
        with tempfile.TemporaryDirectory(prefix="scentline-on-kafka-") as directory:
            on_kafka, embedded = _round(Path(directory), given.budget, given.stages)
            if given.stages:
                print(_table(Path(directory)), flush=True)
        print(
            f"{number + 1}: {1000 * on_kafka:.1f} ms of CPU a page on Kafka, {1000 * embedded:.1f} embedded, "
            f"{on_kafka / embedded:.2f} times",
            flush=True,
        )


def _round(directory: Path, budget: int, stages: bool) -> tuple[float, float]:
    """Return the CPU seconds a page of a worker, and of a crawl on the embedded log."""
    crawl = wikispeedia(WIKISPEEDIA, directory / "access.log", lines=0)
    on_kafka, embedded = (program(directory / name) if stages else "" for name in (KAFKA, EMBEDDED))
    with Cluster(directory, crawl, {"one": ("all",)}, 1, {"frontier.budget": budget}, on_kafka) as cluster:

        def work() -> int:
            cluster.seed()
            cluster.wait_for_pages(round(_ALMOST * budget))
            cluster.pause()
            judged = cluster.judged()
            cluster.workers["one"].leave()
            return judged

        proxy = cluster.settings.fetch.proxy or ""
        return _cpu_a_page(work), _cpu_a_page(lambda: _crawl(directory, crawl, proxy, budget, embedded))


def _table(directory: Path) -> str:
    """Return what each stage takes a page on Kafka and on the embedded log, by the difference."""
    on_kafka, embedded = (json.loads((directory / name).read_text()) for name in (KAFKA, EMBEDDED))
    rows = {stage: (on_kafka.get(stage, 0.0), embedded.get(stage, 0.0)) for stage in {**on_kafka, **embedded}}
    rows["all"] = (sum(on_kafka.values()), sum(embedded.values()))
    lines = [f"{'ms of CPU a page':<40}{'Kafka':>10}{'embedded':>10}{'more':>10}"]
    for stage, (one, other) in sorted(rows.items(), key=lambda row: row[1][1] - row[1][0]):
        lines.append(f"{stage:<40}{one:>10.3f}{other:>10.3f}{one - other:>10.3f}")
    return "\n".join(lines)


def _crawl(directory: Path, crawl: Crawl, proxy: str, budget: int, first: str) -> int:
    """Crawl on the embedded log, in a process that runs ``first`` before; return the pages."""
    subprocess.run(  # noqa: S603 - this project's own command
        [
            *COMMAND[:2], f"{first}\n{COMMAND[2]}",
            "crawl", "--data", str(directory / "embedded"), "--labels", str(crawl.labels),
            "--budget", str(budget), "--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0",
            *(word for name, text in crawl.predicates.items() for word in ("--predicate", f"{name}={text}")),
            *(word for seed in crawl.seeds for word in ("--seed", seed)),
        ],
        check=True, stdout=sys.stderr, cwd=directory,
    )  # fmt: skip
    return budget


def _cpu_a_page(work: Callable[[], int]) -> float:
    """Return the CPU seconds a page of the children that ``work`` waits for; it returns their pages."""
    before = children_cpu()
    pages = work()
    return (children_cpu() - before) / pages


if __name__ == "__main__":
    main()
