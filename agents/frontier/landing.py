"""How fetches end: what is in flight, when their hosts may be asked again, and whose turns bring hits."""

from agents.frontier.book import Ended
from agents.frontier.candidates import Candidates
from agents.frontier.instant import Instant
from agents.frontier.rows import OPEN
from models.domain import server
from models.frontier.politeness import HostClocks
from models.frontier.turns import Turns
from models.url import host
from streams.logging import EventLog
from streams.records import Failed, Judged, Postponed, Revisited

log = EventLog("frontier")


class Landing:
    """Takes in the ends of fetches, when the rows that they changed are safe."""

    def __init__(self, candidates: Candidates, turns: Turns, instant: Instant | None) -> None:
        self._candidates = candidates
        self._turns = turns
        self._instant = instant

    def land(self, sighting: Ended, now: float) -> None:
        """Take in how one fetch ended."""
        flight = self._candidates.flights.land(sighting.url, now)
        _tell_clocks(self._candidates.clocks, sighting, now)
        self._candidates.fairness.shares.serves(sighting.server, host(sighting.url))
        if isinstance(sighting, Judged):
            self._candidates.withdraw(sighting.url)
            if flight is not None and not flight.explored and not flight.instant:
                self._turns.brought(flight.predicate, sighting.verdict.get(flight.predicate, False))
        elif isinstance(sighting, Failed):
            self._tell_of_seeds(sighting)
        elif isinstance(sighting, Revisited) and self._instant is not None:
            self._instant.ended(sighting)

    def _tell_of_seeds(self, failed: Failed) -> None:
        """Say so where a seed came to nothing: a crawl without its seeds would end without a word."""
        found = self._candidates.shards.find(failed.url)
        if found is not None and found[1].seed and found[1].state not in OPEN:
            advice = "name it in fetch.allow" if failed.reason.startswith("address") else "look at it"
            log.warning("a seed could not be fetched", url=failed.url, reason=failed.reason, advice=advice)


def _tell_clocks(clocks: HostClocks, sighting: Ended, now: float) -> None:
    """Tell the clocks what the end of a fetch says of its host."""
    name = host(sighting.url)
    revisit = sighting.outcome if isinstance(sighting, Revisited) else ""
    asked = not isinstance(sighting, Postponed) and revisit != "early"
    if sighting.server:
        clocks.serves(server(sighting.server), name, asked=asked)
    if sighting.crawl_delay:
        clocks.crawl_delay(name, sighting.crawl_delay)
    if isinstance(sighting, Postponed) or not asked:
        return
    if sighting.elapsed:
        clocks.answered(name, sighting.elapsed)
    if isinstance(sighting, Failed) and sighting.kind == "retry":
        clocks.failed(name, now, sighting.retry_after, overloaded=sighting.overloaded)
    elif isinstance(sighting, Revisited) and revisit == "retry":
        clocks.failed(name, now, sighting.wait, overloaded=sighting.overloaded)
    elif isinstance(sighting, Judged) or sighting.elapsed:  # robots.txt may refuse without asking the host
        clocks.succeeded(name, now)
