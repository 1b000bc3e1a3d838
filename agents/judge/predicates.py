"""The predicates in force, from the topic `control`."""

import math
from collections.abc import Mapping

from scentline.models.errors import EventLog
from scentline.models.predicate import EVERY_PAGE, EVERY_URL, Predicate, PredicateError, parse
from scentline.models.published import ACTIVE, PAUSED, REMOVED, PredicateDefinition
from scentline.models.records import JsonDecoder, RecordError
from scentline.models.settings import FrontierSettings, JudgeSettings
from scentline.models.words import words
from scentline.streams.settings import ConfigurationError, Settings

log = EventLog("predicates")

_decode = JsonDecoder[PredicateDefinition](PredicateDefinition)


def read_definition(value: bytes) -> PredicateDefinition:
    """Read a message of the topic `control`; raises `RecordError` unless it is a definition."""
    definition = _decode(value)
    if definition.state not in (ACTIVE, PAUSED, REMOVED):
        raise RecordError(f"the state is {definition.state!r}, expected {ACTIVE}, {PAUSED} or {REMOVED}")
    if not 0 < definition.share < math.inf:
        raise RecordError(f"the share is {definition.share}, expected a positive number")
    return definition


def check_judges(predicates: Mapping[str, Predicate], settings: JudgeSettings) -> None:
    """Raise `ConfigurationError` if a predicate needs categories and no judge of them is set."""
    for name, predicate in predicates.items():
        if predicate.categories and not (settings.labels or settings.classifier or settings.python):
            raise ConfigurationError(
                f"predicate {name} needs a judge of categories: give --labels TSV, or set judge.classifier or "
                "judge.python"
            )


def check_query(settings: FrontierSettings, predicates: Mapping[str, Predicate]) -> None:
    """Raise `ConfigurationError` for a crawl ordered by similarity that has no words to compare with."""
    if settings.ordering != "similarity" or words(settings.query):
        return
    if not any(predicate.topic for predicate in predicates.values()):
        raise ConfigurationError(
            f"frontier.query: {settings.query!r} has no words, and neither do the predicates; "
            "expected words for the ordering similarity"
        )


def with_every_page(settings: Settings) -> Settings:
    """Return the settings; a crawl with only an ordering gets a predicate that every page satisfies.

    An ordering needs none to choose by, but pages are judged, counted and kept by a predicate.
    """
    if settings.predicates or settings.frontier.ordering == "predicates":
        return settings
    return settings.model_copy(update={"predicates": {EVERY_PAGE: EVERY_URL}})


class Predicates:
    """The predicates by name: all ``definitions``, and those that are ``active``, parsed.

    A paused predicate judges as before and gets no turns; a removed one judges no more pages, but keeps its
    name and its counts.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, PredicateDefinition] = {}
        self.active: dict[str, Predicate] = {}
        #: The expressions of those in `active`, by name.
        self.expressions: dict[str, str] = {}

    def hear(self, value: bytes | None) -> PredicateDefinition | None:
        """Apply a definition and return it; log one that can't be read, and return None."""
        try:
            definition = read_definition(value or b"")
            predicate = parse(definition.expression)
        except (PredicateError, RecordError) as error:
            log.warning("skipped a definition that can't be read", reason=str(error))
            return None
        self.definitions[definition.name] = definition
        self.active.pop(definition.name, None)
        if definition.state != REMOVED:
            self.active[definition.name] = predicate
        self.expressions = {name: self.definitions[name].expression for name in self.active}
        return definition
