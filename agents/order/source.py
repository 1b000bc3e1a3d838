"""What a comparison is given: a web as a file of links or as an archive of pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agents.lab.progress import Progress
from agents.observation.logfile import LogFile
from agents.offline.linkgraph import GraphError
from agents.order.archive import read_archive
from agents.order.graphs import read_graph
from agents.order.web import Web
from models.ordering.graph import Graph
from models.url import canonical
from streams.settings import Settings

# The default start is one of so many pages with the most links to them, from them, or the shortest names.
_STARTS = 16


@dataclass(frozen=True)
class Chosen:
    """Which part of a file is the web: pages whose URL begins with ``within``, reachable from ``start``.

    ``start`` is a URL or, in a file of numbers, a number; None leaves the choice to the file.
    """

    start: str | None = None
    within: str | None = None


def read_web(path: Path, chosen: Chosen, settings: Settings, processes: int, progress: Progress) -> Web:
    """Read a file of links or an archive, and leave out what can't be reached (Cho 1998, section 6).

    Raises `agents.offline.linkgraph.GraphError` or `agents.offline.warc.ArchiveError` for what is neither, or
    has no such part.
    """
    with LogFile(str(path)) as file:
        first = next(iter(file), (0, b""))[1]
    if first.startswith(b"WARC/"):
        web = read_archive(path, settings, processes, progress)
    else:
        progress.phase("read the links", 1)
        web = Web(read_graph(path))
        progress.advance()
    if chosen.within is not None:
        web = _within(path, web, chosen.within)
    start = _best_start(web.graph) if chosen.start is None else _numbered(path, web.graph, chosen.start)
    return web.part(web.graph.reachable(start), start)


def _within(path: Path, web: Web, prefix: str) -> Web:
    pages = [page for page, name in enumerate(web.graph.names) if name.startswith(prefix)]
    if not pages:
        raise GraphError(f"{path}: no page has a URL that begins with {prefix}; expected at least one")
    return web.part(np.array(pages, np.int64), pages[0])


def _numbered(path: Path, graph: Graph, start: str) -> int:
    """Return the number of a page that is given by its name."""
    names: Sequence[str] = graph.names
    for name in dict.fromkeys((start, canonical(start) or start)):
        if name in names:
            return names.index(name)
    raise GraphError(f"{path}: there is no page {start} to start from; expected one of the file's pages")


def _best_start(graph: Graph) -> int:
    """Return the page that most can be reached from, among those that may be a home page; the most linked."""
    lengths = np.array([len(name) for name in graph.names])
    ranked = (-graph.backlinks, -graph.forward_links, lengths)
    candidates = {
        int(page) for counts in ranked for page in np.argsort(counts, kind="stable")[:_STARTS].tolist()
    }
    return max(sorted(candidates), key=lambda page: (len(graph.reachable(page)), graph.backlinks[page]))
