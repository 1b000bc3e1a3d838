"""The sites of a synthetic web: host names, sections and their topics, encodings."""

import random
from dataclasses import dataclass

from agents.offline.synthetic.vocabulary import Topic

SECTIONS = 4

_NAMES = (
    "northgate", "blueharbour", "quillworks", "oldmill", "lanternpost", "stonebridge", "foxglove",
    "tidewater", "highfield", "amberline", "copperleaf", "windrose", "ironwood", "marlowe", "silverbirch",
    "papermoon",
)  # fmt: skip
_NEUTRAL_SECTIONS = ("articles", "stories", "library", "notes", "features", "corner")


@dataclass(frozen=True, slots=True)
class Site:
    """A host: ``sections`` are its path names and topics; ``encoding`` is what its pages are written in.

    ``declared`` says whether the Content-Type header names the encoding; the page itself always does.
    """

    host: str
    sections: tuple[tuple[str, Topic], ...]
    encoding: str
    declared: bool
    robots: bool


def make_sites(rng: random.Random, count: int, topics: tuple[Topic, ...]) -> list[Site]:
    """Return sites of four sections each; every topic has about as many sections as another."""
    names = rng.sample(_NAMES, len(_NAMES))
    dealt: list[Topic] = []
    sites = []
    for number in range(count):
        while len(dealt) < SECTIONS:
            dealt += rng.sample(topics, len(topics))
        chosen, dealt = dealt[:SECTIONS], dealt[SECTIONS:]
        name = names[number % len(names)] + (str(number // len(names)) if number >= len(names) else "")
        encoding, declared = {1: ("iso-8859-1", True), 2: ("windows-1252", False)}.get(
            number % 6, ("utf-8", True)
        )
        sites.append(
            Site(
                host=f"{name}.{'test' if number % 3 == 2 else 'example'}",
                sections=_named(rng, chosen),
                encoding=encoding,
                declared=declared,
                robots=number % 4 != 3,
            )
        )
    return sites


def _named(rng: random.Random, topics: list[Topic]) -> tuple[tuple[str, Topic], ...]:
    """Name each section: after its topic, or with a word that tells nothing."""
    names: list[str] = []
    for topic in topics:
        told = topic.name.lower()
        neutral = [name for name in _NEUTRAL_SECTIONS if name not in names]
        names.append(told if told not in names and rng.random() < 0.5 else rng.choice(neutral))
    return tuple(zip(names, topics, strict=True))
