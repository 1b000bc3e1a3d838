"""The crawl command around a crawl: checks, seeds, the archive's server, the final summary."""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from math import isfinite
from pathlib import Path
from random import Random
from secrets import token_bytes
from typing import TYPE_CHECKING

from scentline.agents.cli.app import INTERRUPTED
from scentline.agents.fetch.guard import check_contact
from scentline.agents.judge.predicates import check_judges, check_query, with_every_page
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import Work
from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.observer import Observer
from scentline.agents.observe.pseudonym import KEY_FILE, user_key
from scentline.agents.offline.serve import ServerProcess
from scentline.agents.stored import table_of
from scentline.agents.worker.directory import keep_settings, kept_settings, make_directory, with_table
from scentline.models.facts import Access
from scentline.models.predicate import parse
from scentline.models.semantic import SemanticTableError
from scentline.models.settings import AUTO, LONGEST_LEASE
from scentline.streams.memory import import_aiohttp, import_faust, uncollected
from scentline.streams.settings import ConfigurationError, Settings

if TYPE_CHECKING:
    from scentline.agents.worker.status import PredicateStatus, Status

#: Seeds drawn from a log.
SEEDS = 10
#: Accepted accesses from whose pages the seeds are drawn.
DRAWN_FROM = 2_000


def seeds_of_log(source: str, settings: Settings) -> list[str]:
    """Return ten pages drawn from a log's first accesses, or all of them if fewer.

    Standard input can be read only once, so only its sample is used.
    """
    observer = Observer(settings.observe, b"seeds")
    with LogFile(source) as log:
        observer.recognise(log.sample)
        lines = iter(log.sample) if source == "-" else (line for _, line in log)
        seen = (observer.observe(line) for line in lines)
        accesses = islice((access for access in seen if isinstance(access, Access)), DRAWN_FROM)
        urls = sorted({access.url for access in accesses})
    return Random(settings.random_seed).sample(urls, min(SEEDS, len(urls)))


#: The exit status of a crawl that fetched no page, or had a seed refused.
FRUITLESS = 1
#: With --keep-up, the share of requests that revisit judged pages, if frontier.revisit sets none.
KEEP_UP_SHARE = 0.5


@dataclass(frozen=True)
class CrawlOptions:
    """The options of a crawl beside its settings."""

    logs: tuple[str, ...] = ()
    archives: tuple[Path, ...] = ()
    as_json: bool = False
    follow: bool = False
    keep_up: bool = False
    #: Starts the crawl's window, if it has one.
    window: Callable[[Settings], ServerProcess] | None = None
    join: bool = False
    quiet: bool = False


def run(settings: Settings, options: CrawlOptions) -> int:
    """Run a crawl and print its summary; return its exit status: 0, `INTERRUPTED` or `FRUITLESS`.

    Raises errors of the options before it starts anything.
    """
    settings = _keeping_up(with_every_page(settings)) if options.keep_up else with_every_page(settings)
    settings = _with_door(settings) if settings.door.address else settings
    if not settings.predicates:
        raise ConfigurationError(
            "a crawl needs at least one predicate, such as --predicate 'news=title(\"news\")', or an --ordering"
        )
    if settings.on_kafka and not options.join:
        raise ConfigurationError(
            f"broker is {settings.broker}: this would be a worker of the crawl there, and its predicates and "
            "seeds that crawl's; give --join for that, or leave the setting out for a crawl of its own"
        )
    predicates = {name: parse(expression) for name, expression in settings.predicates.items()}
    check_judges(predicates, settings.judge)
    check_query(settings.frontier, predicates)
    _check_files(options)
    if settings.door.urlfrontier and not settings.door.address:
        raise ConfigurationError("door.urlfrontier: expected --door HOST:PORT too, beside which it is served")
    seeds = _seeds(settings, options)
    with ExitStack() as resources:
        if options.archives:
            server = resources.enter_context(ServerProcess.archive(options.archives))
            settings = settings.model_copy(update={"fetch": settings.fetch.of_archive(server.url)})
        if not settings.door.address:
            check_contact(settings.fetch, seeds)
        settings = with_table(settings)
        _check_table(settings)
        make_directory(settings.data)
        keep_settings(settings)
        # Without a log there are no users to name.
        key = user_key(settings.observe, settings.data / KEY_FILE) if options.logs else token_bytes(32)
        observer = Observer(settings.observe, key)
        if options.window is not None:
            sys.stderr.write(f"The window: {resources.enter_context(options.window(settings)).url}\n")
        status, interrupted = asyncio.run(_crawl(settings, observer, seeds, options))
    if options.as_json:
        print(json.dumps(summary(status, settings.frontier.rule)))
    # A refused seed drawn from a log is no error.
    refused = settings.seeds and not status.refused_seeds.isdisjoint(seeds)
    return INTERRUPTED if interrupted else FRUITLESS if refused or not status.fetched else 0


def _keeping_up(settings: Settings) -> Settings:
    """Return the settings of an endless crawl; raises `ConfigurationError` where a budget would end it."""
    frontier = settings.frontier
    if frontier.budget or frontier.requests:
        raise ConfigurationError(
            "--keep-up goes on for ever, and a budget ends a crawl: leave out --budget and --requests; "
            "frontier.host_budget bounds the pages of each host"
        )
    share = frontier.revisit or KEEP_UP_SHARE
    return settings.model_copy(update={"frontier": frontier.model_copy(update={"revisit": share})})


def _with_door(settings: Settings) -> Settings:
    """Return the settings of a crawl with a door: its clients may be slow, or away for a while."""
    frontier = settings.frontier
    if "lease_seconds" in frontier.model_fields_set:
        return settings
    return settings.model_copy(
        update={"frontier": frontier.model_copy(update={"lease_seconds": LONGEST_LEASE})}
    )


async def _crawl(
    settings: Settings, observer: Observer, seeds: list[str], options: CrawlOptions
) -> tuple["Status", bool]:
    """Import the crawler while the judge's process starts, and crawl."""
    examiner = ExaminerProcess(Work.of(settings))
    try:
        with uncollected():
            await asyncio.gather(examiner.start(), asyncio.to_thread(_import, settings))
        from scentline.agents.worker.crawl import run_crawl
        from scentline.agents.worker.status import reporter

        with nullcontext(lambda *_: None) if options.quiet else reporter(sys.stderr) as report:
            return await run_crawl(settings, observer, seeds, options.logs, report, options.follow, examiner)
    finally:
        await examiner.close()


def _import(settings: Settings) -> None:
    import_aiohttp()
    if not settings.on_kafka:
        import_faust()
    import_module("scentline.agents.worker.crawl")


def _check_files(options: CrawlOptions) -> None:
    if options.follow and not options.logs:
        raise ConfigurationError("--follow needs a log: give --log FILE")
    if options.follow:
        # Imported here: it imports Faust, which otherwise happens while the judge's process starts.
        from scentline.agents.observe.following import check_followed

        check_followed(options.logs)
    for path in options.archives:
        if not path.is_file():
            raise ConfigurationError(f"--archive {path}: there is no such file")
    for source in options.logs:
        if source != "-":
            LogFile(source).close()


def _check_table(settings: Settings) -> None:
    if settings.semantic == AUTO:
        return
    try:
        table_of(settings.semantic)
    except SemanticTableError as error:
        raise ConfigurationError(f"learn.semantic {error}") from error


def _seeds(settings: Settings, options: CrawlOptions) -> list[str]:
    if settings.seeds:
        return [*settings.seeds]
    hubs = settings.news.hubs_given if settings.frontier.mode == "instant" else ()
    if not options.logs and not hubs:
        if kept_settings(settings.data) is not None or settings.door.address:
            return []  # it continues from its tables, or a door's clients bring seeds
        raise ConfigurationError("a crawl needs somewhere to start: --seed URL, --log FILE or both")
    return [*hubs, *(seeds_of_log(options.logs[0], settings) if options.logs else ())]


def summary(status: "Status", policy: str) -> dict[str, object]:
    """Return the summary that ``--json`` prints.

    It has ``news`` in the mode "instant", ``revisits`` and ``changes`` where judged pages are revisited.
    """
    figures = ("ended", "fetched", "requests", "failed", "refused", "closed")
    return {
        **{name: getattr(status, name) for name in figures},
        "refused_seeds": sorted(status.refused_seeds),
        "seconds": round(status.seconds, 3),
        "pages_per_second": round(status.pages_per_second, 2),
        "policy": policy,
        "candidates": status.candidates,
        "predicates": {name: _of_predicate(each) for name, each in status.predicates.items()},
        **({} if status.slots is None else {"slots": status.slots._asdict()}),
        **({} if status.news is None else {"news": _rounded(status.news._asdict())}),
        **({} if status.kept_up is None else status.kept_up._asdict()),
    }


def _of_predicate(found: "PredicateStatus") -> dict[str, object]:
    harvest, lift = found.harvest, found.harvest.lift_if_sure
    return {
        "hits": harvest.hits,
        "judged": harvest.pages,
        "harvest_rate": round(harvest.rate, 4),
        "hits_per_request": round(found.hits_per_request, 4),
        "hits_per_minute": round(found.hits_per_minute, 1),
        "lift": None if lift is None else [round(each, 2) for each in lift],
    }


def _rounded(figures: dict[str, float]) -> dict[str, float | None]:
    """Return figures rounded for JSON, with None for infinity."""
    return {name: round(value, 3) if isfinite(value) else None for name, value in figures.items()}
