"""The alerts that fire, of those that can be seen without Prometheus: by its rules' names and thresholds.

The rules are in `deploy/prometheus/rules.yaml`, what to do is in `docs/operations.md`. What is counted there by
rates is seen here by times.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from scentline.agents.cli.output import lasting
from scentline.agents.operate.inspect.record import entries
from scentline.agents.window.reading import Reading
from scentline.agents.window.state import queued
from scentline.streams.app import APP_ID
from scentline.streams.logging import printable
from scentline.streams.records import DeadLetter, Decoder, HarvestPoint, RecordError, Standing
from scentline.streams.topics import DEAD_LETTERS, INBOXES
from scentline.streams.transport.journal import UnknownTopicError

#: Seconds for which a rate is 0 and candidates wait, one after the other.
STALLED_SECONDS, STALLED_FOR = 900.0, 900.0
#: Seconds that a role is behind, and messages that wait at least.
LAG_SECONDS, LAG_MESSAGES = 900.0, 100
#: Part of the harvest rate that is left of late, of so many pages, and for how many seconds.
COLLAPSED, COLLAPSED_PAGES, COLLAPSED_FOR = 0.3, 200, 1800.0
#: Part of the matches that are current, of so many matches, and for how many seconds.
STALE, STALE_MATCHES, STALE_FOR = 0.5, 50, 3600.0
#: Seconds for which a dead letter is new, and why one says nothing is wrong with the crawl.
LETTERS_SECONDS, LETTERS_LEFT_OUT = 900.0, ("line", "page")
#: Newest dead letters that are looked at.
LETTERS = 50


class Alert(msgspec.Struct, frozen=True):
    """An alert that fires: its rule's name and severity, and what is the matter."""

    name: str
    severity: str
    text: str


class Seen(NamedTuple):
    """What alerts follow from: ``letters`` are new ones by topic and reason, ``waits`` (messages, seconds)."""

    now: float
    standing: Standing | None
    curves: Mapping[str, Sequence[HarvestPoint]]
    window_pages: int
    letters: Mapping[tuple[str, str], int]
    waits: Mapping[str, tuple[int, float]]


def seen(reading: Reading, standing: Standing | None) -> Seen:
    """Return what alerts of a crawl that runs follow from."""
    waits = {} if reading.settings.on_kafka else dict(_waits(reading))
    pages = reading.settings.harvest.window_pages
    return Seen(reading.now, standing, reading.points(), pages, _letters(reading), waits)


def _letters(reading: Reading) -> Counter[tuple[str, str]]:
    """Return how many dead letters are new, of the newest."""
    found: Counter[tuple[str, str]] = Counter()
    decode = Decoder[DeadLetter](DeadLetter)
    with suppress(UnknownTopicError):
        journal = reading.journal
        start = max(journal.start(DEAD_LETTERS.name, 0), journal.end(DEAD_LETTERS.name, 0) - LETTERS)
        for entry in entries(journal, DEAD_LETTERS.name, 0, start):
            with suppress(RecordError):
                letter = decode(entry.value or b"")
                if letter.time > reading.now - LETTERS_SECONDS and letter.why not in LETTERS_LEFT_OUT:
                    found[letter.topic, letter.why] += 1
    return found


def _waits(reading: Reading) -> Iterator[tuple[str, tuple[int, float]]]:
    """Yield of each inbox how many messages wait, and for how many seconds the oldest of them has."""
    journal = reading.journal
    for topic in INBOXES.values():
        messages, seconds = 0, 0.0
        with suppress(UnknownTopicError):
            for partition in range(journal.partitions(topic.name)):
                start = journal.start(topic.name, partition)
                at = max(start, journal.committed(APP_ID, topic.name, partition) or start)
                waiting = journal.end(topic.name, partition) - at
                messages += waiting
                oldest = journal.read(topic.name, partition, at, 1) if waiting > 0 else ()
                seconds = max(seconds, *(reading.now - entry.timestamp for entry in oldest), 0.0)
        yield topic.name, (messages, seconds)


def firing(given: Seen) -> list[Alert]:
    """Return the alerts that fire."""
    return [*_stalled(given), *_behind(given), *_of_predicates(given), *_dead(given)]


def _stalled(given: Seen) -> Iterator[Alert]:
    standing = given.standing
    if standing is None or standing.state != "running" or not queued(standing):
        return
    last = max(map(_last_page, given.curves.values()), default=0.0)
    silent = given.now - max(last, standing.began)
    if silent > STALLED_SECONDS + STALLED_FOR:
        text = f"No page was judged for {lasting(silent)}, though candidates wait."
        yield Alert("ScentlineCrawlStalled", "critical", text)


def _last_page(curve: Sequence[HarvestPoint]) -> float:
    """Return when the last page of a curve came; later points may be of an estimate."""
    return min((point.time for point in curve if point.pages == curve[-1].pages), default=0.0)


def _behind(given: Seen) -> Iterator[Alert]:
    for topic, (messages, seconds) in given.waits.items():
        if messages > LAG_MESSAGES and seconds > LAG_SECONDS:
            text = f"{topic} is {lasting(seconds)} behind: {messages:,} messages wait."
            yield Alert("ScentlineLagging", "warning", text)


def _of_predicates(given: Seen) -> Iterator[Alert]:
    for name, curve in sorted(given.curves.items()):
        if _holds(curve, COLLAPSED_FOR, lambda point: _collapsed(point, given.window_pages)):
            lately, all_pages = _percent(curve[-1].rate_by_pages), _percent(curve[-1].harvest_rate)
            text = f"{name}: of late {lately} of the pages satisfy it, of all {all_pages}."
            yield Alert("ScentlineHarvestRateCollapsed", "warning", text)
        if _holds(curve, STALE_FOR, _stale):
            current = _percent(curve[-1].freshness or 0.0)
            text = f"{name}: {current} of its matches are still as they were visited."
            yield Alert("ScentlineMatchesStale", "warning", text)


def _holds(curve: Sequence[HarvestPoint], seconds: float, condition: Callable[[HarvestPoint], bool]) -> bool:
    """Tell whether a condition has held of a curve's points for so many seconds."""
    if not curve or curve[0].time > curve[-1].time - seconds:
        return False
    for point in reversed(curve):
        if not condition(point):
            return False
        if point.time <= curve[-1].time - seconds:
            break
    return True


def _collapsed(point: HarvestPoint, window_pages: int) -> bool:
    enough = min(point.pages, window_pages) >= COLLAPSED_PAGES
    return enough and point.rate_by_pages < COLLAPSED * point.harvest_rate


def _stale(point: HarvestPoint) -> bool:
    return (point.matches or 0) >= STALE_MATCHES and (point.freshness or 0.0) < STALE


def _dead(given: Seen) -> Iterator[Alert]:
    for (topic, why), number in sorted(given.letters.items()):
        about = "At least " if number >= LETTERS else ""
        messages = f"{about}{number} message{'s' if number != 1 else ''}"
        reason = f" ({printable(why)})" if why else ""
        text = f"{messages} of {printable(topic)} could not be read or taken in{reason}."
        yield Alert("ScentlineDeadLetters", "warning", text)


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"
