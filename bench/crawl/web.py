"""The recorded pages as files for a web server, and the seeds from which a crawler reaches all of them."""

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from scentline.agents.offline.archive import Archive
from scentline.models.url import canonical

_LINK = re.compile(rb'href="([^"]+)"')
#: Where a crawl begins; what it does not lead to is seeded too.
HOME = "http://u.wikispeedia.test/wp/United_States"
#: What the hosts of the pages lie in.
DOMAIN = "wikispeedia.test"


@dataclass(frozen=True)
class Pages:
    """What is served: the canonical URLs of all pages, and seeds that lead to every one of them."""

    urls: frozenset[str]
    seeds: tuple[str, ...]


def unpack(archive: Path, root: Path) -> Pages:
    """Write each page of a WARC file to ``root`` as HOST/PATH; raises what `Archive` raises."""
    links: dict[str, list[str]] = {}
    with Archive([archive]) as pages:
        for url in pages.urls():
            body = pages.answer(url, {}).body
            file = root / file_of(url)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(body)
            found = (canonical(match[1].decode(), url) for match in _LINK.finditer(body))
            links[url] = [target for target in found if target is not None]
    return Pages(frozenset(links), tuple(_seeds(links)))


def file_of(url: str) -> str:
    """Return the path, relative to the web's root, of the file that a web server answers ``url`` from.

    >>> file_of("http://0.wikispeedia.test/wp/%C3%89ire")
    '0.wikispeedia.test/wp/Éire'
    """
    parts = urlsplit(url)
    return parts.netloc + unquote(parts.path)


def _seeds(links: dict[str, list[str]]) -> list[str]:
    seeds, reached = [], set[str]()
    for url in (HOME, *links):
        if url in links and url not in reached:
            seeds.append(url)
            _reach(url, links, reached)
    return seeds


def _reach(start: str, links: dict[str, list[str]], reached: set[str]) -> None:
    waiting = deque([start])
    reached.add(start)
    while waiting:
        for target in links[waiting.popleft()]:
            if target in links and target not in reached:
                reached.add(target)
                waiting.append(target)
