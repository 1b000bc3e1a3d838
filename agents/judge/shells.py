"""Shells: pages that show their content only once their scripts have run.

A page with scripts and hardly any main text is one where the element that a framework fills is empty, its
`noscript` says that scripts are needed, the text is there as JSON, or there is nothing else. A second reading
finds that, of the few pages with so little text.
"""

import re

from scentline.agents.judge.markup import MAX_ELEMENTS, MAX_TEXT, Attributes, Markup, feed

#: Words of main text from which a page is no shell.
LEAST_TEXT = 30
#: Words of an element to fill that still count as nothing, as "Loading".
_FEW_WORDS = 4
#: Words in JSON that are a text, and characters of a script that does more than lead elsewhere.
_JSON_WORDS, _SCRIPT = 60, 500

# Identifiers and elements that frameworks fill, and where a page has its main text.
_ROOTS = frozenset(
    {"root", "app", "__next", "__nuxt", "___gatsby", "svelte", "react-root", "app-root", "q-app", "main-app"}
    | {"content", "main"}
)
_FILLED = frozenset({"main", "app-root", "ion-app"})
_NAMED = frozenset({"div", "section", "article", "body"})
_ASKS = re.compile(r"java ?script|scripting", re.IGNORECASE)
_NO_MATTER = re.compile(r"comment|kommentar", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
_MAX_SAID = 1_000


class _Shell:
    """What a page has beside its visible text; a target of lxml's parser."""

    def __init__(self) -> None:
        self.scripts = 0
        self.working = 0  # characters of its own scripts; a script from elsewhere counts as long
        self.json = 0  # words
        self.said = ""  # in noscript
        self.empty = False  # whether an element to fill has nothing
        self._open: list[str] = []
        self._elements = self._size = 0
        self._root: int | None = None  # open elements around it
        self._held = 0
        self._data = ""

    @property
    def depth(self) -> int:
        return len(self._open)

    @property
    def full(self) -> bool:
        return self._elements > MAX_ELEMENTS or self._size > 2 * MAX_TEXT

    def start(self, tag: str, attributes: Attributes) -> None:
        self._elements += 1
        if tag == "script":
            self._data = kind = attributes.get("type", "").strip().lower()
            if not kind.endswith("json"):
                self.scripts += 1
                self.working += _SCRIPT if attributes.get("src") else 0
        elif self._root is None:
            if tag in _FILLED or (tag in _NAMED and attributes.get("id", "").lower() in _ROOTS):
                self._root, self._held = len(self._open), 0
        elif tag == "a":
            self._held += _FEW_WORDS
        self._open.append(tag)

    def end(self, tag: str) -> None:
        self._open.pop()
        if self._root == len(self._open):
            self.empty = self.empty or self._held < _FEW_WORDS
            self._root = None

    def data(self, text: str) -> None:
        self._size += len(text)
        inner = self._open[-1] if self._open else ""
        if inner == "script":
            if not self._data.endswith("json"):
                self.working += len(text)
            elif self._data != "application/ld+json" and self.json < _JSON_WORDS:
                self.json += len(_WORD.findall(text))
        elif "noscript" in self._open:
            self.said += text[: _MAX_SAID - len(self.said)]
        elif self._root is not None and inner != "style":
            self._held += len(text.split())

    def close(self) -> None:
        pass


def is_shell(html: str, markup: Markup) -> bool:
    """Return whether a page with less than `LEAST_TEXT` needs scripts for its content, found in ``markup``."""
    page = _Shell()
    feed(html, page)
    asks = _ASKS.search(page.said) is not None and _NO_MATTER.search(page.said) is None
    bare = not markup.anchors and not "".join(markup.parts).strip() and page.working >= _SCRIPT
    return page.scripts > 0 and (page.empty or asks or bare or page.json >= _JSON_WORDS)
