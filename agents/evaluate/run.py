"""The evaluation's work from its files to its results; each crawl's order is written as the crawl ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agents.evaluate.crawls import Crawl, Evaluation, Job
from agents.evaluate.place import Output
from agents.evaluate.results import Results
from agents.evaluate.tables import write_order, write_seeds
from agents.evaluate.traces import halves, read_steps
from agents.lab.archives import Web, load_web
from agents.lab.progress import Progress
from agents.lab.spread import spread
from agents.labels import load as load_labels
from models.crowd.trace import Trace
from models.evaluate.policies import REUSABLE, Maker
from models.predicate import Predicate
from streams.configuration import ConfigurationError
from streams.settings import Settings


@dataclass(frozen=True)
class Options:
    """What an evaluation is given beside its settings.

    With ``reuse`` one log is cut in two at the middle of its time, or two are the first crawl's and the
    second's; otherwise all logs make one trace. ``processes`` changes the time it takes and nothing else.
    ``semantic`` is the file of a table of word vectors.
    """

    archives: tuple[Path, ...]
    logs: tuple[str, ...]
    policies: tuple[str, ...]
    budget: int
    starts: int
    seeds: int
    reuse: bool
    processes: int
    semantic: Path | None = None


def prepare(
    settings: Settings,
    options: Options,
    predicates: Mapping[str, Predicate],
    makers: Mapping[str, Maker],
    progress: Progress,
) -> Evaluation:
    """Read archives, logs and labels; ``makers`` make the policies' crawlers.

    Raises `streams.configuration.ConfigurationError` where no evaluation can be made of them,
    and what reading a file raises.
    """
    labels = load_labels(Path(settings.judge.labels)) if settings.judge.labels else None
    web = load_web(options.archives, predicates, labels, settings, options.processes, progress)
    _check(web, predicates, options.seeds)
    first, trace = _traces(settings, options, progress)
    return Evaluation(
        web=web,
        trace=trace,
        first=first,
        predicates=predicates,
        policies=options.policies,
        budget=options.budget,
        starts=options.starts,
        seeds=options.seeds,
        random_seed=settings.random_seed,
        makers=makers,
        heirs=REUSABLE,
    )


def crawl(evaluation: Evaluation, output: Output, processes: int, progress: Progress) -> Results:
    """Run all crawls and return their results, in the order of the jobs whatever was done first."""
    jobs = evaluation.jobs()
    progress.phase("crawl", len(jobs))
    write_seeds(
        output.table("seeds"),
        {start: evaluation.seeds_of(start) for start in range(1, evaluation.starts + 1)},
    )
    done: dict[Job, list[Crawl]] = {}
    for job, crawls in spread(evaluation.run, jobs, processes):
        for found in crawls:
            write_order(output.order(found.predicate, found.policy, found.start), found.order)
        done[job] = crawls
        progress.advance()
    return Results.of((found for job in jobs for found in done[job]), evaluation.budget)


def _check(web: Web, predicates: Mapping[str, Predicate], seeds: int) -> None:
    if len(web.pages) < seeds:
        raise ConfigurationError(
            f"--seeds {seeds}: the archive has {len(web.pages)} pages, expected at least as many"
        )
    for name, urls in web.hits.items():
        if not urls:
            raise ConfigurationError(
                f"predicate {name}: no page of the archive satisfies {predicates[name]}; expected at least one"
            )


def _traces(settings: Settings, options: Options, progress: Progress) -> tuple[Trace | None, Trace]:
    """Return the trace of the earlier crawl, None where there is none, and the trace."""
    window = settings.browse.window
    if not options.reuse:
        return None, Trace(read_steps(options.logs, settings.observe, progress), window=window)
    if len(options.logs) == 1:
        first, second = halves(read_steps(options.logs, settings.observe, progress))
    else:
        first, second = (read_steps([log], settings.observe, progress) for log in options.logs)
    return Trace(first, window=window), Trace(second, window=window)
