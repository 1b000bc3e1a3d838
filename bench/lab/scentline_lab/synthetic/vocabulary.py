"""The words of the synthetic web, from ``vocabulary.toml``: topics with sub-topics, and words of every page."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Subtopic:
    """A part of a topic; ``words[0]``, its keyword, stands on each of its pages."""

    name: str
    words: tuple[str, ...]

    @property
    def keyword(self) -> str:
        return self.words[0]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its name as categories write it, its words from frequent to rare, and its sub-topics."""

    name: str
    words: tuple[str, ...]
    subtopics: tuple[Subtopic, ...]


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TOPICS: tuple[Topic, ...] = tuple(
    Topic(
        topic["name"],
        tuple(topic["words"].split()),
        tuple(Subtopic(name, tuple(words.split())) for name, words in topic["subtopics"].items()),
    )
    for topic in _FILE["topics"]
)
COMMON: tuple[str, ...] = tuple(_FILE["common"].split())
