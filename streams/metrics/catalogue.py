"""Every metric, declared once; docs/metrics.md is the reference page.

Names follow Prometheus' conventions: base units, and ``_total`` for counters. No label holds a URL, host or
user.
"""

from dataclasses import dataclass
from typing import Literal

from scentline.models.papers.hubs import DELAYS

Kind = Literal["counter", "gauge", "histogram"]

#: Seconds of a fetch, or of a group's commit.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
#: Messages or rows of a group.
SIZES = (1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 25_000.0)


@dataclass(frozen=True)
class Metric:
    """One metric; ``buckets`` are the upper bounds of a histogram."""

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
BEAT_AGE = _gauge("event_loop_beat_age_seconds", "since the event loop last turned; about 1 at most")
LATE = _histogram(
    "event_loop_late_seconds", SECONDS, "how late a beat of the event loop came; there is one a second"
)
BROKERS_LOST = _gauge("brokers_lost_seconds", "since the brokers last answered; 0 while they do")
READY = _gauge("ready", "1 while partitions are assigned and tables recovered, else 0", "role")
RECOVERY = _gauge("recovery_seconds", "length of the last rebalance with its recovery", "role")
REBALANCES = _counter("rebalances", "rebalances begun", "role")
PARTITIONS = _gauge("partitions", "inbox partitions of this worker", "topic")
LAG = _gauge("lag_messages", "messages not absorbed yet in this worker's partitions", "topic")
TAKEN = _counter("messages", "messages absorbed and acknowledged", "topic")
DEAD_LETTERS = _counter("dead_letters", "dead letters by the message's topic and why", "topic", "reason")

# stateful roles

GROUP_MESSAGES = _histogram("group_messages", SIZES, "messages of a commit group", "table")
GROUP_ROWS = _histogram("group_rows", SIZES, "changed rows of a commit group", "table")
GROUP_SECONDS = _histogram("group_commit_seconds", SECONDS, "from a group's end until it is safe", "table")
GROUPS_LOST = _counter("groups_lost", "groups given up to a partition's new owner", "table")
TABLE_ROWS = _gauge("table_rows", "rows on disk, by RocksDB's estimate", "table")
TABLE_BYTES = _gauge("table_bytes", "bytes of RocksDB's files and buffers", "table")

# observe

LINES = _counter("log_lines", "log lines read", "outcome")

# fetch

FETCHED = _counter("fetches", "fetch orders answered", "outcome")
FETCHED_BYTES = _counter("fetched_bytes", "bytes of fetched pages, decoded")
FETCH_SECONDS = _histogram("fetch_seconds", SECONDS, "from a request to the end of its answer")
FETCHING = _gauge("fetches_in_flight", "fetches under way")
FETCH_SLOTS = _gauge("fetch_slots", "fetches that may be under way (fetch.connections)")
DOOR_PARKED = _gauge("door_orders", "orders at the door, leased to a client or waiting for one")
DOOR_CLIENTS = _gauge("door_clients", "clients that called the door within a minute")
DOOR_ANSWERS = _counter("door_answers", "clients' answers, by what the door said to them", "outcome")
DOOR_DISCOVERED = _counter("door_discovered", "URLs that the door took from clients beside answers")
DOOR_RETURNED = _counter("door_returned", "orders that went back to the frontier, since no client fetched them")
WAITS = _counter("politeness_waits", "orders that waited for their server's delay")
WAIT_SECONDS = _counter("politeness_wait_seconds", "seconds that they waited")

# judge

PAGES_READ = _counter("pages", "fetched pages read", "outcome")
KEPT_LEFT = _gauge("kept_pages_left", "kept pages that a later predicate has yet to judge", "predicate")

# frontier

FOUND = _gauge("frontier_urls", "known URLs", "state")
REQUESTS = _gauge("frontier_requests", "answered requests for pages, since the crawl began")
QUEUED = _gauge("frontier_queued", "candidates in memory, from which the next is chosen", "predicate")
QUEUE_LIMIT = _gauge("frontier_queue_limit", "most candidates of a queue (frontier.queue)")
RETRYING = _gauge("frontier_retrying", "candidates that wait for another attempt")
IN_FLIGHT = _gauge("frontier_in_flight", "fetches ordered and not answered yet", "predicate")
HOSTS = _gauge("frontier_hosts", "hosts with candidates in a queue", "predicate")
HOSTS_WAITING = _gauge("frontier_hosts_waiting", "hosts that have to wait now")
SLOTS_USED = _gauge(
    "frontier_slots_used", "used share of the seconds in which hosts were ready; 1 without a delay"
)
HOSTS_HELD = _gauge(
    "frontier_hosts_held", "hosts kept by the main cause, where half of the slots are unused", "reason"
)
LARGEST_OWNER = _gauge("frontier_largest_owner", "largest share of one owner in the latest fetches")
ORDERS = _counter("fetch_orders", "fetches ordered", "predicate", "chosen")
UNSCORED = _counter("candidates_unscored", "candidates that could not be scored; they come last")
LEASES_LOST = _counter("leases_lost", "fetches not answered within their lease")
FEATURES = _gauge("learner_features", "features counted, once in each partition")
FORGOTTEN = _gauge("learner_features_forgotten", "features forgotten for want of room")
PUBLISHED = _counter("interests_published", "published features")
HUBS = _gauge("frontier_hubs", "news hubs that are revisited")
NEW_NEWS = _gauge("frontier_new_news", "new links to news that wait")
HUB_REVISITS = _counter("hub_revisits", "answered revisits of hubs", "outcome")
NEWS_DELAY = _histogram("news_delay_seconds", DELAYS, "from a news page's publication to its fetch")

REVISITS = _counter("revisits", "revisits of judged pages", "outcome")
EXPECTED_UNCHANGED = _counter(
    "revisits_expected_unchanged", "conclusive revisits that were expected to find no change"
)
CHANGES = _counter("changes", "published changes of a predicate's matches", "predicate", "kind")
MATCHES = _gauge("matches", "present matches, where pages are visited again", "predicate")
MATCHES_CURRENT = _gauge(
    "matches_current", "of these, those expected to be as at their last visit", "predicate"
)
MATCHES_AGE = _gauge("matches_age_seconds", "seconds since these visits, added up", "predicate")

# learn

LABELS = _gauge("learner_labels", "labels that the combiner has learned from", "predicate")

# harvest

JUDGED = _counter("predicate_pages", "judged pages counted by this process", "predicate")
HITS = _counter("predicate_hits", "hits among these", "predicate")
HARVEST_PAGES = _gauge("harvest_pages", "judged pages, in all", "predicate")
HARVEST_HITS = _gauge("harvest_hits", "hits, in all", "predicate")
WINDOW_PAGES = _gauge("harvest_window_pages", "latest judged pages (harvest.window_pages)", "predicate")
WINDOW_HITS = _gauge("harvest_window_hits", "hits among these", "predicate")
CHANCE_PAGES = _gauge("harvest_chance_pages", "judged pages chosen by chance alone", "predicate")
CHANCE_HITS = _gauge("harvest_chance_hits", "hits among these", "predicate")
HARVEST_RATE = _gauge("harvest_rate", "hits over pages, of the whole crawl", "predicate")
HARVEST_LIFT = _gauge(
    "harvest_lift",
    "the harvest rate over that of chance; absent while its 95 % interval holds 1",
    "predicate",
)

#: All of them, in the order above.
CATALOGUE: tuple[Metric, ...] = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
