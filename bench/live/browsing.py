"""People who browse: real requests through a proxy, from page to page along links."""

from collections.abc import Iterator
from random import Random
from urllib.parse import urldefrag, urljoin

import httpx
from lxml import etree

#: Seconds that a page may take.
SECONDS = 10.0


class Visitor:
    """One person, who starts at a page and follows links by chance; every page is asked for once."""

    def __init__(self, proxy: str, random: Random) -> None:
        self._random = random
        self._client = httpx.Client(proxy=proxy, timeout=SECONDS, headers={"User-Agent": AGENT})
        self._seen: set[str] = set()

    def walk(self, start: str, pages: int) -> Iterator[str]:
        """Ask for up to ``pages`` pages; yield the URL of each when it has come."""
        open_, url = [start], start
        for _ in range(pages):
            while url in self._seen and open_:
                url = open_.pop(self._random.randrange(len(open_)))
            if url in self._seen:
                return
            self._seen.add(url)
            response = self._client.get(url, headers={"Referer": start})
            open_ += [link for link in _links(url, response.content) if link not in self._seen]
            yield url

    def close(self) -> None:
        """End the connections."""
        self._client.close()


def _links(base: str, body: bytes) -> list[str]:
    tree = etree.HTML(body)
    found = [] if tree is None else [str(anchor.get("href", "")) for anchor in tree.iter("a")]
    return [urldefrag(urljoin(base, link)).url for link in found if link]


#: What a browser calls itself: the log's reader leaves robots out.
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
