"""Honest sites on loopback, and beside them hostile ones of five kinds that want the whole crawl.

Honest ones have articles on several topics that link to each other's. Each honest site is in a network of its
own, and so is each hostile owner. A few honest pages bear links that strangers left there: that is how the
hostile ones are found.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from random import Random

from scentline_lab.synthetic.vocabulary import COMMON, TOPICS, Subtopic
from tests.webs.serving import Answering, Exchange, Served, serving

#: The topic of the crawl; its keyword stands on each of its pages, and on no others.
SOUGHT = TOPICS[0].subtopics[0]
SITES, PAGES = 6, 150
#: Part of each site's pages that are on the topic.
SHARE = 0.4
KINDS = ("endless", "mirrored", "cloaked", "farm", "redirects")
#: Addresses of the link farm and of the farm of redirects.
FARM, SIGNPOSTS = 60, 20
#: Part of the honest pages that bear a link to each hostile kind.
COMMENTED = 0.02
#: The networks that a crawl has to allow.
NETWORKS = ("127.10.0.0/16", "127.20.0.0/16")
_OTHERS = tuple(part for topic in TOPICS for part in topic.subtopics if part is not SOUGHT)
_WORDS, _OWN_WORDS = 150, 25
_LINKS, _FAITHFUL, _ABROAD = 8, 0.75, 2
_BAIT, _CLOAKED_PAGES = 20, 400

#: A link as it is written: its URL and its text.
Link = tuple[str, str]
Links = Sequence[Link]


@dataclass(frozen=True)
class Article:
    """A page: its path, what it is about, its title, and its links."""

    path: str
    about: Subtopic
    title: str
    links: Links

    def html(self, extra: Links = ()) -> bytes:
        """Return the page, with ``extra`` links behind its own."""
        listed = "".join(f'<p>See <a href="{url}">{text}</a>.</p>\n' for url, text in (*self.links, *extra))
        return (
            f"<!DOCTYPE html><html><head><title>{self.title}</title></head><body><h1>{self.title}</h1>\n"
            f"<p>{text(self.path + self.title, self.about)}</p>\n{listed}</body></html>\n"
        ).encode()


def text(name: str, about: Subtopic) -> str:
    """Return the text of a page: equal names give equal ones."""
    rng = Random(name)
    words = rng.choices(COMMON, k=_WORDS - _OWN_WORDS) + rng.choices(about.words, k=_OWN_WORDS)
    rng.shuffle(words)
    return " ".join([about.keyword, *words])


def title(rng: Random, about: Subtopic, number: int) -> str:
    """Return a title that speaks of the topic."""
    return f"{' '.join(rng.sample(about.words, 2))} {rng.choice(COMMON)} {number}".capitalize()


def articles(seed: int, roots: Sequence[str]) -> list[dict[str, Article]]:
    """Return the pages of each site by path: ``roots`` are the sites' addresses, without a slash at the end.

    A third of an article's links are to whatever there is, the rest to its own topic; two go to other sites.
    """
    rng = Random(f"{seed}/honest")

    def planned(number: int) -> tuple[str, Subtopic, str]:
        about = SOUGHT if number and number <= SHARE * PAGES else rng.choice(_OTHERS)
        name = title(rng, about, number)
        return ("/" if not number else f"/{name.lower().replace(' ', '-')}.html", about, name)

    plans = [[planned(number) for number in range(PAGES)] for _ in roots]

    def links(site: int, path: str, about: Subtopic) -> Iterator[Link]:
        others = [number for number in range(len(roots)) if number != site]
        near = [site] * (2 * _LINKS if path == "/" else _LINKS)
        for place in near + rng.sample(others, _ABROAD):
            alike = [entry for entry in plans[place] if entry[1] is about]
            target = rng.choice(alike if alike and rng.random() < _FAITHFUL else plans[place])
            yield f"{roots[place]}{target[0]}", target[2]

    return [
        {path: Article(path, about, name, tuple(links(site, path, about))) for path, about, name in plan}
        for site, plan in enumerate(plans)
    ]


def honest(pages: Mapping[str, Article], comments: Mapping[str, Links]) -> Answering:
    """Return what answers for one site; ``comments`` are links that strangers left under its pages, by path."""

    async def answer(exchange: Exchange) -> None:
        found = pages.get(exchange.path)
        if found is None:
            exchange.send(404)
        else:
            exchange.send(200, found.html(comments.get(exchange.path, ())))

    return answer


# hostile ones, at their addresses


def made(roots: Sequence[str], seed: int) -> Answering:
    """Answer with pages without end, made of the topic's words, with links to more at all the addresses."""

    async def answer(exchange: Exchange) -> None:
        rng, links = Random(f"{seed}{exchange.target}"), []
        for _ in range(_BAIT):
            name = title(rng, SOUGHT, rng.randrange(10**6))
            links.append((f"{rng.choice(roots)}/{name.lower().replace(' ', '/')}", name))
        name = title(rng, SOUGHT, rng.randrange(10**6))
        exchange.send(200, Article(exchange.target, SOUGHT, name, links).html())

    return answer


def mirror(sites: Sequence[Mapping[str, Article]], root: str) -> Answering:
    """Answer with the copy of the honest page of that path behind the site's number, linked to copies only."""
    pages = {f"/{site}{path}": page for site, of in enumerate(sites) for path, page in of.items()}
    wanted = [(f"{root}{at}", one.title) for at, one in pages.items() if one.about is SOUGHT]

    async def answer(exchange: Exchange) -> None:
        path = "/0/" if exchange.path == "/" else exchange.path
        page = pages.get(path)
        if page is None:
            exchange.send(404)
        else:
            links = Random(path).sample(wanted, _BAIT)
            exchange.send(200, Article(page.path, page.about, page.title, links).html())

    return answer


def cloak(root: str) -> Answering:
    """Show a crawler the topic's words on many pages, and whoever looks like a browser something else."""

    async def answer(exchange: Exchange) -> None:
        rng = Random(exchange.path)
        if "Mozilla" in exchange.headers.get("user-agent", ""):
            exchange.page("Buy now", [], text("shop", SOUGHT).replace(SOUGHT.keyword, "cheap"))
            return
        numbers = rng.sample(range(_CLOAKED_PAGES), _BAIT)
        links = [(f"{root}/{number}.html", title(rng, SOUGHT, number)) for number in numbers]
        exchange.send(200, Article(exchange.path, SOUGHT, title(rng, SOUGHT, 0), links).html())

    return answer


def signposts(roots: Sequence[str]) -> Answering:
    """Answer a home page with promising links, all of which redirect to others like them, never to a page."""

    async def answer(exchange: Exchange) -> None:
        rng = Random(exchange.target)
        names = [title(rng, SOUGHT, rng.randrange(10**6)) for _ in range(_BAIT)]
        links = [(f"{rng.choice(roots)}/to/{name.lower().replace(' ', '-')}", name) for name in names]
        if exchange.path == "/":
            exchange.send(200, Article(exchange.path, SOUGHT, names[0], links).html())
        else:
            exchange.send(302, Location=links[0][0])

    return answer


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
        sites = articles(self.seed, list(roots.values())[:SITES])
        own = {kind: [root for name, root in roots.items() if name.startswith(f"{kind}-")] for kind in KINDS}
        comments = self._comments(sites, own)
        found = {f"honest-{number}": honest(pages, comments[number]) for number, pages in enumerate(sites)}
        for kind in self.kinds:
            hostile = {
                "mirrored": lambda roots: mirror(sites, roots[0]),
                "cloaked": lambda roots: cloak(roots[0]),
                "redirects": signposts,
            }.get(kind, lambda roots: made(roots, self.seed))(own[kind])
            found |= {name: hostile for name in roots if name.startswith(f"{kind}-")}
        return found

    def seeds(self, port: int) -> list[str]:
        """Return where a crawl starts: at each honest site's home page."""
        return [f"http://{self.addresses[f'honest-{number}']}:{port}/" for number in range(SITES)]

    def _comments(
        self, sites: Sequence[Mapping[str, Article]], own: Mapping[str, Sequence[str]]
    ) -> list[dict[str, list[Link]]]:
        rng = Random(f"{self.seed}/comments")
        found: list[dict[str, list[Link]]] = [{} for _ in sites]
        pages = [(site, path) for site, of in enumerate(sites) for path in of]
        for roots in own.values():
            chosen = rng.sample(pages, round(self.commented * len(pages)))
            for (site, path), root in zip(chosen, cycle(roots), strict=False):
                link = (f"{root}/", title(rng, SOUGHT, rng.randrange(1000)))
                found[site].setdefault(path, []).append(link)
        return found


@contextmanager
def served_rivals(rivals: Rivals) -> Iterator[Served]:
    """Serve honest and hostile sites."""
    names = {address: name for name, address in rivals.addresses.items()}
    answering: dict[str, Answering] = {}

    async def answer(exchange: Exchange) -> None:
        if exchange.path == "/robots.txt":
            exchange.send(404)
        else:
            await answering[names[exchange.address]](exchange)

    with serving(answer, *names) as served:
        answering.update(rivals.hosts(served.port))
        yield served
