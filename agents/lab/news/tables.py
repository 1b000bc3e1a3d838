"""What was found as CSV files; URLs are of the log, so that nothing in them is taken at its word."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import get_args

from agents.lab.news.measures import Measure
from agents.lab.output import rounded, write_table
from models.news.clicks import History, Kind, Standing
from models.news.outlinks import Hub
from models.news.prefixes import NewsPrefix

_EPOCH = date(1970, 1, 1)
_cell = partial(rounded, digits=4)


def write_pages(path: Path, found: Mapping[str, Standing], labels: Mapping[str, bool] | None) -> None:
    """Write every page with what it was taken for: news first, each kind by concentration."""
    kinds = get_args(Kind)
    pages = sorted(found.items(), key=lambda item: (kinds.index(item[1].kind), -item[1].concentration, item[0]))
    write_table(
        path,
        ("url", "first_day", "days", "clicks", "clicks_a_day", "concentration", "kind", "label"),
        (
            (url, day(page.birth), page.days, page.clicks, _cell(page.average), _cell(page.concentration),
             page.kind, label(url, labels))
            for url, page in pages
        ),
    )  # fmt: skip


def write_hubs(path: Path, by_links: Sequence[Hub], by_clicks: Sequence[Hub]) -> None:
    """Write the hubs twice: those that lead to the most news pages, and those by the most clicks."""
    rows = (
        (by, rank, hub.url, hub.news, hub.clicks, hub.pages)
        for by, hubs in (("links", by_links), ("clicks", by_clicks))
        for rank, hub in enumerate(hubs, start=1)
    )
    write_table(path, ("by", "rank", "url", "news", "clicks", "pages"), rows)


def write_prefixes(path: Path, prefixes: Iterable[NewsPrefix]) -> None:
    """Write the news prefixes in their order."""
    rows = ((found.prefix, found.news, found.pages, _cell(found.news / found.pages)) for found in prefixes)
    write_table(path, ("prefix", "news", "pages", "share"), rows)


def write_measures(path: Path, measures: Iterable[Measure]) -> None:
    """Write how well news were told."""
    rows = ((*found, _cell(found.precision), _cell(found.recall)) for found in measures)
    write_table(path, (*Measure._fields, "precision", "recall"), rows)


def write_daily(path: Path, histories: Mapping[str, History]) -> None:
    """Write the daily clicks of the pages that are drawn."""
    rows = (
        (url, day(history.first + place), clicks)
        for url, history in histories.items()
        for place, clicks in enumerate(history.clicks)
    )
    write_table(path, ("url", "day", "clicks"), rows)


def day(number: int) -> date:
    """Return the date of a day, which is numbered from 1970-01-01 on.

    >>> day(19_730).isoformat()
    '2024-01-08'
    """
    return _EPOCH + timedelta(days=number)


def label(url: str, labels: Mapping[str, bool] | None) -> str | None:
    """Return what the labels say of a page, None where they don't."""
    if labels is None or url not in labels:
        return None
    return "news" if labels[url] else "other"
