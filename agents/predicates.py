"""The predicates in force, as every worker hears of them on the `predicates` topic."""

from collections.abc import Mapping

import msgspec

from models.predicate import Predicate, parse
from streams.configuration import ConfigurationError
from streams.records import PredicateDefinition
from streams.settings import JudgeSettings

#: Reads a message of the topic `predicates`.
read_definition = msgspec.json.Decoder(PredicateDefinition).decode


def check_judges(predicates: Mapping[str, Predicate], settings: JudgeSettings) -> None:
    """Raise `ConfigurationError` for a predicate that asks for categories where no judge tells them."""
    for name, predicate in predicates.items():
        if predicate.categories and not settings.labels:
            raise ConfigurationError(
                f"predicate {name} asks for a category: give --labels TSV, which tells them"
            )


class Predicates:
    """The active predicates by name, parsed."""

    def __init__(self) -> None:
        self.definitions: dict[str, PredicateDefinition] = {}
        self.active: dict[str, Predicate] = {}

    def hear(self, key: bytes | None, value: bytes | None) -> PredicateDefinition | None:
        """Take in a definition, or a removal where ``value`` is None; return the definition."""
        if value is None:
            if key is not None:
                self.definitions.pop(key.decode(), None)
                self.active.pop(key.decode(), None)
            return None
        definition = read_definition(value)
        self.definitions[definition.name] = definition
        self.active[definition.name] = parse(definition.expression)
        return definition
