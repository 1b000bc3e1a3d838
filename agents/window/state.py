"""The state of a crawl in a sentence; if it fetches nothing, why."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from scentline.agents.cli.output import lasting
from scentline.models.published import DoorStanding, Standing

#: Seconds without a report after which a worker is missing.
MISSED_SECONDS = 90.0
#: Seconds until the next host is ready from which on a crawl waits, despite recent answers.
WAITS_SECONDS = 10.0
#: Seconds without news from clients of a door after which that is said.
QUIET_SECONDS = 30.0

#: "good" (pages come), "waits" (they will), "rest" (none are expected), "bad".
Mood = Literal["good", "waits", "rest", "bad"]
#: A mood's word before its sentence.
MOODS: dict[Mood, str] = {"good": "Fetching", "waits": "Waiting", "rest": "At rest", "bad": "Trouble"}

#: Why hosts wait, in words.
REASONS = {
    "delay": "for the delay between two requests",
    "back-off": "to back off after failures",
    "retry-after": "for the end of a Retry-After",
    "robots": "for the delay that robots.txt asks for",
    "shared": "for another host of their server",
    "busy": "for an answer",
    "browser": "for the browser that renders",
}
#: What holds hosts back, in words.
HELD = {
    "politeness": "wait for their delays",
    "network": "have not answered yet, or wait for a connection",
    "rendering": "wait for the browser that renders their pages",
    "CPU": "wait for this machine to judge pages",
    "window": "wait for better pages, or for verdicts",
}


#: Why nothing is ordered, by the state.
_STOPPED = {
    "paused": "the crawl is paused", "starting": "the crawl is starting", "spent": "the budget is spent",
}  # fmt: skip


class Facts(NamedTuple):
    """The facts that decide a crawl's state; times are in seconds since the epoch."""

    now: float
    begun: bool
    running: bool
    #: Its frontiers' combined standing.
    standing: Standing | None = None
    #: When the crawl last wrote, 0 if unknown.
    newest: float = 0.0
    #: How many predicates are active, and how many paused.
    predicates: int = 0
    paused: int = 0


Said = tuple[Mood, str]


def said(facts: Facts) -> Said:
    """Return the state of a crawl: its mood, and a sentence.

    >>> said(Facts(now=0.0, begun=False, running=False))
    ('rest', 'No crawl has begun in this directory yet.')
    """
    if not facts.begun:
        return "rest", "No crawl has begun in this directory yet."
    if not facts.running:
        return _at_rest(facts)
    return _unanswered(facts) or _running(facts)


def _at_rest(facts: Facts) -> Said:
    standing = facts.standing
    last = max(facts.newest, standing.time if standing is not None else 0.0)
    since = f"The crawl ended {lasting(max(0.0, facts.now - last))} ago" if last else "The crawl ended"
    if standing is None or not standing.final or facts.newest > standing.time + MISSED_SECONDS:
        return "bad", f"{since}, abruptly, as by a kill. The same command goes on with it."
    if standing.state == "spent":
        return "rest", f"{since}: {standing.spent}. A larger budget goes on with it."
    if standing.state == "done":
        return "rest", f"{since}: nothing was left to fetch."
    was = "paused, and stopped" if standing.state == "paused" else "stopped"
    return "rest", f"{since}: it was {was}. The same command goes on with it."


def _unanswered(facts: Facts) -> Said | None:
    """Return the state of a crawl that does not answer, wholly or in part."""
    standing = facts.standing
    if standing is None:
        return "waits", "The crawl runs, and has not answered yet: it is starting, or busy."
    silent = facts.now - standing.time
    if silent > MISSED_SECONDS:
        return "bad", f"The crawl runs, and no worker has answered for {lasting(silent)}."
    if standing.partitions < standing.of:
        missing = standing.of - standing.partitions
        return "bad", f"No answer from a worker: {missing} of {standing.of} partitions are missing."
    return None


def _running(facts: Facts) -> Said:
    standing = facts.standing
    assert standing is not None, "it answered"
    still = f", {_are(standing.in_flight, 'page')} still in flight" if standing.in_flight else ""
    if standing.state == "paused":
        return "rest", f"Paused{still}: nothing is ordered until the crawl is resumed."
    if standing.state == "starting":
        return "waits", f"Starting: candidates are read, {100 * standing.taken_up:.0f} % so far."
    if standing.state == "spent":
        return "rest", f"{standing.spent.capitalize()}{still}."
    if facts.paused and not facts.predicates:
        return "rest", f"Every predicate is paused{still}."
    return _fetching(standing) if standing.in_flight else _idle(standing)


def _fetching(standing: Standing) -> Said:
    text = f"{_are(standing.in_flight, 'page')} in flight"
    if standing.revisits_in_flight:
        text += f", {standing.revisits_in_flight} of them visited again"
    if standing.room <= 0:
        text += ", as many as may be"
    elif queued(standing) and not standing.ready:
        return "good", f"{text}; {_all_wait(standing)}"
    return "good", f"{text}{_slots(standing)}."


def _slots(standing: Standing) -> str:
    """Return what holds most hosts back, if fewer than half of their seconds are used."""
    if standing.slots is None or standing.held_by not in HELD:
        return ""
    return f"; {standing.slots:.0%} of the hosts' seconds are used: {standing.held:,} {HELD[standing.held_by]}"


def _idle(standing: Standing) -> Said:
    """Return why nothing is in flight; while answers come, it is only for a moment."""
    mood: Mood = "good" if standing.requests_a_second else "waits"
    if standing.filling:
        return "waits", "Nothing is in flight: all that is known is looked through for candidates."
    if not queued(standing):
        return _without_candidates(standing)
    if not standing.ready:
        text = _all_wait(standing)
        late = (standing.next_ready or 0) >= WAITS_SECONDS
        return "waits" if late else mood, text[0].upper() + text[1:]
    if mood == "waits" and standing.held_by in HELD:
        return mood, f"Nothing is in flight{_slots(standing)}."
    return mood, f"{_hosts(standing.ready)} may be asked: the next page is about to be ordered."


def at_doors(doors: Sequence[DoorStanding], standing: Standing | None, now: float) -> str:
    """Say what the clients of doors have, and why no more; nothing where there is no door.

    >>> door = DoorStanding(worker="0", time=60.0, clients=1, leased=4, parked=5, heard=58.0)
    >>> at_doors([door], None, now=60.0)
    'At the door: 1 client has 4 pages; 1 more waits for its turn.'
    """
    if not doors:
        return ""
    clients, leased = sum(each.clients for each in doors), sum(each.leased for each in doors)
    more = sum(each.parked for each in doors) - leased
    pages = f"{leased:,} pages" if leased > 1 else "1 page" if leased else "no page"
    has = f"{clients:,} client{'s have' if clients != 1 else ' has'} {pages}"
    turn = "waits for its turn" if more == 1 else "wait for their turn"
    why = f"; {more:,} more {turn}" if more > 0 else _no_more(standing)
    quiet = now - max(each.heard for each in doors)
    since = f"; nothing came back for {lasting(quiet)}" if quiet >= QUIET_SECONDS else ""
    return f"At the door{'s' if len(doors) > 1 else ''}: {has}{why}{since}."


def _no_more(standing: Standing | None) -> str:
    """Return why clients who ask for pages get no more, if that is known."""
    if standing is None or (standing.state == "running" and standing.room > 0 and standing.ready):
        return ""
    if standing.state in _STOPPED:
        return f"; no more come: {_STOPPED[standing.state]}"
    if standing.room <= 0:
        return "; no more come before some are answered"
    return "; no more come before a host's delay is over" if queued(standing) else "; no more are known"


def _without_candidates(standing: Standing) -> Said:
    if standing.opening:
        return "waits", f"No candidate yet: they are read, {100 * standing.taken_up:.0f} % so far."
    if standing.retries:
        soon = f": the next in {_soonest(standing.next_retry)}" if standing.next_retry is not None else ""
        pages = f"{standing.retries:,} page{'s wait' if standing.retries != 1 else ' waits'}"
        return "waits", f"No candidate is left but {pages} for another attempt{soon}."
    return "rest", "No candidate is left: what comes from a log, a seed or a revisit is waited for."


def _all_wait(standing: Standing) -> str:
    """Say that all hosts wait, until when and why, as the end of a sentence."""
    total = sum(standing.waiting.values())
    about = "about " if standing.seen < 1 else ""
    have = "has pages, and waits" if total == 1 else "have pages, all wait"
    soon = f": the next in {_soonest(standing.next_ready)}" if standing.next_ready is not None else ""
    found = sorted(standing.waiting.items(), key=lambda entry: (-entry[1], entry[0]))
    counts = (f"{number:,} " if len(found) > 1 else "" for _, number in found)
    reasons = ", ".join(count + REASONS.get(why, why) for count, (why, _) in zip(counts, found, strict=True))
    return f"{about}{_hosts(total)} {have}{soon} ({reasons})."


def queued(standing: Standing) -> int:
    """Return how many candidates are in memory: the longest queue has most of them."""
    return max(standing.queued.values(), default=0)


def _soonest(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 1 else f"{seconds:.0f} s" if seconds < 60 else lasting(seconds)


def _are(number: int, what: str) -> str:
    return f"{number:,} {what}{'s are' if number != 1 else ' is'}"


def _hosts(number: int) -> str:
    return f"{number:,} host{'s' if number != 1 else ''}"
