"""The results of revisits, as the frontier gets them."""

from collections import defaultdict

from scentline.agents.fetch.result import Early, Failure, Moved, Unchanged, Validators, outcome_of, validators
from scentline.models.page import Page
from scentline.models.url import host
from scentline.streams.facts import Relisted, Revisited
from scentline.streams.outbox import Outbox
from scentline.streams.records import NOT_MODIFIED, FetchedPage, FetchOrder, Revisit, Version
from scentline.streams.topics import SIGHTINGS, partition_of

#: Redirects that are for good.
_PERMANENT = frozenset({301, 308})
#: Outcomes (`agents.fetch.result.outcome_of`) by which a judged page is gone, or may no longer be fetched.
_GONE = frozenset({"3xx", "4xx", "broken", "size", "type"})
_FORBIDDEN = frozenset({"robots", "address"})


def version_of(page: FetchedPage) -> Version | None:
    """Return the version of a fetched page, None where its server does not name it."""
    found = validators(page.headers)
    return Version(*found) if found.known else None


def known(revisit: Revisit | None) -> Validators:
    """Return the known version of a page."""
    version = revisit.version if revisit is not None else None
    return Validators() if version is None else Validators(version.etag, version.last_modified)


def unread(
    order: FetchOrder, result: Unchanged | Moved | Failure | Early, now: float, *, overloaded: bool
) -> Revisited:
    """Return the result of a revisit without a page."""
    outcome, wait, target, reason = "unchanged", None, "", ""
    if isinstance(result, Early):
        outcome, wait = "early", result.wait
    elif isinstance(result, Moved):
        target = result.target
        outcome, reason = ("moved", "") if result.status in _PERMANENT else ("failed", "redirect for now")
    elif isinstance(result, Failure):
        outcome, wait, reason = _failed(order, result), result.retry_after, result.reason
    return Revisited(
        order.url, order.order, outcome, now, wait=wait, target=target, overloaded=overloaded,
        crawl_delay=result.crawl_delay, elapsed=result.elapsed, server=result.server, again=_again(order),
        reason=reason, unanswered=isinstance(result, Failure) and result.unanswered,
        robots=isinstance(result, Early) and result.robots,
    )  # fmt: skip


def unchanged(order: FetchOrder, result: Unchanged, now: float) -> FetchedPage:
    """Return an unchanged page, for the judge to keep."""
    version = known(order.revisit)
    told = {"etag": version.etag, "last-modified": version.last_modified}
    headers = {name: value for name, value in told.items() if value}
    return FetchedPage(
        order=order, status=NOT_MODIFIED, headers=headers, body=b"", time=now, elapsed=result.elapsed,
        server=result.server,
    )  # fmt: skip


def unjudged(fetched: FetchedPage, outcome: str, reason: str) -> Revisited:
    """Return the result of a revisit whose page is not judged."""
    order = fetched.order
    return Revisited(
        order.url, order.order, outcome, fetched.time, crawl_delay=fetched.crawl_delay,
        elapsed=fetched.elapsed, server=fetched.server, again=_again(order), reason=reason,
    )  # fmt: skip


def _again(order: FetchOrder) -> bool:
    return order.revisit is not None and order.revisit.again


def _failed(order: FetchOrder, failure: Failure) -> str:
    if failure.kind == "retry":
        return "retry"
    found = outcome_of(failure) if _again(order) else ""
    return "gone" if found in _GONE else "refused" if found in _FORBIDDEN else "failed"


def report(outbox: Outbox, fetched: FetchedPage, page: Page, partitions: int) -> None:
    """Emit the links of a revisited page, each to its partition of `sightings`, and then that it was read."""
    order = fetched.order
    assert order.revisit is not None
    by_partition: dict[int, list[str]] = defaultdict(list)
    for link in page.links if not page.barred else ():
        by_partition[partition_of(host(link.url), partitions)].append(link.url)
    for partition in sorted(by_partition):
        links = tuple(by_partition[partition])
        relisted = Relisted(order.url, order.depth, links, fetched.time, order.revisit.since)
        outbox.emit(SIGHTINGS.name, partition, relisted)
    revisited = Revisited(
        order.url, order.order, "failed" if page.barred else "changed", fetched.time,
        version=version_of(fetched), crawl_delay=fetched.crawl_delay, elapsed=fetched.elapsed,
        server=fetched.server, reason=page.barred,
    )  # fmt: skip
    outbox.emit(SIGHTINGS.name, partition_of(host(order.url), partitions), revisited)
