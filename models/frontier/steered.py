"""What people asked of a crawl that is in force, as every frontier hears of it on the topic `control`.

It is in the log: a crawl that was killed hears it again before it orders anything.
"""

from collections.abc import Iterable
from typing import Protocol

from scentline.models.errors import EventLog
from scentline.models.frontier.exclusions import Exclusions
from scentline.models.published import Exclusion, Pausing, Slowing, Steering, control_key, defines
from scentline.models.records import JsonDecoder, RecordError, reason_of

log = EventLog("steering")

_decode = JsonDecoder[Steering](Steering)


def read_steering(value: bytes) -> Steering:
    """Return a record of the topic `control` that steers; raises `RecordError`."""
    told = _decode(value)
    if isinstance(told, Exclusion):
        try:
            Exclusions().put(told.name, told.prefix, told.expression)
        except ValueError as error:
            raise RecordError(f"not an exclusion: {reason_of(error)}") from error
    return told


class Entry(Protocol):
    """A message of the topic, as a log has it."""

    @property
    def key(self) -> bytes | None:
        """What it is of, and its name."""

    @property
    def value(self) -> bytes | None:
        """The record."""


class Steered:
    """The newest record of each kind and name, in force or not."""

    def __init__(self, found: Iterable[Entry] = ()) -> None:
        self._records: dict[str, Steering] = {}
        self._telling = False
        for entry in found:
            if not defines(entry.key):
                self.hear(entry.value)

    def tell(self) -> None:
        """Say in the log what was asked earlier and is in force, and from now on what is heard."""
        self._telling = True
        if self.in_force:
            log.info(
                "steered as before", paused=self.paused, exclusions=len(self.exclusions),
                delays=len(self.delays),
            )  # fmt: skip

    def hear(self, value: bytes | None) -> Steering | None:
        """Absorb a record and return it; None where it can't be read, which is said in the log."""
        try:
            told = read_steering(value or b"")
        except RecordError as error:
            log.warning("skipped what can't be read", reason=str(error))
            return None
        self._records[control_key(told)] = told
        if self._telling:
            _tell(told)
        return told

    def heard(self, told: Steering) -> bool:
        """Return whether a record was heard, or a newer one that took its place."""
        known = self._records.get(control_key(told))
        return known is not None and known.time >= told.time

    @property
    def paused(self) -> bool:
        """Whether the crawl is paused."""
        return any(isinstance(each, Pausing) for each in self.in_force)

    @property
    def exclusions(self) -> list[Exclusion]:
        """What is excluded."""
        return [each for each in self.in_force if isinstance(each, Exclusion)]

    def exclusion(self, name: str) -> Exclusion | None:
        """Return what has ever been excluded under a name, None for a name that is none."""
        found = self._records.get(f"excluded:{name}")
        return found if isinstance(found, Exclusion) else None

    def excludes(self, url: str) -> Exclusion | None:
        """Return what excludes a URL, one of them where there are several; None where nothing does."""
        found = Exclusions()
        for each in self.exclusions:
            found.put(each.name, each.prefix, each.expression)
        return self.exclusion(found.of(url))

    @property
    def delays(self) -> list[Slowing]:
        """The hosts that are asked more seldom than usual."""
        return [each for each in self.in_force if isinstance(each, Slowing)]

    @property
    def in_force(self) -> list[Steering]:
        """What holds now, in the order in which it was first asked for.

        A budget is among it that was set, although a run whose settings have another one goes by that.
        """
        return [each for each in self._records.values() if _holds(each)]


def _holds(told: Steering) -> bool:
    if isinstance(told, Pausing | Exclusion):
        return told.on
    return not isinstance(told, Slowing) or told.seconds > 0


def _tell(told: Steering) -> None:
    """Log what people asked for; an expression is named, for it may have a secret in it."""
    if isinstance(told, Pausing):
        log.info("the crawl is paused" if told.on else "the crawl goes on")
    elif isinstance(told, Exclusion):
        what = "URLs are excluded" if told.on else "URLs are no longer excluded"
        log.info(what, exclusion=told.name, prefix=told.prefix)
    elif isinstance(told, Slowing):
        log.info("a host has another delay", host=told.name, seconds=told.seconds)
    elif told.setting is not None:  # a frontier tells it with the setting
        log.info("the budget is another", of=told.name, most=told.most, setting=told.setting)
