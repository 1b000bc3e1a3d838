"""Honest sites on loopback, and beside them hostile ones of five kinds that want the whole crawl.

Honest ones have articles on several topics that link to each other's. Each honest site is in a network of its
own, and so is each hostile owner. A few honest pages bear links that strangers left there: that is how the
hostile ones are found.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from random import Random
from typing import NamedTuple

from scentline_lab.synthetic.plan import COMMON, TOPICS, Subtopic
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


class Article(NamedTuple):
    """A page: its path, what it is about, its title, and its links."""

    path: str
    about: Subtopic
    title: str
    links: Sequence[Link] = ()

    def html(self) -> bytes:
        listed = "".join(f'<p>See <a href="{url}">{text}</a>.</p>\n' for url, text in self.links)
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
    return f"{' '.join(rng.sample(about.words, 2))} {rng.choice(COMMON)} {number}".capitalize()


def articles(seed: int, roots: Sequence[str]) -> list[dict[str, Article]]:
    """Return the pages of each site by path: ``roots`` are the sites' addresses, without a slash at the end.

    A third of an article's links are to whatever there is, the rest to its own topic; two go to other sites.
    """
    rng = Random(f"{seed}/honest")

    def planned(number: int) -> Article:
        about = SOUGHT if number and number <= SHARE * PAGES else rng.choice(_OTHERS)
        name = title(rng, about, number)
        return Article("/" if not number else f"/{name.lower().replace(' ', '-')}.html", about, name)

    plans = [[planned(number) for number in range(PAGES)] for _ in roots]

    def links(site: int, of: Article) -> Iterator[Link]:
        others = [number for number in range(len(roots)) if number != site]
        near = [site] * (2 * _LINKS if of.path == "/" else _LINKS)
        for place in near + rng.sample(others, _ABROAD):
            alike = [each for each in plans[place] if each.about is of.about]
            target = rng.choice(alike if alike and rng.random() < _FAITHFUL else plans[place])
            yield f"{roots[place]}{target.path}", target.title

    return [{of.path: of._replace(links=[*links(site, of)]) for of in plan} for site, plan in enumerate(plans)]


def hostile(kind: str, roots: Sequence[str], sites: Sequence[Mapping[str, Article]], seed: int) -> Answering:
    """Return what answers at all the addresses of a hostile kind, always with words of the topic.

    ``endless`` and ``farm`` make pages without end, ``mirrored`` copies the honest page of that path behind the
    site's number, linked to copies only, ``cloaked`` shows whoever looks like a browser something else, and of
    ``redirects`` all links redirect to others like them, never to a page.
    """
    copies = {f"/{site}{path}": page for site, of in enumerate(sites) for path, page in of.items()}
    wanted = [(f"{roots[0]}{at}", one.title) for at, one in copies.items() if one.about is SOUGHT]

    async def answer(exchange: Exchange) -> None:
        rng, path = Random(f"{seed}{exchange.target}"), exchange.path
        names = [title(rng, SOUGHT, rng.randrange(10**6)) for _ in range(_BAIT)]
        folder, dash = ("to/", "-") if kind == "redirects" else ("", "/")
        links = [(f"{rng.choice(roots)}/{folder}{name.lower().replace(' ', dash)}", name) for name in names]
        page = Article(exchange.target, SOUGHT, names[0], links)
        if kind == "redirects" and path != "/":
            exchange.send(302, Location=links[0][0])
            return
        if kind == "cloaked":
            if "Mozilla" in exchange.headers.get("user-agent", ""):
                exchange.page("Buy now", [], text("shop", SOUGHT).replace(SOUGHT.keyword, "cheap"))
                return
            numbers = rng.sample(range(_CLOAKED_PAGES), _BAIT)
            links = [(f"{roots[0]}/{number}.html", name) for number, name in zip(numbers, names, strict=True)]
            page = page._replace(links=links)
        if kind == "mirrored":
            copied = copies.get("/0/" if path == "/" else path)
            if copied is None:
                exchange.send(404)
                return
            page = copied._replace(links=rng.sample(wanted, _BAIT))
        exchange.send(200, page.html())

    return answer


class Rivals(NamedTuple):
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

    def seeds(self, port: int) -> list[str]:
        """Return where a crawl starts: at each honest site's home page."""
        return [f"http://{self.addresses[f'honest-{number}']}:{port}/" for number in range(SITES)]

    def hosts(self, port: int) -> tuple[list[dict[str, Article]], dict[str, Answering]]:
        """Return the pages of each honest site, and what answers for each hostile kind, on ``port``."""
        roots = {name: f"http://{address}:{port}" for name, address in self.addresses.items()}
        sites, rng = articles(self.seed, list(roots.values())[:SITES]), Random(f"{self.seed}/comments")
        pages = [(site, path) for site, of in enumerate(sites) for path in of]
        hosts: dict[str, Answering] = {}
        for kind in KINDS:
            chosen = rng.sample(pages, round(self.commented * len(pages)))
            if own := [root for name, root in roots.items() if name.startswith(f"{kind}-")]:
                hosts[kind] = hostile(kind, own, sites, self.seed)
                for (site, path), root in zip(chosen, cycle(own), strict=False):
                    page, link = sites[site][path], (f"{root}/", title(rng, SOUGHT, rng.randrange(1000)))
                    sites[site][path] = page._replace(links=[*page.links, link])
        return sites, hosts


@contextmanager
def served_rivals(rivals: Rivals) -> Iterator[Served]:
    names = {address: name for name, address in rivals.addresses.items()}
    sites: list[dict[str, Article]] = []
    hosts: dict[str, Answering] = {}

    async def answer(exchange: Exchange) -> None:
        kind, _, number = names[exchange.address].partition("-")
        page = sites[int(number)].get(exchange.path) if kind == "honest" else None
        if kind != "honest" and exchange.path != "/robots.txt":
            await hosts[kind](exchange)
        elif page is None:
            exchange.send(404)
        else:
            exchange.send(200, page.html())

    with serving(answer, *names) as served:
        found, answering = rivals.hosts(served.port)
        sites.extend(found)
        hosts.update(answering)
        yield served
