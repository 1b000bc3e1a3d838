"""The pattern tree of a site, and the deepest node that a URL matches.

A URL is key-value pairs here, and a pattern is written as a URL in which stars stand for what differs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

#: What is looked at of a URL: labels of the host, segments of the path, parameters of the query.
LABELS, SEGMENTS, PARAMETERS = 8, 20, 20
EXTENSION = "extension"
_LONGEST_EXTENSION = 5
_HOST = tuple(f"host.{place}" for place in range(1, LABELS + 1))
_PATH = tuple(f"path.{place}" for place in range(1, SEGMENTS + 1))
_FAMILIES = ("scheme", "port", "host", "path", EXTENSION)


def decompose(url: str) -> dict[str, str]:
    """Return the key-value pairs of a canonical URL (Liu 2011, section 3.1 and Figure 3 a).

    Keys are "scheme", "port" where there is one, "host.N" (labels from the right), "path.N" (segments from the
    left), "extension" of the last segment, which then lacks it, and "?NAME" for each parameter of the query.
    Of a parameter that is repeated the first value counts. An IP address is one label.

    >>> decompose("http://www.example.org/wp/a.html?id=7")  # doctest: +NORMALIZE_WHITESPACE
    {'scheme': 'http', 'host.1': 'org', 'host.2': 'example', 'host.3': 'www', 'extension': 'html',
     'path.1': 'wp', 'path.2': 'a', '?id': '7'}
    """
    address, _, query = url.partition("?")
    scheme, _, rest = address.partition("://")
    authority, _, path = rest.partition("/")
    parts = {"scheme": scheme}
    _host(authority, parts)
    segments = path.split("/", SEGMENTS)[:SEGMENTS]
    stem, dot, extension = segments[-1].rpartition(".")
    if dot and stem and len(extension) <= _LONGEST_EXTENSION and extension.isalnum():
        parts[EXTENSION] = extension
        segments[-1] = stem
    parts.update(zip(_PATH, segments, strict=False))
    if query:
        for pair in query.split("&", PARAMETERS)[:PARAMETERS]:
            name, _, value = pair.partition("=")
            parts.setdefault(f"?{name}", value)
    return parts


def _host(authority: str, parts: dict[str, str]) -> None:
    name, colon, port = authority.rpartition(":")
    if colon and port.isdigit():
        parts["port"] = port
    else:
        name = authority
    last = name[name.rfind(".") + 1 :]
    labels = [name] if name.startswith("[") or last.isdigit() else name.rsplit(".", LABELS)[: -LABELS - 1 : -1]
    parts.update(zip(_HOST, labels, strict=False))


def place(key: str) -> tuple[int, int, str]:
    """Return what keys are sorted by: the order in which a URL has them, parameters by name.

    >>> sorted(["?a", "path.10", "path.9", "scheme", "extension"], key=place)
    ['scheme', 'path.9', 'path.10', 'extension', '?a']
    """
    if key.startswith("?"):
        return len(_FAMILIES), 0, key
    family, _, number = key.partition(".")
    return _FAMILIES.index(family), int(number or 0), ""


@dataclass(slots=True, eq=False)
class Node:
    """A pattern: what the URLs of a group have in common.

    Below a node a URL goes on by its value of ``key``: to one of ``children``, or else to ``rest``, if any.
    """

    index: int
    parent: int | None
    #: 1 of the root.
    depth: int
    name: str = ""
    #: None of a leaf.
    key: str | None = None
    #: By value; None is that of a URL without the key.
    children: dict[str | None, "Node"] = field(default_factory=dict)
    rest: "Node | None" = None
    #: Keys and values that all URLs here share: another URL goes no further than the parent.
    fixed: tuple[tuple[str, str | None], ...] = ()

    def below(self) -> list["Node"]:
        """Return the children, the rest last."""
        return [*self.children.values(), *([self.rest] if self.rest is not None else [])]


class PatternTree:
    """A tree of patterns; nodes are known by their index, parents before their children, the root is 0."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.parents = [node.parent for node in nodes]
        self.depths = np.array([node.depth for node in nodes])
        self.leaves = tuple(node.index for node in nodes if node.key is None)

    def find(self, url: str) -> int:
        """Return the deepest node that a canonical URL matches; the root matches every URL."""
        parts = decompose(url)
        value_of = parts.get
        node = found = self.nodes[0]
        while True:
            for key, value in node.fixed:
                if value_of(key) != value:
                    return found.index
            found = node
            if node.key is None:
                return node.index
            below = node.children.get(value_of(node.key), node.rest)
            if below is None:
                return node.index
            node = below

    def sums(self, at_leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the sum at and below each node of what is given for the leaves, shape (nodes,)."""
        sums = at_leaves.copy()
        for index in range(len(self.nodes) - 1, 0, -1):
            parent = self.parents[index]
            assert parent is not None
            sums[parent] += sums[index]
        return sums


class TreeCut:
    """A set of nodes of which each leaf of the tree is at or below exactly one: the patterns of a plan.

    ``of`` has for each node the pattern that it is at or below, or -1 for a node above the patterns.
    """

    def __init__(self, tree: PatternTree, patterns: Iterable[int]) -> None:
        self.patterns = tuple(sorted(patterns))
        chosen = frozenset(self.patterns)
        of = np.full(len(tree.nodes), -1)
        for index, parent in enumerate(tree.parents):
            above = -1 if parent is None else of[parent]
            of[index] = index if index in chosen else above
        self.of = of
        self.height = int(tree.depths[list(self.patterns)].max())


class Other(Enum):
    """Stands for the value of a key that is any other than those its siblings have."""

    OTHER = "*"


Decided = Mapping[str, str | Other | None]


def name_of(decided: Decided, varying: Collection[str]) -> str:
    """Return a pattern's text.

    ``decided`` has the value of each key that the pattern decides (None: such a URL has no such key),
    ``varying`` the other keys that its URLs differ in. "*" stands for any other value than those of sibling
    patterns, "**" for what is not told apart here, ".../**" for any number of such segments. A star that a URL
    itself has is written as %2A.

    >>> name_of({"scheme": "http", "host.1": "test", "path.1": "wp", "?id": Other.OTHER}, ["host.2", "path.2"])
    'http://**.test/wp/**?id=*'
    >>> name_of({"scheme": "https", "host.1": "a", "path.1": "b", "extension": "html"}, ["path.2", "path.3"])
    'https://a/b/.../**.html'
    """

    def text(key: str) -> str | None:
        value = decided.get(key)
        if isinstance(value, Other):
            return "*"
        if value is not None:
            return value.replace("*", "%2A")
        return "**" if key in varying else None

    labels = [found for number in range(1, LABELS + 1) if (found := text(f"host.{number}")) is not None]
    port = text("port")
    segments = [found for number in range(1, SEGMENTS + 1) if (found := text(f"path.{number}")) is not None]
    open_end = 0
    while open_end < len(segments) and segments[-1 - open_end] == "**":
        open_end += 1
    if open_end > 1:
        segments[-open_end:] = ["...", "**"]
    extension = text(EXTENSION)
    query = [
        f"{key[1:]}={text(key)}"
        for key in sorted({*decided, *varying}, key=place)
        if key.startswith("?") and text(key) is not None
    ]
    return (
        f"{text('scheme') or '**'}://{'.'.join(reversed(labels))}"
        + (f":{port}" if port is not None else "")
        + "/"
        + "/".join(segments)
        + (f".{extension}" if extension is not None and extension != "**" else "")
        + (f"?{'&'.join(query)}" if query else "")
    )
