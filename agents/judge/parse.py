"""Parsing the bytes of a page: title, text, words, links with the words in and around them."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, compress, islice
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from scentline.agents.judge.decode import binary, decode, kind_of
from scentline.agents.judge.documents import DocumentError, format_of
from scentline.agents.judge.documents import read as read_document
from scentline.agents.judge.markup import HEADING, MAX_TEXT, MAX_TITLE, NAVIGATION, TEXT, Anchor, Markup, read
from scentline.agents.judge.question import Judging
from scentline.agents.judge.shells import LEAST_TEXT, is_shell
from scentline.models.page import NEEDS_SCRIPTS, Link, Page
from scentline.models.traps import says_missing
from scentline.models.url import canonical
from scentline.models.words import MAX_DIGITS, MAX_LENGTH, is_word, spaced, words

MAX_ANCHOR = 32
MAX_HEADING = 12
MAX_KIND = 60
#: Anchors read for each link that may be kept: many lead to the same page, or nowhere.
ANCHORS_PER_LINK = 10
#: Least links of a list of links, words of a main text without such lists, and words of a part of navigation
#: that counts as main text unless most are in links.
LEAST_LINKS, LEAST_WORDS, LEAST_PROSE = 3, 50, 100

_SPACE, _A, _Z = b" az"
# White-space code points; the last entry of the table stands for all code points beyond.
_WHITE = (
    *(*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)),
    *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
)
_IS_WHITE = np.zeros(_WHITE[-1] + 2, np.bool_)
_IS_WHITE[list(_WHITE)] = True

_HTML = frozenset({"text/html", "application/xhtml+xml", "application/xml", "text/xml"})
# Text for programs.
_UNREAD = frozenset({"text/css", "text/javascript", "text/ecmascript", "text/calendar", "text/vcard"})

#: The links to keep, in order; None for all.
_Wanted: TypeAlias = Mapping[str, None] | None


def parse(
    url: str,
    body: bytes,
    content_type: str | None,
    limits: Judging,
    agent: str = "",
    *,
    paths: bool = False,
    main: bool = False,
    wanted: Iterable[str] | None = None,
) -> Page:
    """Read a page of the canonical ``url``; ``content_type`` is the HTTP header.

    ``agent`` is our product token in lower case, for directives that name it. ``paths`` adds the tag paths of
    links, ``main`` the main text and the links outside navigation. With ``wanted``, canonical URLs, the links
    are these alone, those that the page lacks without words, unless its directives forbid to follow any. Never
    raises: a broken page is read as far as a browser would. Plain text has no links of its own; a body of
    another kind gives an empty page, whose ``barred`` names the kind.
    """
    chosen = None if wanted is None else dict.fromkeys(wanted)
    anchors = limits.links * ANCHORS_PER_LINK
    if form := format_of(body, content_type, limits.formats):
        try:
            markup = read_document(body, form, anchors, agent, paths=paths)
        except DocumentError as error:
            return Page(url, barred=str(error))
        return _html(url, markup, limits, chosen, main=main)
    if unread := unread_of(body, content_type):
        return Page(url, barred=f"not HTML or text: {unread}")
    text = decode(body, content_type)
    if is_plain(content_type):
        return _plain(url, text, limits, chosen, main=main)
    markup = read(text, anchors, agent, paths=paths)
    return _html(url, markup, limits, chosen, main=main, source=text)


def unread_of(body: bytes, content_type: str | None) -> str:
    """Return the kind of a body that is neither HTML nor text, else an empty string."""
    kind = kind_of(content_type)
    unread = "" if kind in _HTML else _unread(kind)
    if not unread and (data := binary(body, "utf-16" in (content_type or "").lower())):
        unread = f"{data}, served as {kind}" if kind else data
    return unread


def is_plain(content_type: str | None) -> bool:
    """Return whether a readable body is plain text, by its header; without one it is HTML."""
    kind = kind_of(content_type)
    return kind != "" and kind not in _HTML


def _unread(kind: str) -> str:
    return kind[:MAX_KIND] if kind and (kind in _UNREAD or not kind.startswith("text/")) else ""


def _plain(url: str, body: str, limits: Judging, wanted: _Wanted, *, main: bool) -> Page:
    text = _collapsed(body[:MAX_TEXT])
    reading = _Reading(text)
    found = _distinct(reading.telling(limits.words), limits.words)
    links, _ = _links(url, url, reading, (), limits, wanted)
    page = Page(url, text=text, sequence=tuple(reading.words), words=found, links=links)
    return replace(page, prose=text, main=page.sequence, leading=_urls(links)) if main else page


def _barred(markup: Markup, title: str, text: str, limits: Judging) -> tuple[str, bool]:
    """Return why a page is not judged, and whether it is a soft 404."""
    if not markup.directives.isdisjoint(("noindex", "none")):
        return "the page asks not to be indexed", False
    if limits.soft_404 and says_missing(title, text):
        return "soft 404: the page says that there is none", True
    return "", False


def _html(url: str, markup: Markup, limits: Judging, wanted: _Wanted, *, main: bool, source: str = "") -> Page:
    """Return a page by its content; one that has hardly any, by its HTML ``source``, may need scripts."""
    title = " ".join(markup.title.split())[:MAX_TITLE]
    text = "".join(markup.parts)[:MAX_TEXT]
    base = (canonical(markup.base, url) if markup.base else None) or url
    follow = markup.directives.isdisjoint(("nofollow", "none"))
    collapsed = _collapsed(text)
    barred, missing = _barred(markup, title, collapsed, limits)
    reading = _Reading(text, markup.weights, markup.headings, markup.anchors if follow else ())
    shell = bool(source) and not barred and reading.below(LEAST_TEXT) and is_shell(source, markup)
    anchors = markup.anchors if follow else []
    links, firsts = _links(url, base, reading, anchors, limits, wanted if follow else None)
    found = reading.main(text, anchors) if main else _Main()
    return Page(
        url,
        title=title,
        text=collapsed,
        sequence=tuple(reading.words),
        words=_distinct(chain(words(title), reading.telling(limits.words)), limits.words),
        links=links,
        paths=tuple(anchor.path for anchor in firsts if anchor.path),
        prose=found.prose,
        main=found.words,
        leading=_leading(found.hrefs, base, links) if wanted is None else _urls(links),
        headings=tuple(_line(text[start:end]) for start, end in markup.headings if main),
        anchors=tuple(_line(text[at.start : at.end]) or _line(" ".join(at.alt)) for at in firsts if main),
        canonical=canonical(markup.canonical, base) if markup.canonical else None,
        indexable=markup.directives.isdisjoint(("noindex", "none")),
        follow=follow,
        barred=NEEDS_SCRIPTS if shell else barred,
        missing=missing,
        scripts=shell,
    )


class _Main(NamedTuple):
    """The main text, its words, and the targets of its links, as written."""

    prose: str = ""
    words: tuple[str, ...] = ()
    hrefs: Set[str] = frozenset()


class _Reading:
    """The words of a text in reading order, and the place of each anchor among them.

    ``weights`` and ``headings`` are those of `agents.judge.markup.Markup`.
    """

    def __init__(
        self,
        text: str,
        weights: Sequence[tuple[int, int]] = ((0, TEXT),),
        headings: Sequence[Sequence[int]] = (),
        anchors: Iterable[Anchor] = (),
    ) -> None:
        places = {offset for anchor in anchors for offset in (anchor.start, anchor.end)}
        places.update(offset for offset, _ in weights)
        places.update(chain.from_iterable(headings))
        ordered = sorted(places)
        self.words, before = cut(text, ordered)
        self._index = dict(zip(ordered, before, strict=True))
        self._weights = weights
        self._headings = [
            tuple(self.words[self._index[start] : self._index[end]][:MAX_HEADING]) for start, end in headings
        ]

    def telling(self, most: int) -> list[str]:
        """Return the distinct words of the main text, by descending count: at least ``most``, if it has them.

        Among equal counts, words of headings come first, then reading order decides. Where all of the text is
        navigation, it is the main text.
        """
        text: list[str] = []
        headings: list[str] = []
        for weight, start, end in self._spans():
            if weight != NAVIGATION:
                part = text if weight == TEXT else headings
                part += self.words[start:end]
        counts = Counter(headings)
        for word in counts:
            counts[word] *= HEADING
        counts.update(text if text or headings else self.words)
        found = [word for word, count in counts.items() if count > 1]
        found.sort(key=counts.__getitem__, reverse=True)
        if len(found) < most:
            found += islice((word for word, count in counts.items() if count == 1), most - len(found))
        return found

    def below(self, number: int) -> bool:
        """Return whether there are fewer words than that outside navigation."""
        return sum(end - start for weight, start, end in self._spans() if weight != NAVIGATION) < number

    def main(self, text: str, anchors: Sequence[Anchor]) -> _Main:
        """Return the main part of a text.

        Long navigation with few links counts as main text: its name misleads. Lists of links (links with only
        white space between) are left out of the words, unless little is left then: lists such as the most read
        pages change while the page does not, and text that is all link text is boilerplate (Kohlschütter et
        al., WSDM 2010). Where all of the text is navigation, it is the main text.
        """
        spans = list(self._spans())
        linked = bytearray(len(self.words))
        if any(weight == NAVIGATION and end - start >= LEAST_PROSE for weight, start, end in spans):
            for start, end in map(self.span, anchors):
                linked[start:end] = b"\1" * (end - start)
        shown, parts = bytearray(len(self.words)), []
        for weight, start, end in spans:
            size = end - start
            main = weight != NAVIGATION or (size >= LEAST_PROSE and 2 * sum(linked[start:end]) < size)
            shown[start:end] = bytes([main]) * size
            parts.append(main)
        if not any(shown):
            return _Main(text, tuple(self.words), {anchor.href for anchor in anchors})
        starts = [offset for offset, _ in self._weights]
        hrefs = {each.href for each in anchors if parts[bisect_right(starts, each.start) - 1]}
        rest = bytearray(shown)
        for first, last in _lists(text, anchors):
            start, end = self._index[first.start], self._index[last.end]
            rest[start:end] = bytes(end - start)
        words = tuple(compress(self.words, rest if sum(rest) >= LEAST_WORDS else shown))
        pieces = zip(parts, self._weights, starts, [*starts[1:], len(text)], strict=True)
        prose = (text[start:end] for main, (_, weight), start, end in pieces if main and weight != HEADING)
        return _Main(" ".join(prose), words, hrefs)

    def _spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield the weight, the start and the end of each run of words of one weight."""
        starts = [self._index[offset] for offset, _ in self._weights]
        for (_, weight), start, end in zip(self._weights, starts, [*starts[1:], len(self.words)], strict=True):
            yield weight, start, end

    def above(self, anchor: Anchor) -> tuple[str, ...]:
        """Return the first words of the heading that an anchor is under, or in."""
        return self._headings[anchor.heading - 1] if anchor.heading else ()

    def span(self, anchor: Anchor) -> tuple[int, int]:
        """Return the start and the end of an anchor's words.

        A word that continues behind a link, <a>link</a>s, belongs to the link as a whole.
        """
        return self._index[anchor.start], self._index[anchor.end]


def cut(text: str, offsets: Sequence[int] = ()) -> tuple[list[str], list[int]]:
    """Return the words of a text, and how many of them begin before each of the ascending ``offsets``.

    >>> cut("A broken link", [2, 5])
    (['broken', 'link'], [0, 1])
    """
    line, places = spaced(text, offsets)
    signs = _signs(line)
    space = signs == _SPACE
    edges = np.flatnonzero(space[1:] != space[:-1])
    starts, runs = edges[::2], line.split()
    sizes = edges[1::2] - starts
    first = signs[starts + 1]
    # Size and first letter decide for all but a few whether they are words (`is_word`).
    a_to_z = (first >= _A) & (first <= _Z)
    kept = (sizes > 1) | ~a_to_z
    doubtful = (sizes > MAX_DIGITS) & ((sizes > MAX_LENGTH) | ~a_to_z)
    kept[[place for place in np.flatnonzero(doubtful).tolist() if not is_word(runs[place])]] = False
    return list(compress(runs, kept.tobytes())), np.searchsorted(starts[kept], np.array(places) - 1).tolist()


def _signs(text: str) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint32]:
    """Return the code points of a text."""
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _links(
    url: str, base: str, reading: _Reading, anchors: Iterable[Anchor], limits: Judging, wanted: _Wanted
) -> tuple[tuple[Link, ...], list[Anchor]]:
    """Return a link for each target in the order of first occurrence, and the first anchors of these.

    Later anchors add words to their target's link. Targets that are ``wanted`` and have no anchor come last.
    Anchors behind the last used target are ignored: canonical URLs take time.
    """
    targets: dict[str, str | None] = {}
    found: dict[str, tuple[list[str], tuple[str, ...], tuple[str, ...]]] = {}
    firsts: list[Anchor] = []
    for anchor in anchors:
        href = anchor.href
        if href not in targets:
            targets[href] = canonical(href, base)
        target = targets[href]
        if target is None or target == url or (wanted is not None and target not in wanted):
            continue
        start, end = reading.span(anchor)
        inside = reading.words[start : min(end, start + MAX_ANCHOR)]
        if anchor.alt:
            inside += words(" ".join(anchor.alt))
        if target in found:
            known = found[target][0]
            known += [word for word in dict.fromkeys(inside) if word not in known][: MAX_ANCHOR - len(known)]
        else:
            around = reading.words[max(0, start - limits.context) : start]
            around += reading.words[end : end + limits.context]
            found[target] = inside[:MAX_ANCHOR], tuple(around), reading.above(anchor)
            firsts.append(anchor)
            if len(found) >= limits.links:
                break
    for target in wanted or ():
        if target != url and len(found) < limits.links:
            found.setdefault(target, ([], (), ()))
    links = tuple(
        Link(target, tuple(inside), around, position, above)
        for position, (target, (inside, around, above)) in enumerate(found.items())
    )
    return links, firsts


def _line(text: str) -> str:
    return " ".join(text.split())


def _urls(links: Iterable[Link]) -> tuple[str, ...]:
    return tuple(link.url for link in links)


def _leading(hrefs: Iterable[str], base: str, links: Iterable[Link]) -> tuple[str, ...]:
    """Return the targets of those links that one of ``hrefs`` leads to."""
    found = {canonical(href, base) for href in hrefs}
    return tuple(link.url for link in links if link.url in found)


def _lists(text: str, anchors: Iterable[Anchor]) -> Iterator[tuple[Anchor, Anchor]]:
    """Yield the first and the last link of each list of links."""
    run: list[Anchor] = []
    for anchor in anchors:
        if run and (anchor.start < run[-1].end or text[run[-1].end : anchor.start].strip()):
            if len(run) >= LEAST_LINKS:
                yield run[0], run[-1]
            run = []
        run.append(anchor)
    if len(run) >= LEAST_LINKS:
        yield run[0], run[-1]


def _collapsed(text: str) -> str:
    """Return a text with single spaces between its words, in half the time of ``str.split``."""
    signs = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)
    white = _IS_WHITE.take(signs, mode="clip")
    kept = ~white
    kept[1:] |= ~white[:-1]
    found = np.where(white, np.uint16(_SPACE), signs)[kept]
    return found.tobytes().decode("utf-16-le", "surrogatepass").strip()


def _distinct(sequence: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return the first ``limit`` distinct words; reads no further."""
    found: dict[str, None] = {}
    for word in sequence:
        found[word] = None
        if len(found) >= limit:
            break
    return tuple(found)
