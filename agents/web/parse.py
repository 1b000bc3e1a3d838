"""From the bytes of a page to a Page: title, text, words, links with the words in and around them."""

from collections.abc import Iterable
from itertools import islice

from agents.web.decode import decode
from agents.web.markup import MAX_TEXT, MAX_TITLE, Anchor, read
from models.page import Link, Page
from models.url import canonical
from models.words import word_end, words
from streams.settings import JudgeSettings

MAX_ANCHOR = 32
#: Anchors read for each link that may be kept: many lead to the same page, or nowhere.
ANCHORS_PER_LINK = 10

_HTML = frozenset({"", "text/html", "application/xhtml+xml", "application/xml", "text/xml"})
_UNKNOWN = frozenset({"", "application/octet-stream", "application/x-unknown"})
_SNIFFED = 512


def parse(url: str, body: bytes, content_type: str | None, limits: JudgeSettings) -> Page:
    """Read a page of the canonical ``url``; ``content_type`` is the HTTP header.

    Never raises: of what is broken, as much is read as a browser would. Plain text has no links; what is
    neither text nor HTML gives an empty page.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind in _UNKNOWN:
        if b"\0" in body[:_SNIFFED] and body[:2] not in (b"\xff\xfe", b"\xfe\xff"):
            return Page(url)
        kind = ""
    if kind in _HTML:
        return _html(url, decode(body, content_type), limits)
    if kind.startswith("text/"):
        text = _collapsed(decode(body, content_type)[:MAX_TEXT])
        return Page(url, text=text, words=_distinct(words(text), limits.words))
    return Page(url)


def _html(url: str, html: str, limits: JudgeSettings) -> Page:
    markup = read(html, limits.links * ANCHORS_PER_LINK)
    title = _collapsed(markup.title)[:MAX_TITLE]
    text = "".join(markup.parts)[:MAX_TEXT]
    base = (canonical(markup.base, url) if markup.base else None) or url
    follow = markup.directives.isdisjoint(("nofollow", "none"))
    reading = _Reading(text, markup.anchors if follow else ())
    return Page(
        url,
        title=title,
        text=_collapsed(text),
        words=_distinct([*words(title), *reading.words], limits.words),
        links=_links(url, base, reading, markup.anchors, limits) if follow else (),
        canonical=canonical(markup.canonical, base) if markup.canonical else None,
        indexable=markup.directives.isdisjoint(("noindex", "none")),
        follow=follow,
    )


class _Reading:
    """The words of a text in reading order, and where among them each anchor stands."""

    def __init__(self, text: str, anchors: Iterable[Anchor]) -> None:
        self.words: list[str] = []
        self._index: dict[int, int] = {}
        places = {offset for anchor in anchors for offset in (anchor.start, anchor.end)}
        done = 0
        for offset in sorted(places):
            if offset > done:
                # Where a word goes on behind a link, <a>link</a>s, it belongs to the link as a whole.
                end = word_end(text, offset)
                self.words += words(text[done:end])
                done = end
            self._index[offset] = len(self.words)
        self.words += words(text[done:])

    def span(self, anchor: Anchor) -> tuple[int, int]:
        """Return where the anchor's words begin and end."""
        return self._index[anchor.start], self._index[anchor.end]


def _links(
    url: str, base: str, reading: _Reading, anchors: Iterable[Anchor], limits: JudgeSettings
) -> tuple[Link, ...]:
    """Return a link for each target in the order of first occurrence; later anchors add their words."""
    targets: dict[str, str | None] = {}
    found: dict[str, tuple[list[str], tuple[str, ...]]] = {}
    for anchor in anchors:
        href = anchor.href
        if href not in targets:
            targets[href] = canonical(href, base)
        target = targets[href]
        if target is None or target == url:
            continue
        start, end = reading.span(anchor)
        inside = reading.words[start : min(end, start + MAX_ANCHOR)]
        if anchor.alt:
            inside += words(" ".join(anchor.alt))
        if target in found:
            known = found[target][0]
            known += [word for word in dict.fromkeys(inside) if word not in known][: MAX_ANCHOR - len(known)]
        elif len(found) < limits.links:
            around = reading.words[max(0, start - limits.context) : start]
            around += reading.words[end : end + limits.context]
            found[target] = inside[:MAX_ANCHOR], tuple(around)
    return tuple(
        Link(target, tuple(inside), around, position)
        for position, (target, (inside, around)) in enumerate(found.items())
    )


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _distinct(sequence: Iterable[str], limit: int) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(sequence), limit))
