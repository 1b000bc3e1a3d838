"""The order command: read the web, crawl it in every order, write tables and pictures, and print."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import typer

from scentline.agents.cli.output import print_table
from scentline.models.words import words
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.experiment import OutputDirectory, check_files, finish, working
from scentline_lab.order.crawl import By, Crawls, Job, topic_jobs
from scentline_lab.order.graph import Ints
from scentline_lab.order.pictures import draw_results, draw_topic
from scentline_lab.order.reading import IB, IR, Web, read_web
from scentline_lab.order.results import TOLD, Curve, Panel, Results, TopicResults, points
from scentline_lab.progress import Progress


class Output(OutputDirectory):
    """The output directory of ``scentline order``."""

    command = "order"
    files = (
        "order.*.csv", "figures.csv", "threshold.csv", "stop.csv", "buffer.csv", "walk.csv", "histogram.csv",
        "topics.csv", "thresholds.png", "threshold-*.png", "stop.png", "buffer.png", "histogram.png",
        "topic-*.png",
    )  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options of a comparison (`read_web`); ``processes`` changes the time it takes and nothing else."""

    path: Path
    start: str | None
    within: str | None
    topics: tuple[str, ...]
    thresholds: tuple[float, ...]
    ranks: tuple[float, ...]
    processes: int


def run(settings: Settings, options: Options, out: Path | None) -> None:
    """Compare orderings, write everything into ``out`` where there is one, and print."""
    topics = tuple(dict.fromkeys(map(_word, options.topics)))
    check_files("", [options.path])
    output = Output.prepared(out)
    left = f": {out} has the orders of the crawls that finished" if out else ""
    with working(lambda: left) as bars:
        results = _compare(settings, options, topics, output, bars)
    web = results.web
    typer.echo(f"{len(web):,} pages, {len(web.graph.targets):,} links, from {web.name(web.start)[:200]!a}\n")
    rows = (
        (
            f"{each.hot.importance} >= {each.hot.threshold:g}", f"{each.hot.pages:,}", each.ordering,
            *(f"{share:.2f}" for share in each.at), f"{each.area:.3f}",
        )
        for each in results.figures()
    )  # fmt: skip
    print_table(["importance", "hot", "ordering", *(f"@{share:.0%}" for share in TOLD), "area"], rows)
    finish(out)


def _word(topic: str) -> str:
    found = words(topic)
    if len(found) != 1:
        raise ConfigurationError(f"--topic {topic!r}: expected one word")
    return found[0]


def _compare(
    settings: Settings, options: Options, topics: Sequence[str], output: Output | None, bars: Progress
) -> Results:
    web = read_web(options.path, options.start, options.within, settings, options.processes, bars)
    if topics and not web.texts:
        raise ConfigurationError(f"--topic: {options.path} has only links, expected an archive of pages")
    jobs = [Job(By.BREADTH_FIRST), Job(By.BACKLINK), Job(By.PAGERANK)]
    jobs += [Job(By.LOCATION)] if "://" in web.graph.names[0] else []
    jobs += [job for topic in topics for job in topic_jobs(topic)]
    crawls = Crawls(web)
    orders: dict[Job, Ints] = {}
    for job, order in crawls.run(jobs, options.processes, bars):
        orders[job] = order
        if output is not None:
            rows = ((number, web.name(page)) for number, page in enumerate(order.tolist(), 1))
            output.write(f"order.{order_name(job)}", ("n", "page"), rows)
    plain = {job.ordering: orders[job] for job in jobs if not job.topic}
    thresholds = {IB: options.thresholds, IR: options.ranks}
    results = Results(web, plain, thresholds, crawls.buffers(options.processes, bars))
    if output is not None:
        bars.phase("write tables and pictures", 2 + len(topics))
        for name, (columns, lines) in _tables(results).items():
            output.write(name, columns, lines, form=".6g")
        bars.advance()
        draw_results(output, results)
        bars.advance()
        _write_topics(output, results, topics, orders, bars)
    return results


def order_name(job: Job) -> str:
    """Return the name of a crawl in its file's name."""
    return ".".join(part for part in (job.topic, job.crawler if job.topic else "", job.ordering) if part)


def _tables(results: Results) -> Mapping[str, tuple[Sequence[str], Iterable[Iterable[object]]]]:
    """Return the columns and rows of each table of the crawls without a topic."""
    web, hot = results.web, ("importance", "threshold", "hot")
    counts = np.bincount(web.graph.backlinks)
    return {
        "figures": (
            (*hot, "ordering", *(f"p_st_{share}" for share in TOLD), "area"),
            ((*each.hot, each.ordering, *each.at, each.area) for each in results.figures()),
        ),
        "threshold": (
            (*hot, "ordering", "pages", "share", "p_st"),
            ((*hot, *row) for hot in results.hot for row in _curves(web, results.with_threshold(hot))),
        ),
        "stop": (
            ("importance", "ordering", "pages", "share", "p_cs"),
            ((name, *row) for name in web.importance for row in _curves(web, results.stop(name))),
        ),
        "buffer": (("importance", "threshold", "ordering", "buffer", "p_bc"), results.buffers()),
        "walk": (
            ("ordering", "share", "depth", "wait"),
            ((ordering, share, *walk) for ordering, share, walk in results.walks()),
        ),
        "histogram": (
            ("backlinks", "pages"), ((links, int(counts[links])) for links in np.flatnonzero(counts).tolist()),
        ),
    }  # fmt: skip


def _write_topics(
    output: Output,
    results: Results,
    topics: Sequence[str],
    orders: Mapping[Job, Ints],
    bars: Progress,
) -> None:
    web = results.web
    panels: dict[str, list[Panel]] = {t: list(TopicResults(web, t, orders).panels()) for t in topics}
    if topics:
        rows = (
            (topic, panel.name, panel.hot, panel.measure, *row)
            for topic, found in panels.items()
            for panel in found
            for row in _curves(web, panel.curves)
        )
        columns = ("topic", "graph", "hot", "measure", "ordering", "pages", "share", "performance")
        output.write("topics", columns, rows, form=".6g")
    for topic, found in panels.items():
        draw_topic(output, topic, results.shares, found)
        bars.advance()


def _curves(web: Web, curves: Mapping[str, Curve]) -> Iterator[tuple[str, int, float, float]]:
    at = points(len(web)).tolist()
    for ordering, curve in curves.items():
        for pages, performance in zip(at, curve.tolist(), strict=True):
            yield ordering, pages, pages / len(web), performance
