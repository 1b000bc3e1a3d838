"""What the order command does: read the web, crawl it in every order, write tables and pictures."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scentline.agents.progress import Progress, progress
from scentline.models.words import words
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.order.crawls import BACKLINK, BREADTH_FIRST, LOCATION, PAGERANK, Crawls, Job
from scentline_lab.order.graph import Ints
from scentline_lab.order.pictures import draw_results, draw_topic
from scentline_lab.order.reading import IB, IR, Chosen, Web, read_web
from scentline_lab.order.results import (
    Results,
    TopicResults,
    topic_jobs,
    write_order,
    write_results,
    write_topics,
)
from scentline_lab.output import OutputDirectory


class Output(OutputDirectory):
    """The output directory of ``scentline order``."""

    command = "order"
    files = (
        "order.*.csv", "figures.csv", "threshold.csv", "stop.csv", "buffer.csv", "walk.csv", "histogram.csv",
        "topics.csv", "thresholds.png", "threshold-*.png", "stop.png", "buffer.png", "histogram.png",
        "topic-*.png",
    )  # fmt: skip
    others = "files that no comparison of orderings made"
    earlier = "an earlier comparison's"


@dataclass(frozen=True)
class Options:
    """What a comparison is given; ``processes`` changes the time it takes and nothing else."""

    path: Path
    chosen: Chosen = field(default_factory=Chosen)
    topics: tuple[str, ...] = ()
    thresholds: tuple[float, ...] = (3, 10, 100)
    ranks: tuple[float, ...] = (13,)
    processes: int = 1


def run(settings: Settings, options: Options, out: Path | None) -> Results | None:
    """Compare orderings, and write everything into ``out`` where there is one; None when interrupted.

    Raises what is wrong with the options before anything is started.
    """
    topics = tuple(dict.fromkeys(map(_word, options.topics)))
    if not options.path.is_file():
        raise ConfigurationError(f"{options.path}: there is no such file")
    output = Output.prepared(out)
    try:
        with progress(sys.stderr) as bars:
            return _compare(settings, options, topics, output, bars)
    except KeyboardInterrupt:
        kept = f": {output.directory} has the orders of the crawls that finished" if output else ""
        sys.stderr.write(f"\nInterrupted{kept}.\n")
        return None


def _word(topic: str) -> str:
    found = words(topic)
    if len(found) != 1:
        raise ConfigurationError(f"--topic {topic!r}: expected one word")
    return found[0]


def _compare(
    settings: Settings, options: Options, topics: Sequence[str], output: Output | None, bars: Progress
) -> Results:
    web = read_web(options.path, options.chosen, settings, options.processes, bars)
    if topics and not web.texts:
        raise ConfigurationError(f"--topic: {options.path} has only links, expected an archive of pages")
    jobs = [Job(BREADTH_FIRST), Job(BACKLINK), Job(PAGERANK)]
    if web.has_urls:
        jobs.append(Job(LOCATION))
    jobs += [job for topic in topics for job in topic_jobs(topic)]
    crawls = Crawls(web)
    orders: dict[Job, Ints] = {}
    for job, order in crawls.run(jobs, options.processes, bars):
        orders[job] = order
        if output is not None:
            write_order(output, web, job, order)
    plain = {job.ordering: orders[job] for job in jobs if not job.topic}
    thresholds = {IB: options.thresholds, IR: options.ranks}
    results = Results(web, plain, thresholds, crawls.buffers(options.processes, bars))
    if output is not None:
        _write(output, web, results, topics, orders, bars)
    return results


def _write(
    output: Output, web: Web, results: Results, topics: Sequence[str], orders: dict[Job, Ints], bars: Progress
) -> None:
    bars.phase("write tables and pictures", 2 + len(topics))
    write_results(output, results)
    bars.advance()
    draw_results(output, results)
    bars.advance()
    panels = {topic: list(TopicResults(web, topic, orders).panels()) for topic in topics}
    if topics:
        write_topics(output, web, panels)
    for topic, found in panels.items():
        draw_topic(output, topic, results.shares, found)
        bars.advance()
