"""What a predicate sees of a page."""

from dataclasses import dataclass
from functools import cached_property

from models.url import host
from models.words import words

# Stands between title and text, so that no phrase reaches from one into the other; never a word itself.
_BREAK = "|"


@dataclass(frozen=True)
class View:
    """A page as predicates see it.

    ``url`` is canonical; ``categories`` holds what the judges of categories say of the page, already expanded
    (``A.B`` brings ``A``), ``language`` is the ISO 639 code that the judge of languages gives it. ``sequence``
    are the words of the text, where they are known; else they are cut when a predicate first asks for them.
    """

    url: str
    title: str = ""
    text: str = ""
    categories: frozenset[str] = frozenset()
    language: str | None = None
    sequence: tuple[str, ...] = ()

    @cached_property
    def title_words(self) -> str:
        """The words of the title, each with a space before and after it."""
        return _spaced(words(self.title))

    @cached_property
    def words(self) -> frozenset[str]:
        """The distinct words of title and text."""
        return frozenset(self._in_order)

    @cached_property
    def word_line(self) -> str:
        """The words of title and text in order, each with a space before and after it."""
        return _spaced(self._in_order)

    @cached_property
    def host(self) -> str:
        """Host of the URL, with its port where it is not the scheme's own."""
        return host(self.url)

    @cached_property
    def host_name(self) -> str:
        """Host of the URL without its port."""
        name, colon, port = self.host.rpartition(":")
        return name if colon and port.isdigit() else self.host

    @cached_property
    def _in_order(self) -> list[str]:
        return [*words(self.title), _BREAK, *(self.sequence or words(self.text))]


def _spaced(sequence: list[str]) -> str:
    return f" {' '.join(sequence)} "
