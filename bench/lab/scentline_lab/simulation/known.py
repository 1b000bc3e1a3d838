"""What the learned policy in memory keeps of one URL."""

from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

from scentline.models.learner.candidate import prefixes, url_words
from scentline.models.learner.combiner import Vector
from scentline.models.learner.lessons import IN_LINKS, LinkWords
from scentline.models.learner.linking import LinkingPage
from scentline.models.learner.semantic import Sense
from scentline.models.learner.words import Vocabulary
from scentline.models.url import host, identifier
from scentline.models.verdict import Verdict


class InLink(NamedTuple):
    """A link to a page: its rank among those (`models.interest.factors`), where it is, and its words."""

    rank: int
    source: LinkingPage
    place: int
    position: int
    words: LinkWords


@dataclass(slots=True, eq=False)
class KnownUrl:
    """A URL; ``found`` is its number in the order of discovery."""

    url: str
    found: int
    vocabulary: InitVar[Vocabulary]
    host: str = field(init=False)
    id: bytes = field(init=False)
    numbers: Any = field(init=False)
    prefixes: Any = field(init=False)
    links: list[InLink] = field(default_factory=list)
    parents: int = 0
    positive: int = 0
    #: In links from a seed, once the first of them is known; whether its own host has one.
    depth: int | None = None
    native: bool = False
    covisits: int = 0
    covisit_hits: int = 0
    near: int = 0
    near_hits: int = 0
    inputs: Vector | None = None
    chance: float | None = None
    failing: Vector | None = None
    #: What came of the request: the verdict, and whether it failed.
    answer: Verdict | None = None
    sense: Sense | None = None

    def __post_init__(self, vocabulary: Vocabulary) -> None:
        self.host, self.id = host(self.url), identifier(self.url)
        self.numbers, self.prefixes = vocabulary.numbers(url_words(self.url)), prefixes(self.url)

    @property
    def in_links(self) -> list[InLink]:
        """The in-links whose words count."""
        return self.links[:IN_LINKS]
