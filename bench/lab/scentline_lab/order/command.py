"""The order command: read the web, crawl it in every order, write tables and pictures, and print."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import typer

from scentline.agents.cli.output import print_table
from scentline.models.words import words
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.experiment import Cut, Output, check_files
from scentline_lab.order.crawl import By, Job, buffers, run, topic_jobs
from scentline_lab.order.pictures import draw_results, draw_topic
from scentline_lab.order.reading import Web, read_web
from scentline_lab.order.results import TOLD, Curve, Results
from scentline_lab.progress import Progress, progress

_FILES = (
    "order.*.csv", "figures.csv", "threshold.csv", "stop.csv", "buffer.csv", "depth.csv",
    "topics.csv", "thresholds.png", "threshold-*.png", "stop.png", "buffer.png", "topic-*.png",
)  # fmt: skip


def show(
    settings: Settings,
    path: Path,
    out: Path | None,
    *,
    start: str | None,
    within: str | None,
    topics: Sequence[str],
    thresholds: Mapping[str, Sequence[float]],
    processes: int,
) -> None:
    """Compare orderings of a web (`read_web`), write everything into ``out`` where there is one, and print;
    ``thresholds`` are the least values of hot pages by importance.
    """
    found = tuple(dict.fromkeys(map(_word, topics)))
    check_files("", [path])
    output = Output(out, "order", _FILES).prepare()
    with progress(sys.stderr) as bars, Cut() as cut:
        web = read_web(path, start, within, settings, processes, bars)
        if found and not web.texts:
            raise ConfigurationError(f"--topic: {path} has only links, expected an archive of pages")
        results = _compare(web, found, thresholds, processes, output, bars)
        bars.phase("write tables and pictures", 2)
        for name, (columns, lines) in _tables(results).items():
            output.write(name, columns, lines, form=".6g")
        bars.advance()
        draw_results(output, results)
        _write_topics(output, results, found)
        bars.advance()
    cut.end(f"Interrupted: {out} has the orders of the crawls that finished." if out else "Interrupted.")
    typer.echo(f"{len(web):,} pages, {len(web.graph.targets):,} links, from {web.name(web.start)[:200]!a}\n")
    rows = (
        (
            f"{each.hot.importance} >= {each.hot.threshold:g}", f"{each.hot.pages:,}", each.ordering,
            *(f"{share:.2f}" for share in each.at), f"{each.area:.3f}",
        )
        for each in results.figures()
    )  # fmt: skip
    print_table(["importance", "hot", "ordering", *(f"@{share:.0%}" for share in TOLD), "area"], rows)
    output.finish()


def _word(topic: str) -> str:
    found = words(topic)
    if len(found) != 1:
        raise ConfigurationError(f"--topic {topic!r}: expected one word")
    return found[0]


def _compare(
    web: Web,
    topics: Sequence[str],
    thresholds: Mapping[str, Sequence[float]],
    processes: int,
    output: Output,
    bars: Progress,
) -> Results:
    jobs = [Job(By.BREADTH_FIRST), Job(By.BACKLINK), Job(By.PAGERANK)]
    jobs += [Job(By.LOCATION)] if "://" in web.graph.names[0] else []
    jobs += [job for topic in topics for job in topic_jobs(topic)]
    crawled = dict.fromkeys(jobs, np.zeros(0, np.int64))
    for job, order in run(web, jobs, processes, bars):
        crawled[job] = order
        rows = ((number, web.name(page)) for number, page in enumerate(order.tolist(), 1))
        names = (job.topic, job.crawler if job.topic else "", job.ordering)
        output.write(f"order.{'.'.join(filter(None, names))}", ("n", "page"), rows)
    plain = {job.ordering: order for job, order in crawled.items() if not job.topic}
    return Results(web, crawled, thresholds, buffers(web, plain, processes, bars))


def _tables(results: Results) -> Mapping[str, tuple[Sequence[str], Iterable[Iterable[object]]]]:
    """Return the columns and rows of each table of the crawls without a topic."""
    web, hot = results.web, ("importance", "threshold", "hot")
    return {
        "figures": (
            (*hot, "ordering", *(f"p_st_{share}" for share in TOLD), "area"),
            ((*each.hot, each.ordering, *each.at, each.area) for each in results.figures()),
        ),
        "threshold": (
            (*hot, "ordering", "pages", "share", "p_st"),
            ((*hot, *row) for hot in results.hot for row in _curves(results, results.with_threshold(hot))),
        ),
        "stop": (
            ("importance", "ordering", "pages", "share", "p_cs"),
            ((name, *row) for name in web.importance for row in _curves(results, results.stop(name))),
        ),
        "buffer": (("importance", "threshold", "ordering", "buffer", "p_bc"), results.buffers()),
        "depth": (("ordering", "share", "depth"), results.depths()),
    }  # fmt: skip


def _write_topics(output: Output, results: Results, topics: Sequence[str]) -> None:
    if not topics:
        return
    panels = {topic: list(results.topic(topic)) for topic in topics}
    rows = (
        (topic, panel.name, panel.hot, panel.measure, *row)
        for topic, found in panels.items()
        for panel in found
        for row in _curves(results, panel.curves)
    )
    columns = ("topic", "graph", "hot", "measure", "ordering", "pages", "share", "performance")
    output.write("topics", columns, rows, form=".6g")
    for topic, found in panels.items():
        draw_topic(output, topic, results.shares, found)


def _curves(results: Results, curves: Mapping[str, Curve]) -> Iterator[tuple[str, int, float, float]]:
    for ordering, curve in curves.items():
        for pages, performance in zip(results.points.tolist(), curve.tolist(), strict=True):
            yield ordering, pages, pages / len(results.web), performance
