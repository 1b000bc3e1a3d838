"""Reading HTML as a stream of events: its visible text, title, links and directives.

A `meta refresh` is a link: the page itself may have words, and its target is requested in its turn.

No tree is built, and what is kept is bounded for any page. At an unmatched end tag libxml2 searches all open
elements, and it reads on after an error of its target. So it gets a page in pieces, and no further piece once
enough is read.
"""

import io
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from lxml import etree

MAX_ELEMENTS = 200_000
MAX_TEXT = 1_000_000
MAX_TITLE = 1_000
MAX_ALT = 300
#: The last characters kept of a link's tag path; the first of an element's classes or identifier in it.
MAX_PATH = 160
_MAX_LABEL = 40
#: Classes in an element's label, the first in alphabetical order.
_CLASSES = 3
#: Open elements, summed over a page's pieces, beyond which no further piece is read: 5 MB may be nested 500
#: deep from end to end, and 100 kB 20,000 deep.
MAX_OPEN = 160_000
_PIECE = 16_384

# Elements with invisible content. libxml2 passes on the last three as unparsed markup.
_HIDDEN = frozenset({"script", "style", "noscript", "template", "iframe", "noframes", "noembed"})
# Elements that do not end a word: all others do.
_INLINE = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "blink", "cite", "code", "data", "del", "dfn", "em"}
    | {"font", "i", "ins", "kbd", "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong"}
    | {"sub", "time", "tt", "u", "var", "wbr"}
)

# Elements and roles that are beside a page's main text, or are it (HTML standard, 4.3; WAI-ARIA 1.2, 5.3.4).
_SECTIONS = dict.fromkeys(("nav", "aside", "footer", "header"), True) | {"main": False, "article": False}
_ROLES = dict.fromkeys(("navigation", "complementary", "contentinfo", "banner", "search"), True)
_ROLES["main"] = False
# Elements whose class or identifier may say that they are navigation, and the words that say so.
_NAMED = frozenset({"div", "ul", "ol", "table", "p", "td", "span", "form", "section", "dl"})
_NAVIGATION = re.compile(
    r"(?:^|[-_ ])(?:nav|navigation|navbar|navheader|navfooter|menu|menubar|sidebar|sphinxsidebar|side|toc"
    r"|localtoc|contents|breadcrumbs?|crumbs|footer|header|bodyhead|related|rellinks|pager|toolbar|search|topsrch"
    r"|banner|skip|apidoc|quickview|langs|top|bottom)(?:[-_ 0-9]|$)",
    re.IGNORECASE,
)
_MAX_NAME = 200
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Elements whose identifier names a part of a page, unless it has a digit; and those around all others.
_PARTS = frozenset({"div", "nav", "section", "table", "ul"})
_ROOTS = frozenset({"html", "body"})
_DIGIT = re.compile(r"[0-9]")
_WEIGHING = _HEADINGS | _NAMED | _SECTIONS.keys()
#: Weights of a word in navigation, in the main text and in a heading of it.
NAVIGATION, TEXT, HEADING = 0, 1, 6

Attributes = Mapping[str, str]

# The HTML standard's shared declarative refresh steps (4.2.5.3): seconds, then perhaps "url=" and quotes.
_REFRESH = re.compile(r"\s*[0-9.]{1,20}\s*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"']*)", re.IGNORECASE)


@dataclass(slots=True)
class Anchor:
    """A link as written, from character ``start`` to ``end`` of the text.

    ``heading`` counts the headings before it, ``path`` is its tag path (`models.page.Page`) if requested,
    ``alt`` holds the alternative texts of its images.
    """

    href: str
    start: int
    end: int
    heading: int = 0
    path: str = ""
    alt: list[str] = field(default_factory=list)


class Markup:
    """The content of a page's HTML; a target of lxml's parser, which calls start, data, end and close.

    ``parts`` joined are the visible text, with line breaks at elements that are not inline. ``weights`` are the
    words' weights there, each from its offset on, ``headings`` the start and end of each heading. Links marked
    ``nofollow`` are left out. ``links`` bounds the anchors kept; directives may name ``agent``, beside
    ``robots``.
    """

    def __init__(self, links: int, agent: str) -> None:
        self.parts: list[str] = []
        self.anchors: list[Anchor] = []
        self.weights = [(0, TEXT)]
        self.headings: list[list[int]] = []
        self.title = ""
        self.base: str | None = None
        self.canonical: str | None = None
        self.directives: set[str] = set()
        self._links = links
        self._names = frozenset({"robots", agent}) - {""}
        self._size = 0
        self._weights = [TEXT]  # of all open elements
        self._elements = 0
        self._hidden = 0
        self._titles = 0
        self._in_title = False
        self._open: Anchor | None = None
        self._starts: dict[str, Callable[[Attributes], None]] = {
            "a": self._a,
            "area": self._area,
            "frame": self._frame,
            "iframe": self._frame,
            "img": self._img,
            "title": self._title,
            "base": self._base,
            "link": self._link,
            "meta": self._meta,
        }

    def start(self, tag: str, attributes: Attributes) -> None:
        """Handle the start of an element."""
        self._elements += 1
        weight = around = self._weights[-1]
        if tag in _WEIGHING or "role" in attributes:
            weight = _weight(tag, attributes, around)
            if weight != around:
                self.weights.append((self._size, weight))
            if tag in _HEADINGS and not self._hidden:
                self.headings.append([self._size, self._size])
        self._weights.append(weight)
        if not self._hidden:
            if tag not in _INLINE:
                self.parts.append("\n")
                self._size += 1
            special = self._starts.get(tag)
            if special is not None:
                special(attributes)
        if tag in _HIDDEN:
            self._hidden += 1

    def end(self, tag: str) -> None:
        """Handle the end of an element, which the page may leave out."""
        weight = self._weights.pop()
        if weight != self._weights[-1]:
            self.weights.append((self._size, self._weights[-1]))
        if tag in _HIDDEN:
            self._hidden -= 1
        elif self._hidden:
            return
        elif tag == "a":
            self._close_link()
        elif tag not in _INLINE:
            self._in_title = False
            if tag in _HEADINGS:
                self.headings[-1][1] = self._size
            self.parts.append("\n")
            self._size += 1

    def data(self, text: str) -> None:
        """Handle a piece of text."""
        if self._hidden:
            return
        if not self._in_title:
            self.parts.append(text)
            self._size += len(text)
        elif self._titles == 1 and len(self.title) < MAX_TITLE:
            self.title += text[:MAX_TITLE]

    def close(self) -> None:
        """Handle the end of the page."""
        self._close_link()

    @property
    def depth(self) -> int:
        """The number of open elements."""
        return len(self._weights) - 1

    @property
    def full(self) -> bool:
        """Whether enough of the page is read."""
        return self._elements > MAX_ELEMENTS or self._size > MAX_TEXT

    def _close_link(self) -> None:
        if self._open is not None:
            self._open.end = self._size
            self._open = None

    def _target(self, href: str | None, attributes: Attributes) -> Anchor | None:
        """Add a link that begins, and for now ends, here; return None for an unusable one."""
        if href is None or len(self.anchors) >= self._links:
            return None
        if "nofollow" in attributes.get("rel", "").lower().split():
            return None
        anchor = Anchor(href, self._size, self._size, len(self.headings), self._path())
        self.anchors.append(anchor)
        return anchor

    def _path(self) -> str:
        """Return the tag path of the innermost open element, empty where none is requested."""
        return ""

    def _a(self, attributes: Attributes) -> None:
        self._close_link()
        if self.anchors and self.anchors[-1].end == self._size:
            self.parts.append(" ")  # links side by side are not one word
            self._size += 1
        self._open = self._target(attributes.get("href"), attributes)

    def _area(self, attributes: Attributes) -> None:
        anchor = self._target(attributes.get("href"), attributes)
        if anchor is not None:
            anchor.alt.append(attributes.get("alt", "")[:MAX_ALT])

    def _frame(self, attributes: Attributes) -> None:
        self._target(attributes.get("src"), attributes)

    def _img(self, attributes: Attributes) -> None:
        if self._open is not None and len(self._open.alt) < MAX_ALT:
            self._open.alt.append(attributes.get("alt", "")[:MAX_ALT])

    def _title(self, attributes: Attributes) -> None:
        self._titles += 1
        self._in_title = True

    def _base(self, attributes: Attributes) -> None:
        if self.base is None:
            self.base = attributes.get("href")

    def _link(self, attributes: Attributes) -> None:
        if self.canonical is None and "canonical" in attributes.get("rel", "").lower().split():
            self.canonical = attributes.get("href")

    def _meta(self, attributes: Attributes) -> None:
        if attributes.get("name", "").strip().lower() in self._names:
            self.directives.update(attributes.get("content", "")[:1000].lower().replace(",", " ").split())
        elif attributes.get("http-equiv", "").strip().lower() == "refresh":
            found = _REFRESH.match(attributes.get("content", ""))
            if found is not None and found[1].strip():
                self._target(found[1], attributes)


class TracedMarkup(Markup):
    """Markup with the tag path of each link, which takes a fifth longer."""

    def __init__(self, links: int, agent: str) -> None:
        super().__init__(links, agent)
        self._within: list[tuple[str, Attributes]] = []
        self._paths: list[str] = []  # of the outermost of them: as many as links needed

    def start(self, tag: str, attributes: Attributes) -> None:
        """Handle the start of an element."""
        self._within.append((tag, attributes))
        super().start(tag, attributes)

    def end(self, tag: str) -> None:
        """Handle the end of an element, which the page may leave out."""
        super().end(tag)
        self._within.pop()
        del self._paths[len(self._within) :]

    def _path(self) -> str:
        path = self._paths[-1] if self._paths else ""
        for tag, attributes in self._within[len(self._paths) :]:
            path = _longer(path, tag, attributes)
            self._paths.append(path)
        return path


def _weight(tag: str, attributes: Attributes, around: int) -> int:
    """Return the weight of words in an element, ``around`` where the element sets none."""
    if tag in _HEADINGS:
        return HEADING if around else NAVIGATION
    aside = _ROLES.get(attributes.get("role", "").lower()) if "role" in attributes else None
    if aside is None and tag in _NAMED and attributes:
        name = f"{attributes.get('class', '')[:_MAX_NAME]} {attributes.get('id', '')[:_MAX_NAME]}"
        aside = _navigates(name) or None
    if aside is None:
        aside = _SECTIONS.get(tag)
    return around if aside is None else NAVIGATION if aside else TEXT


@lru_cache(1000)
def _navigates(name: str) -> bool:
    return _NAVIGATION.search(name) is not None


def _longer(path: str, tag: str, attributes: Attributes) -> str:
    """Return ``path`` extended by an element, without its first elements where it is too long."""
    if tag in _ROOTS:
        return path
    found = f"{path} {_label(tag, attributes)}" if path else _label(tag, attributes)
    return found if len(found) <= MAX_PATH else found[found.index(" ", len(found) - MAX_PATH - 1) + 1 :]


def _label(tag: str, attributes: Attributes) -> str:
    """Return a tag with its first classes and its identifier, shortened."""
    label = tag[:_MAX_LABEL]
    if not attributes:
        return label
    if classes := attributes.get("class"):
        label += "." + ".".join(sorted(classes[:_MAX_NAME].split())[:_CLASSES])[:_MAX_LABEL]
    if tag in _PARTS and (name := attributes.get("id", "")[:_MAX_LABEL].split()) and not _DIGIT.search(name[0]):
        label += "#" + name[0]
    return label


class Target(Protocol):
    """What lxml's parser calls, and when it has read enough."""

    @property
    def depth(self) -> int:
        """The number of open elements."""

    @property
    def full(self) -> bool:
        """Whether enough of the page is read."""

    def close(self) -> None:
        """Handle the end of the page."""


class _Pieces:
    """A page's HTML as a file for the parser, which ends as soon as its ``target`` holds enough."""

    def __init__(self, html: str, target: Target) -> None:
        self._file = io.BytesIO(html.encode("utf-8", "replace"))
        self._target = target
        self._open = 0

    def read(self, _size: int = -1) -> bytes:
        """Return the next piece, empty at the end."""
        self._open += self._target.depth
        if self._target.full or self._open > MAX_OPEN:
            return b""
        return self._file.read(_PIECE)


def read(html: str, links: int, agent: str, *, paths: bool = False) -> Markup:
    """Return the content of the HTML, with at most ``links`` anchors; reads little beyond the limits.

    ``agent`` is our product token in lower case. With ``paths``, anchors have their tag paths.
    """
    markup = TracedMarkup(links, agent) if paths else Markup(links, agent)
    feed(html, markup)
    return markup


def feed(html: str, target: Target) -> None:
    """Have a target read the HTML, little beyond its limits."""
    given: Any = target  # the stubs require a target of bytes and of comments, lxml does not
    parser = etree.HTMLParser(target=given, encoding="utf-8", recover=True, no_network=True, huge_tree=False)
    pieces: Any = _Pieces(html, target)
    with suppress(etree.LxmlError):
        etree.parse(pieces, parser)
    target.close()
