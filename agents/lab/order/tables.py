"""A comparison as CSV files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from agents.lab.order.crawls import Job
from agents.lab.order.results import TOLD, Curve, Results, points
from agents.lab.order.topics import Panel
from agents.lab.order.web import Web
from agents.lab.output import OutputDirectory, write_table
from models.ordering.graph import Ints


def order_name(job: Job) -> str:
    """Return the name of a crawl in its file's name.

    >>> order_name(Job("backlink")), order_name(Job("pagerank", "basic", "computer"))
    ('backlink', 'computer.basic.pagerank')
    """
    return ".".join(part for part in (job.topic, job.crawler if job.topic else "", job.ordering) if part)


def write_order(output: OutputDirectory, web: Web, job: Job, order: Ints) -> None:
    """Write the pages of one crawl in their order."""
    rows = ((number, web.name(page)) for number, page in enumerate(order.tolist(), 1))
    _write(output.table(f"order.{order_name(job)}"), ("n", "page"), rows)


def write_results(output: OutputDirectory, results: Results) -> None:
    """Write the curves and figures of the crawls without a topic."""
    _write(
        output.table("figures"),
        ("importance", "threshold", "hot", "ordering", *(f"p_st_{share}" for share in TOLD), "area"),
        (
            (each.hot.importance, each.hot.threshold, each.hot.pages, each.ordering, *each.at, each.area)
            for each in results.figures()
        ),
    )
    _write(
        output.table("threshold"),
        ("importance", "threshold", "hot", "ordering", "pages", "share", "p_st"),
        (
            (hot.importance, hot.threshold, hot.pages, *row)
            for hot in results.hot
            for row in _curves(results.web, results.with_threshold(hot))
        ),
    )
    _write(
        output.table("stop"),
        ("importance", "ordering", "pages", "share", "p_cs"),
        (
            (importance, *row)
            for importance in results.web.importance
            for row in _curves(results.web, results.stop(importance))
        ),
    )
    _write(output.table("buffer"), ("importance", "threshold", "ordering", "buffer", "p_bc"), results.buffers())
    _write(
        output.table("walk"),
        ("ordering", "share", "depth", "wait"),
        ((ordering, share, *walk) for ordering, share, walk in results.walks()),
    )
    counts = np.bincount(results.web.graph.backlinks)
    _write(
        output.table("histogram"),
        ("backlinks", "pages"),
        ((links, int(counts[links])) for links in np.flatnonzero(counts).tolist()),
    )


def write_topics(output: OutputDirectory, web: Web, panels: Mapping[str, Sequence[Panel]]) -> None:
    """Write the curves of each topic's graphs."""
    _write(
        output.table("topics"),
        ("topic", "graph", "hot", "measure", "ordering", "pages", "share", "performance"),
        (
            (topic, panel.name, panel.hot, panel.measure, *row)
            for topic, found in panels.items()
            for panel in found
            for row in _curves(web, panel.curves)
        ),
    )


def _curves(web: Web, curves: Mapping[str, Curve]) -> Iterator[tuple[str, int, float, float]]:
    at = points(len(web)).tolist()
    for ordering, curve in curves.items():
        for pages, performance in zip(at, curve.tolist(), strict=True):
            yield ordering, pages, pages / len(web), performance


def _write(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    # Importance has no bound: six digits, not six decimals.
    cells = ((f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row) for row in rows)
    write_table(path, columns, cells)
