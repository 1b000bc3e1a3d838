"""Every metric, declared once: this file is the vocabulary, docs/metrics.md its reference page.

Names follow Prometheus' conventions: base units, ``_total`` for what only grows. No label's value comes from
the web or a log: there is no URL, no host and no user among them.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]

#: Seconds of a fetch, or of a group's commit.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
#: Seconds from publication to fetch, up to a day.
DELAYS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 10_800.0, 43_200.0, 86_400.0)
#: Messages or rows of a group.
SIZES = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 25_000.0)


@dataclass(frozen=True)
class Metric:
    """One metric: its name, with ``_total`` where it is a counter, what it says, and its labels' names.

    ``buckets`` are the upper bounds of a histogram.
    """

    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(f"scentline_{name}_total", "counter", meaning, labels)


def _gauge(name: str, meaning: str, *labels: str) -> Metric:
    return Metric(f"scentline_{name}", "gauge", meaning, labels)


def _histogram(name: str, buckets: tuple[float, ...], meaning: str, *labels: str) -> Metric:
    return Metric(f"scentline_{name}", "histogram", meaning, labels, buckets)


# every worker

BUILD = _gauge("build_info", "1; the labels have the versions", "version", "python")
BEAT_AGE = _gauge("event_loop_beat_age_seconds", "since the event loop last turned; about 1 at most, if well")
LATE = _histogram(
    "event_loop_late_seconds", SECONDS, "by how much a beat of the event loop, one a second, came too late"
)
BROKERS_LOST = _gauge("brokers_lost_seconds", "for how long the brokers have not answered; 0 where they do")
READY = _gauge("ready", "1 where tables are recovered and partitions assigned, else 0", "role")
RECOVERY = _gauge("recovery_seconds", "from the last rebalance's begin until its tables were recovered", "role")
REBALANCES = _counter("rebalances", "times that partitions began to change hands", "role")
PARTITIONS = _gauge("partitions", "partitions of the inbox that this worker holds", "topic")
LAG = _gauge("lag_messages", "messages not yet taken in, of the partitions that this worker holds", "topic")
TAKEN = _counter("messages", "messages taken in and acknowledged", "topic")
DEAD_LETTERS = _counter(
    "dead_letters", "messages that were buried, by where they stood and why", "topic", "reason"
)

# stateful roles

GROUP_MESSAGES = _histogram("group_messages", SIZES, "messages of a commit group", "table")
GROUP_ROWS = _histogram("group_rows", SIZES, "changed rows of a commit group", "table")
GROUP_SECONDS = _histogram("group_commit_seconds", SECONDS, "from a group's end until it was safe", "table")
GROUPS_LOST = _counter("groups_lost", "groups given up: another worker owns the partition", "table")
TABLE_ROWS = _gauge("table_rows", "rows on disk, as RocksDB estimates them", "table")
TABLE_BYTES = _gauge("table_bytes", "bytes of RocksDB's files and buffers", "table")

# observe

LINES = _counter("log_lines", "log lines read, by what became of them", "outcome")

# fetch

FETCHED = _counter("fetches", "fetch orders answered, by what came of them", "outcome")
FETCHED_BYTES = _counter("fetched_bytes", "bytes of fetched pages, free of their content encoding")
FETCH_SECONDS = _histogram("fetch_seconds", SECONDS, "from asking a server to the end of its answer")
FETCHING = _gauge("fetches_in_flight", "fetch orders being carried out")
FETCH_SLOTS = _gauge("fetch_slots", "fetch orders that may be carried out at a time (fetch.connections)")
WAITS = _counter("politeness_waits", "times that an order waited for its server's delay")
WAIT_SECONDS = _counter("politeness_wait_seconds", "seconds that orders waited for their servers' delays")

# judge

PAGES_READ = _counter("pages", "fetched pages read, by what became of them", "outcome")
KEPT_LEFT = _gauge("kept_pages_left", "kept pages that a later predicate has yet to go through", "predicate")

# frontier

FOUND = _gauge("frontier_urls", "URLs known, by what became of them", "state")
REQUESTS = _gauge("frontier_requests", "requests for pages that were answered, since the crawl began")
QUEUED = _gauge(
    "frontier_queued", "candidates in memory, best first, from which the next is chosen", "predicate"
)
QUEUE_LIMIT = _gauge("frontier_queue_limit", "candidates that a queue holds at most (frontier.queue)")
RETRYING = _gauge("frontier_retrying", "candidates that wait for their next attempt")
IN_FLIGHT = _gauge("frontier_in_flight", "fetches ordered and not answered yet", "predicate")
HOSTS = _gauge("frontier_hosts", "hosts that have candidates in a queue", "predicate")
HOSTS_WAITING = _gauge(
    "frontier_hosts_waiting", "hosts that may not be asked now: delay, back-off, or being asked"
)
SLOTS_USED = _gauge(
    "frontier_slots_used", "part used lately of the seconds in which hosts might be asked; 1 without a delay"
)
HOSTS_HELD = _gauge(
    "frontier_hosts_held", "hosts kept by what keeps most of them, where half of the slots are unused", "reason"
)
LARGEST_OWNER = _gauge("frontier_largest_owner", "largest share of the latest fetches that one owner had")
ORDERS = _counter("fetch_orders", "fetches ordered, by what chose them", "predicate", "chosen")
UNSCORED = _counter("candidates_unscored", "times that a candidate could not be scored; it comes last")
LEASES_LOST = _counter("leases_lost", "fetches that were not answered within their lease")
HUBS = _gauge("frontier_hubs", "news hubs that are revisited")
NEW_NEWS = _gauge("frontier_new_news", "new links to news that wait to be fetched at once")
HUB_REVISITS = _counter("hub_revisits", "revisits of hubs that were answered, by what came of them", "outcome")
NEWS_DELAY = _histogram("news_delay_seconds", DELAYS, "from the publication of a news page to its fetch")

REVISITS = _counter("revisits", "revisits of judged pages, by what came of them", "outcome")
EXPECTED_UNCHANGED = _counter(
    "revisits_expected_unchanged", "of the revisits that told, those that were expected to find no change"
)
CHANGES = _counter(
    "changes", "changes of a predicate's matches that were told, by their kind", "predicate", "kind"
)
MATCHES = _gauge("matches", "pages that satisfy the predicate now, where pages are visited again", "predicate")
MATCHES_CURRENT = _gauge(
    "matches_current", "of these, those expected to be as they were at their last visit", "predicate"
)
MATCHES_AGE = _gauge("matches_age_seconds", "seconds since the last visits to them, added up", "predicate")

# learn

FEATURES = _gauge("learner_features", "features counted")
FORGOTTEN = _gauge("learner_features_forgotten", "features forgotten for want of room, in all")
LABELS = _gauge("learner_labels", "labels that a predicate's combiner has learned from", "predicate")
PUBLISHED = _counter("interests_published", "features that frontiers were told of")

# harvest

JUDGED = _counter("predicate_pages", "judged pages counted in this process", "predicate")
HITS = _counter("predicate_hits", "of these, the pages that satisfy the predicate", "predicate")
HARVEST_PAGES = _gauge("harvest_pages", "judged pages, in all", "predicate")
HARVEST_HITS = _gauge("harvest_hits", "pages that satisfy the predicate, in all", "predicate")
WINDOW_PAGES = _gauge("harvest_window_pages", "judged pages of late (harvest.window_pages)", "predicate")
WINDOW_HITS = _gauge("harvest_window_hits", "pages of late that satisfy the predicate", "predicate")
CHANCE_PAGES = _gauge("harvest_chance_pages", "judged pages that chance alone chose", "predicate")
CHANCE_HITS = _gauge("harvest_chance_hits", "of these, the pages that satisfy the predicate", "predicate")
HARVEST_RATE = _gauge("harvest_rate", "hits over pages, of the whole crawl", "predicate")
HARVEST_LIFT = _gauge(
    "harvest_lift",
    "the harvest rate over that of chance, of the whole crawl; absent while its 95 % interval holds 1",
    "predicate",
)

#: All of them, in the order above.
CATALOGUE: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
