"""Honest sites on loopback: articles on several topics, sorted into sections, that link to each other's."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from scentline_lab.synthetic.vocabulary import COMMON, TOPICS, Subtopic
from tests.webs.dangers.exchange import Exchange

#: The topic of the crawl; its keyword stands on each of its pages, and on no others.
SOUGHT = TOPICS[0].subtopics[0]
SITES = 6
PAGES = 150
#: Part of each site's pages that are on the topic.
SHARE = 0.4
_OTHERS = tuple(part for topic in TOPICS for part in topic.subtopics if part is not SOUGHT)
_WORDS, _OWN_WORDS = 150, 25
_LINKS, _FAITHFUL, _ABROAD = 8, 0.75, 2


@dataclass(frozen=True)
class Article:
    """A page: its path, what it is about, its title, and its links as they are written."""

    path: str
    about: Subtopic
    title: str
    links: tuple[tuple[str, str], ...]

    def html(self, extra: tuple[tuple[str, str], ...] = ()) -> bytes:
        """Return the page, with ``extra`` links behind its own."""
        listed = "".join(f'<p>See <a href="{url}">{text}</a>.</p>\n' for url, text in (*self.links, *extra))
        return (
            f"<!DOCTYPE html><html><head><title>{self.title}</title></head><body><h1>{self.title}</h1>\n"
            f"<p>{text(self.path + self.title, self.about)}</p>\n{listed}</body></html>\n"
        ).encode()


def text(name: str, about: Subtopic, rng: random.Random | None = None) -> str:
    """Return the text of a page: equal names give equal ones."""
    rng = rng or random.Random(name)
    words = rng.choices(COMMON, k=_WORDS - _OWN_WORDS) + rng.choices(about.words, k=_OWN_WORDS)
    rng.shuffle(words)
    return " ".join([about.keyword, *words])


def title(rng: random.Random, about: Subtopic, number: int) -> str:
    """Return a title that speaks of the topic."""
    return f"{' '.join(rng.sample(about.words, 2))} {rng.choice(COMMON)} {number}".capitalize()


def articles(seed: int, roots: tuple[str, ...]) -> list[dict[str, Article]]:
    """Return the pages of each site by path: ``roots`` are the sites' addresses, without a slash at the end.

    A third of an article's links are to whatever there is, the rest to its own topic; two go to other sites.
    """
    rng = random.Random(f"{seed}/honest")
    plans = [[_plan(rng, number) for number in range(PAGES)] for _ in roots]
    return [
        {path: _article(rng, roots, plans, site, path, about, name) for path, about, name in plan}
        for site, plan in enumerate(plans)
    ]


def _plan(rng: random.Random, number: int) -> tuple[str, Subtopic, str]:
    about = SOUGHT if number and number <= SHARE * PAGES else rng.choice(_OTHERS)
    name = title(rng, about, number)
    return ("/" if not number else f"/{name.lower().replace(' ', '-')}.html", about, name)


def _article(
    rng: random.Random,
    roots: tuple[str, ...],
    plans: list[list[tuple[str, Subtopic, str]]],
    site: int,
    path: str,
    about: Subtopic,
    name: str,
) -> Article:
    others = [number for number in range(len(roots)) if number != site]
    places = [site] * (2 * _LINKS if path == "/" else _LINKS) + rng.sample(others, min(_ABROAD, len(others)))
    links = []
    for place in places:
        alike = [entry for entry in plans[place] if entry[1] is about]
        target = rng.choice(alike if alike and rng.random() < _FAITHFUL else plans[place])
        links.append((f"{roots[place]}{target[0]}", target[2]))
    return Article(path, about, name, tuple(links))


class HonestSite:
    """Answers for one site; ``comments`` are links that strangers left under its pages, by path."""

    def __init__(
        self, pages: Mapping[str, Article], comments: Mapping[str, tuple[tuple[str, str], ...]]
    ) -> None:
        self._pages = pages
        self._comments = comments

    async def __call__(self, exchange: Exchange) -> None:
        """Answer."""
        found = self._pages.get(exchange.path)
        if found is None:
            exchange.send(404)
        else:
            exchange.send(200, found.html(self._comments.get(exchange.path, ())))
