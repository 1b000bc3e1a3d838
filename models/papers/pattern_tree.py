"""The pattern tree of a site, built top-down from the syntax of its URLs, and the matching of URLs to it.

Here a URL is a set of key-value pairs, and a pattern is written as a URL with stars for the parts that differ.
"""

import heapq
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Most parts of a URL that count: labels of the host, segments of the path, parameters of the query.
LABELS, SEGMENTS, PARAMETERS = 8, 20, 20
EXTENSION = "extension"
_LONGEST_EXTENSION = 5
_HOST = tuple(f"host.{place}" for place in range(1, LABELS + 1))
_PATH = tuple(f"path.{place}" for place in range(1, SEGMENTS + 1))
_FAMILIES = ("scheme", "port", "host", "path", EXTENSION)


def decompose(url: str) -> dict[str, str]:
    """Return the key-value pairs of a canonical URL (Liu 2011, section 3.1 and Figure 3 a).

    Keys are "scheme", "port" if there is one, "host.N" (labels from the right), "path.N" (segments from the
    left), "extension" of the last segment, which then lacks it, and "?NAME" for each parameter of the query.
    Of a repeated parameter the first value counts. An IP address is one label.
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
    """Return the sort key of a key: its order in a URL, parameters by name.

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

    A URL descends by its value of ``key``: to one of ``children``, or else to ``rest``, if any.
    """

    index: int
    parent: int | None
    #: 1 for the root.
    depth: int
    name: str = ""
    #: None for a leaf.
    key: str | None = None
    #: By value; None for URLs without the key.
    children: dict[str | None, "Node"] = field(default_factory=dict)
    rest: "Node | None" = None
    #: Keys and values that all URLs here share: any other URL stops at the parent.
    fixed: tuple[tuple[str, str | None], ...] = ()

    def below(self) -> list["Node"]:
        """Return the children, the rest last."""
        return [*self.children.values(), *([self.rest] if self.rest is not None else [])]


class PatternTree:
    """A tree of patterns; nodes are identified by their index, parents before their children, the root is 0."""

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
        """Return the sum of ``at_leaves`` at and below each node, shape (nodes,)."""
        sums = at_leaves.copy()
        for index in range(len(self.nodes) - 1, 0, -1):
            parent = self.parents[index]
            assert parent is not None
            sums[parent] += sums[index]
        return sums


class Other(Enum):
    """Any value of a key other than those of its siblings."""

    OTHER = "*"


Decided = Mapping[str, str | Other | None]


def name_of(decided: Decided, varying: Collection[str]) -> str:
    """Return a pattern's text.

    ``decided`` has the value of each key that the pattern decides (None: its URLs lack the key), ``varying``
    the other keys that its URLs differ in. "*" stands for any value other than those of sibling patterns, "**"
    for a part that is not distinguished here, ".../**" for any number of such segments. A star in a URL itself
    is written as %2A.

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


#: Keys that count: the most frequent ones. Hostile URLs may have any number of parameters.
KEYS = 64
#: The code of a URL without the key.
ABSENT = 0


class Columns:
    """The values of each key of each URL, as codes.

    ``codes`` has for each key an array of shape (URLs,); the value of code c > 0 is ``values[key][c - 1]``.
    Left out are keys that fewer than ``support`` URLs have, and all but the 64 most frequent.
    """

    def __init__(self, urls: Sequence[str], support: int) -> None:
        frequencies: Counter[str] = Counter()
        for url in urls:
            frequencies.update(decompose(url).keys())
        frequent = sorted(frequencies, key=lambda key: (-frequencies[key], place(key)))[:KEYS]
        keys = sorted((key for key in frequent if frequencies[key] >= support), key=place)
        self.codes: dict[str, npt.NDArray[np.int32]] = {key: np.zeros(len(urls), np.int32) for key in keys}
        self.values: dict[str, list[str]] = {key: [] for key in keys}
        known: dict[str, dict[str, int]] = {key: {} for key in keys}
        for row, url in enumerate(urls):
            for key, value in decompose(url).items():
                codes = known.get(key)
                if codes is None:
                    continue
                code = codes.get(value)
                if code is None:
                    self.values[key].append(value)
                    code = codes[value] = len(self.values[key])
                self.codes[key][row] = code

    def value(self, key: str, code: int) -> str | None:
        """Return the value of a code, None for that of a URL without the key."""
        return None if code == ABSENT else self.values[key][code - 1]


_Rows = npt.NDArray[np.int64]
_Codes = npt.NDArray[np.int32]


class Syntax(NamedTuple):
    """A tree, and the leaf of each of the URLs it was built from, in their order."""

    tree: PatternTree
    leaf_of: _Rows


class Growth(NamedTuple):
    """Bounds of a tree: ``support`` is the fewest URLs of a value, ``leaves`` about the most leaves."""

    support: int
    leaves: int = 1000


class _Split(NamedTuple):
    """A key by which a node could be split, and the values that get a child of their own."""

    key: str
    salient: _Codes


class _Tip(NamedTuple):
    """A leaf that can be split: its URLs' rows, its decided and its varying keys, and the split."""

    node: Node
    rows: _Rows
    decided: Decided
    varying: tuple[str, ...]
    split: _Split


def build(urls: Sequence[str], growth: Growth) -> Syntax:
    """Build the tree (Liu 2011, section 3.1): URLs are split by the key whose values are most concentrated.

    That is the key of least entropy H = -sum of p log p over its values' shares p of the URLs; "no such key" is
    a value. A value of ``growth.support`` URLs or more gets a child of its own, all others share the rest. A
    value that all URLs of a node share makes no level: it is ``fixed`` there, if it has the support. The
    largest node is split first, until there are ``growth.leaves`` leaves, or a few more.

    Time is O(n k log n) a level for n URLs and k keys. The tree depends on the set of URLs, not on their order.
    """
    growing = _Growing(urls, min(growth.support, len(urls)))
    growing.plant(Node(0, None, 1), np.arange(len(urls)), {}, list(growing.columns.codes), "")
    leaves = 1
    while growing.tips and leaves < growth.leaves:
        leaves += growing.split() - 1
    return _numbered(growing.nodes, growing.leaf_of)


class _Growing:
    """A growing tree: its nodes, with distinct names, the leaf of each URL, and the leaves to split."""

    def __init__(self, urls: Sequence[str], support: int) -> None:
        self.columns = Columns(urls, support)
        self.nodes: list[Node] = []
        self.leaf_of = np.zeros(len(urls), np.int64)
        self.tips: list[tuple[int, int, _Tip]] = []
        self._support = support
        self._names: set[str] = set()

    def plant(self, node: Node, rows: _Rows, decided: Decided, keys: Sequence[str], step: str) -> None:
        """Add a node with the URLs of these rows; ``step`` distinguishes it from its siblings."""
        fixed, varying, split = _look(self.columns, rows, keys, self._support)
        node.fixed = tuple(fixed.items())
        decided = {**decided, **fixed}
        node.name = _unused(name_of(decided, varying), step, self._names)
        self.nodes.append(node)
        self.leaf_of[rows] = len(self.nodes) - 1
        if split is not None:
            tip = _Tip(node, rows, decided, varying, split)
            heapq.heappush(self.tips, (-len(rows), len(self.nodes), tip))

    def split(self) -> int:
        """Split the largest leaf that can be split; return the number of its children."""
        tip = heapq.heappop(self.tips)[2]
        tip.node.key = key = tip.split.key
        groups = _groups(self.columns, tip)
        keys = [name for name in tip.varying if name != key]
        for value, rows in groups:
            child = Node(0, None, tip.node.depth + 1)
            if isinstance(value, Other):
                tip.node.rest = child
            else:
                tip.node.children[value] = child
            shown = "none" if value is None else str(value.value if isinstance(value, Other) else value)
            self.plant(child, rows, {**tip.decided, key: value}, keys, f"{key}: {shown}")
        return len(groups)


def _look(
    columns: Columns, rows: _Rows, keys: Sequence[str], support: int
) -> tuple[dict[str, str | None], tuple[str, ...], _Split | None]:
    """Return the values that all rows share (``support`` or more), the varying keys, and the best split."""
    fixed: dict[str, str | None] = {}
    varying: list[str] = []
    best: tuple[float, tuple[int, int, str], _Split] | None = None
    for key in keys:
        values, counts = np.unique(columns.codes[key][rows], return_counts=True)
        if len(values) <= 1:
            if len(rows) >= support:
                fixed[key] = columns.value(key, int(values[0]))
            elif values[0] != ABSENT:
                varying.append(key)
            continue
        varying.append(key)
        salient = values[counts >= support]
        if len(salient):
            found = entropy(counts), place(key), _Split(key, salient)
            best = found if best is None or found[:2] < best[:2] else best
    return fixed, tuple(varying), None if best is None else best[2]


def entropy(counts: npt.NDArray[np.int64]) -> float:
    """Return the entropy, in nats, of a distribution given as counts: the lower, the more concentrated.

    >>> round(entropy(np.array([2, 2])), 4), round(entropy(np.array([3, 1])), 4)
    (0.6931, 0.5623)
    """
    shares = counts / counts.sum()
    # Rounded, so that keys with equally spread values are ordered by their place, not by a sum's order.
    return round(float(-(shares * np.log(shares)).sum()), 9)


def _groups(columns: Columns, tip: _Tip) -> list[tuple[str | Other | None, _Rows]]:
    """Return the rows of each child: the values in order, absence first, the rest last."""
    key, salient = tip.split
    codes = columns.codes[key][tip.rows]
    found = [(columns.value(key, int(code)), tip.rows[codes == code]) for code in salient]
    found.sort(key=lambda group: (group[0] is not None, group[0]))
    groups: list[tuple[str | Other | None, _Rows]] = list(found)
    others = tip.rows[~np.isin(codes, salient)]
    if len(others):
        groups.append((Other.OTHER, others))
    return groups


def _unused(text: str, step: str, names: set[str]) -> str:
    """Return a name that no other node has: if the text is taken, the last step is added."""
    name = text
    while name in names:
        name = f"{name} [{step}]"
    names.add(name)
    return name


def _numbered(nodes: Sequence[Node], leaf_of: _Rows) -> Syntax:
    """Number the nodes from top to bottom as they are shown, children after their parent."""
    planted = {id(node): number for number, node in enumerate(nodes)}
    ordered: list[Node] = []
    numbers = np.zeros(len(nodes), np.int64)
    stack = [nodes[0]]
    while stack:
        node = stack.pop()
        node.index = len(ordered)
        numbers[planted[id(node)]] = node.index
        ordered.append(node)
        below = node.below()
        for child in below:
            child.parent = node.index
        stack.extend(reversed(below))
    return Syntax(PatternTree(ordered), numbers[leaf_of])
