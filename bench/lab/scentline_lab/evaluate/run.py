"""The virtual crawls of an evaluation: one a predicate, policy and start, and more where state is reused."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product, starmap
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from scentline.agents.judge.judges import load_labels
from scentline.models.frontier.queue import UNLIMITED
from scentline.models.predicate import Predicate
from scentline.models.settings import Count, Section
from scentline.models.trace import Step, Trace
from scentline.models.url import canonical, host
from scentline.streams.settings import ConfigurationError, ObserveSettings, Settings
from scentline_lab.experiment import Progress
from scentline_lab.reading import LogReader, Web, load_web
from scentline_lab.simulation import policies as registry
from scentline_lab.simulation import virtual
from scentline_lab.simulation.words import Hindsight

FIRST = ":first"  #: Added to the random seeds of an earlier crawl.
#: Put behind a policy's name: with the state of an earlier crawl; without the earlier crawl's pages.
REUSE, NEW_ONLY = "+reuse", ", new pages only"
#: The same where the learned policy has no log, and where each page of the log has one user and one neighbour.
NO_LOG, NO_USERS = ", no log", ", no users"


class Job(NamedTuple):
    """A crawl, with those that are compared with it alone; starts count from 1."""

    predicate: str
    policy: str
    start: int


class Crawl(NamedTuple):
    """One crawl as it went; ``slots`` is the share of hosts' seconds used, None where no time passes."""

    predicate: str
    policy: str
    start: int
    order: list[virtual.Request]
    slots: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """What all crawls of an evaluation have in common. ``first`` is the log of an earlier crawl, whose state a
    later one takes up (Aggarwal 2004, section 4.1), ``whole`` the log without bounds, for policies as printed;
    ``less`` has traces for the learned policy, by the end of its name then.
    """

    web: Web
    trace: Trace
    first: Trace | None
    whole: Trace | None
    less: Mapping[str, Trace]
    predicates: Mapping[str, Predicate]
    policies: Sequence[str]
    terms: virtual.Terms
    starts: int
    seeds: int
    sources: Sequence[str]
    random_seed: int
    makers: Mapping[str, registry.Maker]

    def jobs(self) -> list[Job]:
        return list(starmap(Job, product(self.web.hits, self.policies, range(1, self.starts + 1))))

    def seeds_of(self, start: int, kind: str = "") -> list[str]:
        """Return the seed pages of a start, the same for all policies and predicates; `FIRST` is a ``kind``."""
        return Random(f"{self.random_seed}:{start}{kind}").sample(self.sources, self.seeds)

    def run(self, job: Job) -> tuple[Job, list[Crawl]]:
        trace = self.whole if self.whole is not None and job.policy.endswith(registry.PRINTED) else self.trace
        orders = {job.policy: self._crawl(job, self._crawler(job, trace))}
        for name, less in self.less.items() if job.policy == registry.LEARNED else ():
            orders[job.policy + name] = self._crawl(job, self._crawler(job, less))
        if self.first is not None and job.policy in registry.REUSABLE:
            earlier: Any = self._crawler(job, self.first, kind=FIRST)
            known = {request.url for request in self._crawl(job, earlier, kind=FIRST) if request.page}
            state = earlier.export_state()
            ends = ((REUSE, state, ()), (NEW_ONLY, None, known), (REUSE + NEW_ONLY, state, known))
            for end, given, barred in ends:
                orders[job.policy + end] = self._crawl(job, self._crawler(job, self.trace, given), barred)
        slots = {policy: self._slots(job, order) for policy, order in orders.items()}
        return job, [Crawl(job.predicate, name, job.start, orders[name], slots[name]) for name in orders]

    def _slots(self, job: Job, order: Sequence[virtual.Request]) -> float | None:
        clock = self.terms.clock
        if clock is None:
            return None
        links = {each.url: [link.url for link in self.web.pages[each.url].links] for each in order if each.page}
        hosts = frozenset(map(host, self.web.pages))
        return virtual.slots_used(order, links, self.seeds_of(job.start), hosts, clock.delay, clock.seconds)

    def _crawl(
        self, job: Job, crawler: virtual.Crawler, barred: Collection[str] = (), *, kind: str = ""
    ) -> list[virtual.Request]:
        hits, seeds = self.web.hits[job.predicate], self.seeds_of(job.start, kind)
        terms, clock = self.terms, self.terms.clock
        if clock is not None:
            terms = terms._replace(clock=clock._replace(paced=job.policy.startswith(registry.REUSABLE)))
        return virtual.virtual_crawl(self.web.pages, hits, seeds, crawler, terms, barred, self.web.texts)

    @cached_property
    def _hindsight(self) -> Hindsight:
        return Hindsight(self.web.pages)

    def _crawler(self, job: Job, trace: Trace, state: Any = None, *, kind: str = "") -> virtual.Crawler:
        chance = Random(f"{self.random_seed}:{job.start}{kind}:{job.predicate}")  # the same for all policies
        predicate, hits = self.predicates[job.predicate], self.web.hits[job.predicate]
        task = virtual.Task(predicate.keywords, trace, chance, predicate.sought)
        return self.makers[job.policy](task, registry.Truth(hits, self._hindsight), state)


KEY = b"scentline evaluate"  #: Of pseudonyms: they decide which users a page keeps of many.


class Options(Section):
    """The options of an evaluation beside its settings, as those of the command."""

    archives: tuple[Path, ...]
    logs: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    budget: Count = 1000
    starts: Count = 5
    seeds: Count = 10
    seed_file: Path | None = None
    clock: float = 0.0
    reuse: bool = False
    processes: int = 1


def order_name(predicate: str, policy: str, start: int) -> str:
    """Return the name of the table of one crawl's order."""
    return f"orders/{predicate}.{re.sub(r'[^A-Za-z0-9+_-]+', '-', policy)}.{start}"


def prepare(
    settings: Settings,
    options: Options,
    predicates: Mapping[str, Predicate],
    makers: Mapping[str, registry.Maker],
    progress: Progress,
) -> Evaluation:
    """Read archives, logs and labels. Raises `ConfigurationError`, and what reading a file raises."""
    labels = load_labels(Path(settings.judge.labels)) if settings.judge.labels else None
    web = load_web(options.archives, predicates, labels, settings, options.processes, progress)
    sources = tuple(web.pages) if options.seed_file is None else read_seeds(options.seed_file)
    if len(sources) < options.seeds:
        few = f"{options.seed_file or 'the archive'} has {len(sources)} pages"
        raise ConfigurationError(f"--seeds {options.seeds}: {few}, expected at least as many")
    for name in (name for name, urls in web.hits.items() if not urls):
        none = f"no page of the archive satisfies {predicates[name]}"
        raise ConfigurationError(f"predicate {name}: {none}; expected at least one")
    return Evaluation(
        web=web, **_traces(settings, options, progress), predicates=predicates, policies=options.policies,
        terms=_terms(settings, options, web), starts=options.starts, seeds=options.seeds, sources=sources,
        random_seed=settings.random_seed, makers=makers,
    )  # fmt: skip


def _terms(settings: Settings, options: Options, web: Web) -> virtual.Terms:
    frontier, fetch = settings.frontier, settings.fetch
    terms = virtual.Terms(options.budget, frontier.host_budget, frontier.window_share, frontier.window_max)
    if not options.clock:
        return terms
    latency = virtual.Latency(settings.random_seed, map(host, web.pages))
    connections = min(frontier.window_max or fetch.connections, fetch.connections)
    paces = fetch.delay_seconds, fetch.delay_factor, fetch.first_byte_seconds
    return terms._replace(budget=UNLIMITED, clock=virtual.Clock(options.clock, latency, *paces, connections))


def read_seeds(path: Path) -> tuple[str, ...]:
    """Return the canonical URLs of a file, each once; raises `ConfigurationError` for another file."""
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--seed-file {path}: can't be read: {error}") from error
    urls = list(map(canonical, lines))
    if None in urls:
        wrong = urls.index(None) + 1
        raise ConfigurationError(f"--seed-file {path}, URL {wrong}: expected an http or https URL")
    return tuple(dict.fromkeys(filter(None, urls)))


def _traces(settings: Settings, options: Options, progress: Progress) -> dict[str, Any]:
    earlier, logs = None, options.logs[-1:] if options.reuse else options.logs
    steps = read_steps(logs, settings.observe, progress)
    if options.reuse and len(options.logs) == 1:
        earlier, steps = _halves(steps)
    elif options.reuse:
        earlier = read_steps(options.logs[:1], settings.observe, progress)

    def traced(found: Sequence[Step], users: int, others: int, window: int = settings.browse.window) -> Trace:
        return Trace(found, reach=settings.browse.reach, users=users, others=others, window=window)

    bounds = settings.frontier.visitors, settings.frontier.together
    printed = any(name.endswith(registry.PRINTED) for name in options.policies)
    learned = bool(steps) and registry.LEARNED in options.policies
    return {
        "first": None if earlier is None else traced(earlier, *bounds),
        "trace": traced(steps, *bounds),
        "whole": traced(steps, registry.UNBOUNDED, registry.UNBOUNDED, registry.UNBOUNDED) if printed else None,
        "less": {NO_LOG: Trace(()), NO_USERS: traced(steps, 1, 1)} if learned else {},
    }


def read_steps(sources: Sequence[str], settings: ObserveSettings, progress: Progress) -> list[Step]:
    """Return the accesses of the logs, in the order of their lines; raises what `LogReader.read` raises."""
    reader = LogReader(settings, progress, key=KEY)
    found = chain.from_iterable(map(reader.read, sources))
    return [Step(access.user, access.url, access.time, access.referrer) for access in found]


def _halves(steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """Return the steps up to the middle of the log's time, and those after it.

    >>> _halves([Step("u", "a", 0.0), Step("u", "c", 10.0)])
    ([Step(user='u', url='a', time=0.0, referrer=None)], [Step(user='u', url='c', time=10.0, referrer=None)])
    """
    times = [step.time for step in steps]
    middle = (min(times) + max(times)) / 2 if times else 0.0
    return [step for step in steps if step.time <= middle], [step for step in steps if step.time > middle]
