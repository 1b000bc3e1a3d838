"""Telling people that no host answers: a crawl without a network would try again and again, and say nothing."""

from typing import Final

from agents.web.outcome import outcome_of
from agents.web.result import Early, Result
from streams.logging import EventLog

#: What came of a fetch for which no host answered.
_UNANSWERED: Final = frozenset({"dns", "connection", "timeout", "robots_unreachable"})
#: Fetches in a row without an answer after which it is said, where there were answers before.
IN_A_ROW = 20

log = EventLog("fetch")


class Silence:
    """Notes what came of fetches; warns once when no host answers, at the first or after many in a row."""

    def __init__(self) -> None:
        self._unanswered = 0
        self._answered = False
        self._told = False

    def note(self, result: Result) -> None:
        """Take in what came of a fetch."""
        if isinstance(result, Early):
            return
        if outcome_of(result) not in _UNANSWERED:
            if self._told:
                log.info("hosts answer again")
            self._unanswered, self._answered, self._told = 0, True, False
            return
        self._unanswered += 1
        if not self._told and (not self._answered or self._unanswered >= IN_A_ROW):
            self._told = True
            log.warning("no host answers: is there a network?", reason=getattr(result, "reason", ""))
