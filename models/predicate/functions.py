"""The tests a predicate is made of: a keyword, and what a function with one argument asks.

Each is called with a view and tells whether the page passes.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import re2

from scentline.models.predicate.syntax import View

_TO_ESCAPE = re.compile(r'\\(?=[\\"\']|\Z)|"')
_PORT = re.compile(r":[0-9]+\Z")
_REGEX_MEMORY = 1 << 20


def quoted(text: str) -> str:
    r"""Return ``text`` as the language writes it: in double quotes, with backslashes where they are needed.

    >>> print(quoted(r'wp/\d+ "x"'))
    "wp/\d+ \"x\""
    """
    return '"' + _TO_ESCAPE.sub(r"\\\g<0>", text) + '"'


@dataclass(frozen=True)
class Keyword:
    """Consecutive words, in title or text."""

    words: tuple[str, ...]
    _line: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_line", f" {' '.join(self.words)} ")

    def __str__(self) -> str:
        return quoted(" ".join(self.words))

    def __call__(self, view: View) -> bool:
        """Find the words in the page."""
        if len(self.words) == 1:
            return self.words[0] in view.words
        return view.words.issuperset(self.words) and self._line in view.word_line


@dataclass(frozen=True)
class Category:
    """``category("A.B")``: what the judge of categories says of the page, spelled as there."""

    name: str

    def __str__(self) -> str:
        return f"category({quoted(self.name)})"

    def __call__(self, view: View) -> bool:
        """Look the category up."""
        return self.name in view.categories


@dataclass(frozen=True)
class Language:
    """``lang("de")``: the language that the page is mostly written in, as far as its text tells."""

    code: str

    def __str__(self) -> str:
        return f"lang({quoted(self.code)})"

    def __call__(self, view: View) -> bool:
        """Compare the language."""
        return view.language == self.code


@dataclass(frozen=True)
class Title:
    """``title("crawl*")``: consecutive words of the title; ``*`` stands for any letters within one word."""

    patterns: tuple[str, ...]
    _expression: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A word holds nothing that is syntax to re2.
        patterns = " ".join(self.patterns).replace("*", "[^ ]*")
        object.__setattr__(self, "_expression", re2.compile(f" {patterns} "))

    def __str__(self) -> str:
        return f"title({quoted(' '.join(self.patterns))})"

    def __call__(self, view: View) -> bool:
        """Find the patterns in the title."""
        return self._expression.search(view.title_words) is not None


@dataclass(frozen=True)
class Host:
    """``host("example.org")``: that host or any below it; with a port, on that port alone."""

    name: str
    _below: str = field(init=False, repr=False, compare=False)
    _any_port: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_below", f".{self.name}")
        object.__setattr__(self, "_any_port", _PORT.search(self.name) is None)

    def __str__(self) -> str:
        return f"host({quoted(self.name)})"

    def __call__(self, view: View) -> bool:
        """Compare the host."""
        host = view.host_name if self._any_port else view.host
        return host == self.name or host.endswith(self._below)


def regex(pattern: str) -> Any:
    """Return a regular expression of RE2, in bounded memory; raises ValueError when it is none or too large."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _REGEX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        raise ValueError(reason.decode() if isinstance(reason, bytes) else reason) from error


@dataclass(frozen=True)
class UrlRegex:
    """``url("regex")``: a regular expression of RE2 (linear time) that matches anywhere in the URL.

    Raises ValueError when it is not one, or is too large.
    """

    pattern: str
    _expression: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_expression", regex(self.pattern))

    def __str__(self) -> str:
        return f"url({quoted(self.pattern)})"

    def __call__(self, view: View) -> bool:
        """Find the expression in the URL."""
        return self._expression.search(view.url) is not None


@dataclass(frozen=True)
class UrlPrefix:
    """``url.prefix("http://example.org/wiki/")``: what the canonical URL begins with."""

    text: str

    def __str__(self) -> str:
        return f"url.prefix({quoted(self.text)})"

    def __call__(self, view: View) -> bool:
        """Compare the URL's beginning."""
        return view.url.startswith(self.text)


@dataclass(frozen=True)
class UrlSuffix:
    """``url.suffix(".uk")``: what the canonical URL, or its host name, ends with.

    The host name counts too, so that ``.uk`` asks for the pages of the United Kingdom (Aggarwal 2004, section
    1: "whose URL ends with the extension .uk") although the URL of a page ends in a path.
    """

    text: str
    _host_ending: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_host_ending", self.text.lower())

    def __str__(self) -> str:
        return f"url.suffix({quoted(self.text)})"

    def __call__(self, view: View) -> bool:
        """Compare the endings of URL and host name."""
        return view.url.endswith(self.text) or view.host_name.endswith(self._host_ending)
