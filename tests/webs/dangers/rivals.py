"""Honest sites, and beside them hostile ones of five kinds that want the whole crawl for themselves.

Each honest site is in a network of its own, and so is each hostile owner. A few honest pages bear links that
strangers left there: that is how the hostile ones are found.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from tests.webs.dangers.exchange import Answering, Exchange
from tests.webs.dangers.honest import SITES, SOUGHT, Article, HonestSite, articles, text, title

KINDS = ("endless", "mirrored", "cloaked", "farm", "redirects")
#: Addresses of the link farm and of the farm of redirects.
FARM, SIGNPOSTS = 60, 20
#: Part of the honest pages that bear a link to each hostile kind.
COMMENTED = 0.02
#: The networks that a crawl has to allow.
NETWORKS = ("127.10.0.0/16", "127.20.0.0/16")
_CLOAKED_PAGES = 400
_LINKS = 20


@dataclass(frozen=True)
class Rivals:
    """Which hostile kinds stand beside the honest sites; ``seed`` gives the texts and links of all.

    ``commented`` is the part of the honest pages that bear a link to each kind.
    """

    kinds: tuple[str, ...] = ()
    seed: int = 1
    commented: float = COMMENTED

    @property
    def addresses(self) -> dict[str, str]:
        """The address of each host, by its name; the first honest site is the first."""
        found = {f"honest-{number}": f"127.10.{number}.1" for number in range(SITES)}
        for place, kind in enumerate(KINDS):
            if kind in self.kinds:
                count = {"farm": FARM, "redirects": SIGNPOSTS}.get(kind, 1)
                found.update({f"{kind}-{number}": f"127.20.{place}.{number + 1}" for number in range(count)})
        return found

    def hosts(self, port: int) -> Mapping[str, Answering]:
        """Return what answers at each host, by its name; the servers listen on ``port``."""
        roots = {name: f"http://{address}:{port}" for name, address in self.addresses.items()}
        honest = articles(self.seed, tuple(roots[f"honest-{number}"] for number in range(SITES)))
        comments = self._comments(honest, roots)
        found: dict[str, Answering] = {}
        for number, pages in enumerate(honest):
            found[f"honest-{number}"] = HonestSite(pages, comments[number])
        for kind in self.kinds:
            own = {name: root for name, root in roots.items() if name.startswith(f"{kind}-")}
            answering = self._hostile(kind, tuple(own.values()), honest)
            found.update(dict.fromkeys(own, answering))
        return found

    def seeds(self, port: int) -> list[str]:
        """Return where a crawl starts: at each honest site's home page."""
        return [f"http://{self.addresses[f'honest-{number}']}:{port}/" for number in range(SITES)]

    def _hostile(self, kind: str, roots: tuple[str, ...], honest: Sequence[Mapping[str, Article]]) -> Answering:
        if kind == "mirrored":
            return Mirror(honest, roots[0])
        if kind == "redirects":
            return Signposts(roots)
        if kind == "cloaked":
            return Cloak(roots[0])
        return Made(roots, self.seed)

    def _comments(
        self, honest: Sequence[Mapping[str, Article]], roots: Mapping[str, str]
    ) -> list[dict[str, tuple[tuple[str, str], ...]]]:
        rng = random.Random(f"{self.seed}/comments")
        found: list[dict[str, list[tuple[str, str]]]] = [{} for _ in honest]
        for kind in KINDS:
            own = [root for name, root in roots.items() if name.startswith(f"{kind}-")]
            pages = [(site, path) for site, of in enumerate(honest) for path in of]
            chosen = rng.sample(pages, round(self.commented * len(pages)))
            for (site, path), root in zip(chosen, cycle(own) if own else (), strict=False):
                link = (f"{root}/", title(rng, SOUGHT, rng.randrange(1000)))
                found[site].setdefault(path, []).append(link)
        return [{path: tuple(links) for path, links in of.items()} for of in found]


class Made:
    """Pages without end, made up of the topic's words, each with links to more at all the addresses."""

    def __init__(self, roots: Sequence[str], seed: int) -> None:
        self._roots = roots
        self._seed = seed

    async def __call__(self, exchange: Exchange) -> None:
        """Answer any path."""
        rng = random.Random(f"{self._seed}{exchange.target}")
        links = []
        for _ in range(_LINKS):
            name = title(rng, SOUGHT, rng.randrange(10**6))
            links.append((f"{rng.choice(self._roots)}/{name.lower().replace(' ', '/')}", name))
        name = title(rng, SOUGHT, rng.randrange(10**6))
        exchange.send(200, Article(exchange.target, SOUGHT, name, tuple(links)).html())


class Mirror:
    """Copies of all honest pages, with links among the copies only."""

    def __init__(self, honest: Sequence[Mapping[str, Article]], root: str) -> None:
        self._pages = {f"/{site}{path}": page for site, of in enumerate(honest) for path, page in of.items()}
        self._root = root

    async def __call__(self, exchange: Exchange) -> None:
        """Answer with the copy of the honest page of that path behind the site's number."""
        path = "/0/" if exchange.path == "/" else exchange.path
        page = self._pages.get(path)
        if page is None:
            exchange.send(404)
            return
        rng = random.Random(path)
        wanted = [(f"{self._root}{at}", one.title) for at, one in self._pages.items() if one.about is SOUGHT]
        links = tuple(rng.sample(wanted, _LINKS))
        exchange.send(200, Article(page.path, page.about, page.title, links).html())


class Cloak:
    """Many pages that show a crawler the topic's words, and whoever looks like a browser something else."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def __call__(self, exchange: Exchange) -> None:
        """Answer by the user agent."""
        rng = random.Random(exchange.path)
        if "Mozilla" in exchange.agent:
            exchange.page("Buy now", [], text("shop", SOUGHT).replace(SOUGHT.keyword, "cheap"))
            return
        numbers = rng.sample(range(_CLOAKED_PAGES), _LINKS)
        links = tuple((f"{self._root}/{number}.html", title(rng, SOUGHT, number)) for number in numbers)
        exchange.send(200, Article(exchange.path, SOUGHT, title(rng, SOUGHT, 0), links).html())


class Signposts:
    """Promising links at each address, all of which redirect to others like them, and never to a page."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots

    async def __call__(self, exchange: Exchange) -> None:
        """Answer the home page with links, everything else with a redirect."""
        rng = random.Random(f"{exchange.target}")
        names = [title(rng, SOUGHT, rng.randrange(10**6)) for _ in range(_LINKS)]
        links = [(f"{rng.choice(self._roots)}/to/{name.lower().replace(' ', '-')}", name) for name in names]
        if exchange.path == "/":
            exchange.send(200, Article(exchange.path, SOUGHT, names[0], tuple(links)).html())
        else:
            exchange.send(302, Location=links[0][0])
