"""The evaluation's work from its files to its results; each crawl's order is written as the crawl ends."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from scentline.agents.judge.judges import load_labels
from scentline.models.frontier.queue import UNLIMITED
from scentline.models.interest.trace import Step, Trace
from scentline.models.predicate import Predicate
from scentline.models.url import canonical, host
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import Count, Section
from scentline.streams.settings import ObserveSettings, Settings
from scentline_lab.evaluate.crawls import NO_LOG, NO_USERS, Crawl, Evaluation, Job
from scentline_lab.evaluate.results import Results
from scentline_lab.evaluate.tables import write_order
from scentline_lab.experiment import Output, spread
from scentline_lab.progress import Progress
from scentline_lab.reading import LogReader, Web, load_web
from scentline_lab.simulation.clock import Clock, Latency
from scentline_lab.simulation.policies import LEARNED, PRINTED, UNBOUNDED, Heir, Maker
from scentline_lab.simulation.virtual import Terms

#: The users' pseudonyms decide which are kept of a page that has many, so they are the same at each evaluation.
KEY = b"scentline evaluate"
_UNSAFE = re.compile(r"[^A-Za-z0-9+_-]+")


class Options(Section):
    """The options of an evaluation beside its settings; ``processes`` changes nothing but the time."""

    archives: tuple[Path, ...]
    #: They make one trace. With ``reuse`` they are the first crawl's and the second's, or one is cut in two.
    logs: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    budget: Count = 1000
    starts: Count = 5
    seeds: Count = 10
    #: The URLs that seeds are drawn from, instead of all pages.
    seed_file: Path | None = None
    #: The seconds of each crawl; with 0 it ends after ``budget`` pages.
    clock: float = 0.0
    reuse: bool = False
    processes: int = 1


def order_name(predicate: str, policy: str, start: int) -> str:
    """Return the name of the table of one crawl's order."""
    return f"orders/{predicate}.{_UNSAFE.sub('-', policy)}.{start}"


def prepare(
    settings: Settings,
    options: Options,
    predicates: Mapping[str, Predicate],
    makers: Mapping[str, Maker],
    heirs: Mapping[str, Heir],
    progress: Progress,
) -> Evaluation:
    """Read archives, logs and labels. Raises `ConfigurationError`, and what reading a file raises."""
    labels = load_labels(Path(settings.judge.labels)) if settings.judge.labels else None
    web = load_web(options.archives, predicates, labels, settings, options.processes, progress)
    sources = tuple(web.pages) if options.seed_file is None else read_seeds(options.seed_file)
    if len(sources) < options.seeds:
        where = "the archive" if options.seed_file is None else str(options.seed_file)
        raise ConfigurationError(
            f"--seeds {options.seeds}: {where} has {len(sources)} pages, expected at least as many"
        )
    for name, urls in web.hits.items():
        if not urls:
            raise ConfigurationError(
                f"predicate {name}: no page of the archive satisfies {predicates[name]}; expected at least one"
            )
    first, trace, whole, less = _traces(settings, options, progress)
    return Evaluation(
        web=web, trace=trace, first=first, whole=whole, less=less, predicates=predicates,
        policies=options.policies, terms=_terms(settings, options, web), starts=options.starts,
        seeds=options.seeds, sources=sources, random_seed=settings.random_seed, makers=makers, heirs=heirs,
    )  # fmt: skip


def _terms(settings: Settings, options: Options, web: Web) -> Terms:
    frontier, fetch = settings.frontier, settings.fetch
    terms = Terms(options.budget, frontier.host_budget, frontier.window_share, frontier.window_max)
    if not options.clock:
        return terms
    latency = Latency(settings.random_seed, map(host, web.pages))
    connections = min(frontier.window_max or fetch.connections, fetch.connections)
    paces = fetch.delay_seconds, fetch.delay_factor, fetch.first_byte_seconds
    return terms._replace(budget=UNLIMITED, clock=Clock(options.clock, latency, *paces, connections))


def crawl(evaluation: Evaluation, output: Output, options: Options, progress: Progress) -> Results:
    """Run all crawls and return their results, in the order of the jobs whatever was done first."""
    jobs = evaluation.jobs()
    progress.phase("crawl", len(jobs))
    seeds = ((start, url) for start in range(1, evaluation.starts + 1) for url in evaluation.seeds_of(start))
    output.write("seeds", ("start", "url"), seeds)
    done: dict[Job, list[Crawl]] = {}
    for job, crawls in spread(evaluation.run, jobs, options.processes):
        for found in crawls:
            write_order(output, order_name(*found[:3]), found.order)
        done[job] = crawls
        progress.advance()
    return Results.of((found for job in jobs for found in done[job]), options.budget, options.clock)


def read_seeds(path: Path) -> tuple[str, ...]:
    """Return the canonical URLs of a file, each once. Raises `ConfigurationError` for what is no such file."""
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--seed-file {path}: can't be read: {error}") from error
    found: dict[str, None] = {}
    for number, line in enumerate(lines, start=1):
        url = canonical(line)
        if url is None:
            raise ConfigurationError(f"--seed-file {path}, URL {number}: expected an http or https URL")
        found[url] = None
    return tuple(found)


def _traces(
    settings: Settings, options: Options, progress: Progress
) -> tuple[Trace | None, Trace, Trace | None, Mapping[str, Trace]]:
    """Return four traces: the earlier crawl's, the one that counts, it without bounds, and those with less."""
    earlier, steps = (
        None,
        read_steps(options.logs[-1:] if options.reuse else options.logs, settings.observe, progress),
    )
    if options.reuse and len(options.logs) == 1:
        earlier, steps = halves(steps)
    elif options.reuse:
        earlier = read_steps(options.logs[:1], settings.observe, progress)

    def traced(found: Sequence[Step], users: int, others: int, window: int = settings.browse.window) -> Trace:
        return Trace(found, reach=settings.browse.reach, users=users, others=others, window=window)

    bounds = settings.frontier.visitors, settings.frontier.together
    first = None if earlier is None else traced(earlier, *bounds)
    printed = any(name.endswith(PRINTED) for name in options.policies)
    whole = traced(steps, UNBOUNDED, UNBOUNDED, UNBOUNDED) if printed else None
    learned = bool(steps) and LEARNED in options.policies
    less = {NO_LOG: Trace(()), NO_USERS: traced(steps, 1, 1)} if learned else {}
    return first, traced(steps, *bounds), whole, less


def read_steps(sources: Sequence[str], settings: ObserveSettings, progress: Progress) -> list[Step]:
    """Return the accesses of the logs, in the order of their lines; raises what `LogReader.read` raises."""
    reader = LogReader(settings, progress, key=KEY)
    return [
        Step(access.user, access.url, access.time, access.referrer)
        for access in chain.from_iterable(map(reader.read, sources))
    ]


def halves(steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """Return the steps up to the middle of the log's time, and those after it.

    >>> first, second = halves([Step("u", "a", 0.0), Step("u", "c", 10.0), Step("u", "b", 5.0)])
    >>> [step.url for step in first], [step.url for step in second]
    (['a', 'b'], ['c'])
    """
    times = [step.time for step in steps]
    middle = (min(times) + max(times)) / 2 if times else 0.0
    return [step for step in steps if step.time <= middle], [step for step in steps if step.time > middle]
