"""Recount a crawl, read-only: every statistic in the tables against `outcomes` and `accesses`.

All counts follow from three sets: the *current verdicts* (those of each URL's newest visit, with the verdicts
of later predicates on that visit), the *links ever seen*, each as first reported, and the accesses. So

- the row of a changed page has the new verdict, and its words, links, visitors and neighbours count under it;
- the row of a page that left has an empty verdict, which counts for no predicate. Its links stay in their
  targets' rows, links to it and visits still count, and so does the fetch that brought a page (`FAILED`);
- verdicts of later predicates on a visit before the newest are ignored;
- ``silent`` pages stay silent: their verdicts count under the base alone;
- requests, hosts' judged pages and the harvest are those of discovery: a page counts once, by its first
  verdict.

Requests per host and requests that brought no page are compared with the rows of their URLs. Causes of failed
fetches and response times are in hosts' rows alone and are not recounted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from zlib import crc32

import msgspec

from scentline.agents.browse import USER_PREFIX, Sessions, UserRow
from scentline.agents.harvest import PREDICATE_PREFIX, HarvestRow
from scentline.agents.operate.quarantined import Quarantined, Seen, seen_of
from scentline.agents.operate.record import read_ledger, rows, users, ways
from scentline.agents.worker.directory import of_crawl
from scentline.models.facts import Access
from scentline.models.frontier.keys import HOST_PREFIX, PAGE_PREFIX, TOTALS_KEY, WAYS_PREFIX
from scentline.models.frontier.rows import (
    AccessRow,
    Depth,
    HostRow,
    PageRow,
    TotalsRow,
)
from scentline.models.ledger import Ledger
from scentline.models.lessons import FailedRequests, JudgedPage, lessons, recount
from scentline.models.page import FAILED, Verdict
from scentline.models.papers.depth import FAR, Place
from scentline.models.papers.ways import Ways
from scentline.models.policy.estimates import WAYS
from scentline.models.policy.features import BASE, always_kept
from scentline.models.published import Counted, Outcome
from scentline.models.records import partition_of
from scentline.models.semantic import page_subject
from scentline.models.trace import Step, Trace
from scentline.models.url import host
from scentline.streams.inbox import MARK, Mark
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, TABLES
from scentline.streams.transport.database import TablePartition
from scentline.streams.transport.journal import Journal


@dataclass
class AuditReport:
    """The result: ``judged`` pages, a surplus of ``judged_twice`` counted; ``differences`` among ``rows``.

    ``lost`` are pages, candidates and hosts that the state lacks, ``examples`` the first few differences.
    ``forgotten`` features were evicted from the bounded store. While ``behind`` messages wait, nothing is
    compared. The recount omits what was ``quarantined``, except the ``uncounted``, which show as differences.
    """

    judged: int = 0
    judged_twice: int = 0
    lost: int = 0
    rows: int = 0
    differences: int = 0
    forgotten: int = 0
    behind: int = 0
    quarantined: int = 0
    uncounted: int = 0
    examples: list[str] = field(default_factory=list)

    def compare(self, what: str, found: object, expected: object) -> None:
        """Compare a row."""
        self.rows += 1
        if found != expected:
            self.differences += 1
            self._note(f"{what}: the state has {found}, the recount {expected}")

    def compare_all(self, what: str, found: Mapping[str, object], expected: Mapping[str, object]) -> None:
        """Compare rows by name; in either what is missing is None."""
        for name in found.keys() | expected.keys():
            self.compare(f"{what} {name}", found.get(name), expected.get(name))

    def lose(self, what: str) -> None:
        """Count something that the state lacks."""
        self.lost += 1
        self._note(f"lost: {what}")

    def _note(self, text: str) -> None:
        if len(self.examples) < 10:
            self.examples.append(text)

    @property
    def clean(self) -> bool:
        """Whether all was compared and nothing differs."""
        return not (self.judged_twice or self.lost or self.differences or self.behind)

    def as_dict(self) -> dict[str, int]:
        """Return the figures for JSON."""
        shown = ("judged", "judged_twice", "lost", "rows", "differences", "behind", "quarantined")
        return {name: getattr(self, name) for name in shown}


class RecountedDepths:
    """The expected depths of ``sites``; ``partitions`` is the number that `accesses` has."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._sessions = Sessions()
        self.sites: dict[str, Depth] = {}
        self._entered: dict[str, int] = {}

    def view(self, row: UserRow, access: Access) -> None:
        """Count an access; those of a partition of `accesses` must come in order."""
        browsed = self._sessions.view(partition_of(access.user, self._partitions), row, access)
        if browsed is None:
            return
        site = self._site(host(access.url))
        site.sessions += browsed.begun
        for level, change in browsed.views:
            site.view(level, change)
        self._entered[access.url] = min(browsed.level, self._entered.get(access.url, FAR))

    def check(
        self,
        report: AuditReport,
        judged: Mapping[str, Outcome],
        pages: Mapping[str, PageRow],
        found: Mapping[str, Depth],
    ) -> None:
        """Compare with the state: the rows of ``pages`` by URL, those ``found`` of sites by host.

        Levels come from the pages' rows; each must be as near as a link, or a user, makes it.
        """
        places = {url: row.place for url, row in pages.items() if row.place is not None}
        led: dict[str, int] = {}
        for url, outcome in judged.items():
            level = places.get(url, Place()).level
            within = list(_within(outcome))
            self._site(host(url)).growth.change(level, 1, bool(within), 0, len(within))
            for target in within:
                led[target] = min(level + 1, led.get(target, FAR))
        for url in led.keys() | self._entered.keys():
            place, entered = places.get(url, Place()), self._entered.get(url, FAR)
            state = (place.led, min(place.entered, entered))
            report.compare(f"way to {url}", state, (led.get(url, FAR), place.entered))
        for url, place in places.items():
            if place.new_above is not None:
                self._site(host(url)).growth.change(place.new_above, 0, 0, 1, -1)
        for site in found.keys() | self.sites.keys():
            report.compare(f"depth of {site}", found.get(site, Depth()), self._site(site))

    def _site(self, name: str) -> Depth:
        return self.sites.setdefault(name, Depth())


def _within(outcome: Outcome) -> Iterator[str]:
    """Yield a page's distinct link targets on its own site, except itself."""
    site = host(outcome.url)
    return (url for url in {link.url for link in outcome.links} - {outcome.url} if host(url) == site)


def audit(settings: Settings) -> AuditReport:
    """Recount the crawl in ``settings.data`` and compare, if no messages wait.

    ``settings`` must bound in-links, windows, visitors and neighbours as the crawl's did. Raises
    `JournalMissingError` or `TableMissingError` where there is no crawl.
    """
    settings = of_crawl(settings)
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        report = AuditReport()
        tables = {name: journal.table(name) for name in TABLES}
        report.behind = sum(_behind(journal, TABLES[name].name, parts) for name, parts in tables.items())
        if report.behind:
            return report
        report.quarantined = sum(
            _mark(part).quarantined for parts in tables.values() for part in parts.values()
        )
        quarantined = Quarantined(journal)
        seen = seen_of(journal, quarantined)
        report.judged, report.uncounted = seen.told, seen.uncounted
        counts = _recounted(seen, quarantined, settings, failed_requests(tables["frontier"]))
        _compare_features(report, counts, tables["frontier"])
        _check_harvest(report, quarantined.harvested().values(), tables["harvest"])
        has_depths = settings.frontier.depth == "auto"
        depths = RecountedDepths(journal.partitions(ACCESSES.name)) if has_depths else None
        view = depths.view if depths is not None else None
        known, views = users(quarantined.accesses(), settings.browse.window, view)
        _check_users(report, known, tables["users"])
        _check_pages(report, seen, views, tables["frontier"])
        if settings.behaviour:
            expected = ways(quarantined.accesses(), settings.browse.window, WAYS)
            _check_ways(report, expected, tables["frontier"])
        if depths is not None:
            _check_depths(report, depths, seen.judged, tables["frontier"])
        return report


def _behind(journal: Journal, topic: str, parts: dict[int, TablePartition]) -> int:
    waiting = 0
    for partition in range(journal.partitions(topic)):
        mark = _mark(parts[partition]) if partition in parts else Mark()
        waiting += journal.end(topic, partition) - mark.offset - 1
    return waiting


def _mark(part: TablePartition) -> Mark:
    raw = part.get(MARK)
    return msgspec.msgpack.decode(raw, type=Mark) if raw is not None else Mark()


def _totals(parts: dict[int, TablePartition]) -> Iterator[TotalsRow]:
    return (row for _, row in rows(parts, TOTALS_KEY, TotalsRow))


def failed_requests(parts: dict[int, TablePartition]) -> Iterator[FailedRequests]:
    """Yield the requests that brought no page, from the rows of their URLs."""
    for _, row in rows(parts, PAGE_PREFIX, PageRow):
        failed = row.requests - row.shells - (row.verdict is not None)
        if failed:
            yield FailedRequests(row.url, failed, row.failed, row.silent)


def _recounted(
    seen: Seen, quarantined: Quarantined, settings: Settings, failures: Iterable[FailedRequests]
) -> Ledger:
    policy, meanings = settings.frontier.rule, settings.semantic is not None
    linking = [judged_page(outcome, meanings) for outcome in seen.linking]
    pages = [judged_page(msgspec.structs.replace(page, links=()), meanings) for page in seen.judged.values()]
    trace = trace_of(quarantined.accesses(), settings) if lessons(policy).counts_crowd else None
    return recount(pages, policy, trace, settings.frontier.parents, linking, failures)


def judged_page(outcome: Outcome, meanings: bool) -> JudgedPage:
    """Return an outcome as the learner uses it; with word ``meanings`` it has a subject."""
    subject = page_subject(outcome.url, outcome.title) if meanings else ""
    return JudgedPage(
        outcome.url, outcome.verdict, outcome.words, outcome.links, subject, outcome.silent is True
    )


def trace_of(found: Iterable[Access], settings: Settings) -> Trace:
    """Return accesses as a trace, bounded as the crawl's tables are."""
    return Trace(
        (Step(access.user, access.url, access.time, access.referrer) for access in found),
        reach=settings.browse.reach,
        users=settings.frontier.visitors,
        others=settings.frontier.together,
        window=settings.browse.window,
    )


def _compare_features(report: AuditReport, counts: Ledger, parts: dict[int, TablePartition]) -> None:
    expected = cells_of(counts)
    report.forgotten = sum(row.forgotten for row in _totals(parts))
    found = cells_of(read_ledger(parts.values()))
    for feature in found.keys() | expected.keys():
        state, counted = found.get(feature, {}), expected.get(feature, {})
        if report.forgotten and not always_kept(feature) and _at_most(state, counted):
            continue
        report.compare(f"feature {feature!r}", state, counted)
    bases = found.get(BASE, {}).items()
    base = max((pages for name, (pages, _) in bases if name != FAILED), default=0)
    report.judged_twice = max(0, base - report.judged)


def cells_of(counts: Ledger) -> dict[str, dict[str, tuple[int, int]]]:
    """Return (pages, hits) by feature and predicate."""
    cells: dict[str, dict[str, tuple[int, int]]] = {}
    for feature, predicate, pages, hits in counts.items():
        cells.setdefault(feature, {})[predicate] = (pages, hits)
    return cells


def _at_most(state: dict[str, tuple[int, int]], counted: dict[str, tuple[int, int]]) -> bool:
    return all(
        pages <= counted.get(name, (0, 0))[0] and hits <= counted.get(name, (0, 0))[1]
        for name, (pages, hits) in state.items()
    )


def _check_harvest(report: AuditReport, judged: Iterable[Counted], parts: dict[int, TablePartition]) -> None:
    expected: dict[str, list[int]] = {}
    for outcome in judged:
        _count(expected, outcome.verdict)
    found: dict[str, list[int]] = {}
    for key, row in rows(parts, PREDICATE_PREFIX, HarvestRow):
        cell = found.setdefault(key.decode(), [0, 0])
        cell[0] += row.state.pages
        cell[1] += row.state.hits
    report.compare_all("harvest of", found, expected)


def _check_users(report: AuditReport, expected: dict[str, UserRow], parts: dict[int, TablePartition]) -> None:
    found = {key.decode(): row for key, row in rows(parts, USER_PREFIX, UserRow)}
    for number, user in enumerate(sorted(found.keys() | expected.keys())):
        report.compare(f"user {number}", found.get(user), expected.get(user))


def _check_pages(
    report: AuditReport, seen: Seen, views: dict[str, int], parts: dict[int, TablePartition]
) -> None:
    judged = seen.judged
    pages = {row.url: row for _, row in rows(parts, PAGE_PREFIX, PageRow)}
    links = _in_links(seen.linking)
    known = {url for url, row in pages.items() if row.verdict is not None or row.visits or row.links}
    for url in known | judged.keys() | views.keys() | links.keys():
        row = pages.get(url)
        if row is None:
            report.lose(url)
            continue
        outcome = judged.get(url)
        expected = (outcome.verdict if outcome else None, views.get(url, 0), links.get(url, {}))
        counted = {name: cell for name, cell in row.links.items() if cell[0]}
        report.compare(f"page {url}", (row.verdict, row.visits, counted), expected)
    _check_hosts(report, judged, pages.values(), parts)


def _check_hosts(
    report: AuditReport, judged: Iterable[str], pages: Iterable[PageRow], parts: dict[int, TablePartition]
) -> None:
    hosts, requests = Counter(map(host, judged)), Counter[str]()
    for page in pages:
        requests[host(page.url)] += page.requests
    report.compare("requests", sum(row.requests for row in _totals(parts)), requests.total())
    for key, row in rows(parts, HOST_PREFIX, HostRow):
        name = key.decode()
        report.compare(f"host {name}", row.judged, hosts.pop(name, 0))
        report.compare(f"requests of host {name}", row.requests, requests.pop(name, 0))
    for name in {*hosts, *+requests}:
        report.lose(f"host {name}")


def _check_ways(report: AuditReport, expected: dict[str, Ways], parts: dict[int, TablePartition]) -> None:
    found = {row.url: _figures(row.ways) for _, row in rows(parts, WAYS_PREFIX, AccessRow) if row.ways}
    report.compare_all("ways to", found, {url: _figures(each) for url, each in expected.items()})


def _figures(found: Ways) -> object:
    """Return a page's ways in a form to compare, which names no user."""
    users = {
        source: (len(users), crc32("".join(sorted(users)).encode())) for source, users in found.users.items()
    }
    return found.bound, users


def _check_depths(
    report: AuditReport, depths: RecountedDepths, judged: dict[str, Outcome], parts: dict[int, TablePartition]
) -> None:
    pages = {row.url: row for _, row in rows(parts, PAGE_PREFIX, PageRow)}
    hosts = rows(parts, HOST_PREFIX, HostRow)
    found = {key.decode(): row.depth for key, row in hosts if row.depth is not None}
    depths.check(report, judged, pages, found)


def _in_links(judged: Iterable[Outcome]) -> dict[str, dict[str, list[int]]]:
    links: dict[str, dict[str, list[int]]] = {}
    for outcome in judged:
        for target in {link.url for link in outcome.links} - {outcome.url}:
            _count(links.setdefault(target, {}), outcome.verdict)
    return links


def _count(cells: dict[str, list[int]], verdict: Verdict) -> None:
    """Add a verdict to the pages and hits of its predicates."""
    for name, hit in verdict.items():
        cell = cells.setdefault(name, [0, 0])
        cell[0] += 1
        cell[1] += hit
