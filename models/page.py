"""A page as the crawler reads it, and the verdict on it."""

from typing import Final, Literal, TypeAlias

import msgspec

from scentline.models.url import Url


class Link(msgspec.Struct, frozen=True, array_like=True):
    """One link of a page.

    ``url`` is canonical and absolute; ``anchor`` holds the words inside the link, ``context`` the words around
    it and ``heading`` those of the heading above it, in order and folded; ``position`` counts the page's links
    from 0.
    """

    url: Url
    anchor: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    position: int = 0
    heading: tuple[str, ...] = ()


class Page(msgspec.Struct, frozen=True):
    """A parsed page.

    ``url`` is the canonical URL the body came from; ``text`` is the visible text in reading order (title not
    included), and ``sequence`` all of its words. ``words`` are its distinct words, bounded: those of the title,
    then those of the main text, outside navigation, the most frequent first; in a heading a word counts six
    times. ``paths`` are the tag paths of ``links``, one each if requested: the elements that a link lies in,
    from the outermost, with spaces between, each a tag with up to three classes after dots and perhaps an
    identifier after ``#``; a long path keeps its end. ``prose`` is the main text without headings, ``main``
    its words in order, except lists of nothing but links, and ``leading`` the targets of the ``links`` outside
    navigation, all if requested. ``headings`` and ``anchors`` are the texts of its headings and, unless links
    were wanted, of ``links``, likewise. ``indexable`` and ``follow`` are what the page's own robots directives
    allow. ``barred`` is why the page must not be judged, else empty; ``missing`` if that is because it is a
    soft 404, ``scripts`` because its content appears only once its scripts have run.
    """

    url: str
    title: str = ""
    text: str = ""
    sequence: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    paths: tuple[str, ...] = ()
    prose: str = ""
    main: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    canonical: str | None = None
    indexable: bool = True
    follow: bool = True
    barred: str = ""
    missing: bool = False
    scripts: bool = False

    @property
    def kind(self) -> Literal["gone", "refused", "unfit"]:
        """How it ends if it is barred (`models.facts.Kind`)."""
        return "gone" if self.missing else "refused" if self.scripts or not self.indexable else "unfit"


#: Why a page is barred whose content its scripts make.
NEEDS_SCRIPTS: Final = "needs scripts"

#: Predicate name to "does the page satisfy it". A predicate that did not judge the page is absent.
Verdict: TypeAlias = dict[str, bool]

#: The predicate of requests: no page came that can be judged. No other predicate can have this name.
FAILED: Final = "!"


def unknown(verdict: Verdict, known: Verdict) -> Verdict:
    """Return the part of ``verdict`` on predicates that ``known`` lacks.

    A page that came overrides earlier failed requests.

    >>> unknown({"a": True, "b": False}, {"a": False})
    {'b': False}
    >>> unknown({FAILED: False}, {FAILED: True}), unknown({FAILED: True}, {FAILED: False})
    ({'!': False}, {})
    """
    return {
        name: holds
        for name, holds in verdict.items()
        if name not in known or (name == FAILED and known[name] and not holds)
    }


def keeps(which: str, verdict: Verdict) -> bool:
    """Return whether a page with this verdict is kept if the setting `keep.pages` is ``which``.

    >>> keeps("matches", {"a": True}), keeps("matches", {"a": False}), keeps("all", {})
    (True, False, True)
    """
    return which == "all" or (which == "matches" and any(verdict.values()))
