"""Archives of pages as a web: the links between their pages, and the words that orderings go by."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from agents.lab.archives import Body, bodies, chunks
from agents.lab.progress import Progress
from agents.lab.spread import spread
from agents.offline.archive import Archive
from agents.offline.linkgraph import GraphError
from agents.order.web import Text, Web
from agents.web.parse import parse
from models.ordering.graph import Graph
from models.words import words
from streams.settings import JudgeSettings, Settings

#: Distinct words that are counted of a page.
MAX_WORDS = 5000


class _Read(NamedTuple):
    url: str
    text: Text


class _Reader:
    """Reads pages as the judge agent does."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings

    def read(self, found: Iterable[Body]) -> list[_Read]:
        """Return the pages that may be indexed."""
        pages = (parse(body.url, body.content, body.content_type, self._settings) for body in found)
        return [
            _Read(
                page.url,
                Text(
                    tuple(words(page.title)),
                    dict(islice(Counter(words(page.text)).items(), MAX_WORDS)),
                    {link.url: link.anchor for link in page.links},
                ),
            )
            for page in pages
            if page.indexable
        ]


def read_archive(path: Path, settings: Settings, processes: int, progress: Progress) -> Web:
    """Read the pages of an archive; they are numbered in the order of their URLs.

    Raises `agents.offline.warc.ArchiveError` for what is no WARC file, `GraphError` for one without links.
    """
    reader = _Reader(settings.judge)
    texts: dict[str, Text] = {}
    with Archive([path]) as archive:
        progress.phase("read the pages", len(archive))
        for chunk in spread(
            reader.read, chunks(bodies(archive, settings.fetch.max_bytes, progress)), processes
        ):
            texts.update(chunk)
    names = sorted(texts)
    number = {name: place for place, name in enumerate(names)}
    edges = [
        (number[name], number[target]) for name in names for target in texts[name].anchors if target in number
    ]
    if not edges:
        raise GraphError(f"{path}: no page of the archive links to another one of it")
    sources, targets = np.array(edges, np.int64).T
    graph = Graph.of_edges(sources, targets, len(names), tuple(names))
    return Web(graph, [texts[name] for name in names])
