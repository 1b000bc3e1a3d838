"""The synthetic web: the page at each URL, its text and HTML, what it is about, its files and its server."""

import asyncio
import gzip
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from html import escape
from http import HTTPStatus
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from scentline.agents.offline.archive import Answer, plain
from scentline.agents.offline.serve import ServerProcess, serve
from scentline.models.url import canonical
from scentline_lab.synthetic.links import CALENDAR, Hyperlink, Linker, User, write_log
from scentline_lab.synthetic.plan import COMMON, TOPICS, Plan, PlannedPage, Site, Subtopic, Topic, make_plan

# What the words of a page are drawn from; what a page has no topic or sub-topic for is common words.
_TOPIC_SHARE, _SUBTOPIC_SHARE, _FOREIGN_SHARE = 0.22, 0.12, 0.06
_ARTICLE_WORDS = (180, 420)
_OTHER_WORDS = 60
_SENTENCE_WORDS = (7, 16)


def _mixture(
    foreign: Sequence[str], topic: Topic | None, subtopic: Subtopic | None
) -> tuple[list[str], list[float]]:
    """Return the words that a page has, with cumulative weights: Zipf's but for foreign ones."""
    parts = [(_FOREIGN_SHARE, foreign)]
    about = ((_TOPIC_SHARE, topic), (_SUBTOPIC_SHARE, subtopic))
    parts += [(share, each.words) for share, each in about if each is not None]
    parts.append((1 - sum(share for share, _ in parts), COMMON))
    weights: list[float] = []
    for share, words in parts:
        ranked = [1.0 if words is foreign else 1 / rank for rank in range(1, len(words) + 1)]
        scale = share / sum(ranked)
        weights += [scale * each for each in ranked]
    return [word for _, words in parts for word in words], list(accumulate(weights))


_ROBOTS = "User-agent: *\nDisallow: /private/\n\nUser-agent: NoisyBot\nDisallow: /\n"
_PDF = b"%PDF-1.4\n1 0 obj << /Type /Catalog >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF\n"
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
_FILES = {
    "/style.css": ("text/css", b"body { max-width: 40em }\n"),
    "/logo.png": ("image/png", _PNG),
    "/files/report.pdf": ("application/pdf", _PDF),
}


class SyntheticWeb:
    """A web generated from ``seed``: ``sites`` hosts of about ``pages_per_site`` articles, ``topics`` topics.

    It assumes of the real web what focused crawling lives on: pages link to their own topic more often than
    chance would, within a site, whose four sections have a topic each, and across sites; words, most anchors
    and half of the section names tell the topic, host names nothing. What a crawler has to bear is there too:
    robots.txt, pages that moved, exact copies, dead links, a PDF, three encodings, oddly written links.

    ``dead`` is the share of the links to articles that lead into archives that are gone; each site may have a
    calendar of so many ``days`` that hold nothing. With ``eras`` what a category names moves on by one topic
    with each part of the sites, links keep to an era or now and then lead to the next, and seeds are of the
    first. With fewer ``owners`` than sites the others are subdomains of theirs. In an ``opaque`` web links are
    generic words, URLs numbers, and neither sections nor links keep to a topic. Equal parameters give equal
    bytes.
    """

    def __init__(
        self,
        seed: int,
        sites: int = 12,
        pages_per_site: int = 200,
        topics: int = 12,
        *,
        dead: float = 0.0,
        days: int = 0,
        eras: int = 1,
        owners: int | None = None,
        opaque: bool = False,
    ) -> None:
        self._seed, self._days, self._topics = seed, days, TOPICS[:topics]
        self.plan: Plan = make_plan(seed, sites, pages_per_site, topics, owners, opaque=opaque)
        self._hosts = {site.host: number for number, site in enumerate(self.plan.sites)}
        self._linker = Linker(seed, self.plan, dead, calendars=days > 0, eras=eras)
        parts: list[Topic | Subtopic] = [
            *self._topics,
            *(part for topic in self._topics for part in topic.subtopics),
        ]
        foreign = sorted({word for part in parts for word in part.words})
        self._mixture = cache(partial(_mixture, foreign))

    def answer(self, url: str, headers: Mapping[str, str]) -> Answer:
        """Return what a request for ``url`` is answered; the request's ``headers`` change nothing."""
        asked = canonical(url) or ""
        parts = urlsplit(asked)
        if parts.scheme != "http" or parts.netloc not in self._hosts:
            return plain(404, "no such host")
        site = self.plan.sites[self._hosts[parts.netloc]]
        page = self.plan.by_url.get(asked) or self.plan.copies.get(asked)
        if page is not None:
            charset = f"; charset={site.encoding}" if site.declared else ""
            return _found(f"text/html{charset}", self._html(page, site))
        if asked in self.plan.moved:
            status, to = self.plan.moved[asked]
            answer = plain(status, "moved")
            return Answer(status, (*answer.headers, ("Location", to.url)), answer.body)
        if parts.path.startswith(CALENDAR):
            return self._day(parts.path.removeprefix(CALENDAR), site)
        if parts.path == "/robots.txt" and site.robots:
            return plain(200, _ROBOTS)
        return _found(*_FILES[parts.path]) if parts.path in _FILES else plain(404, "no such page")

    def _html(self, page: PlannedPage, site: Site) -> bytes:
        rng = random.Random(f"{self._seed}/text/{page.number}")
        placed: dict[str, list[str]] = {"nav": [], "body": [], "list": [], "foot": []}
        for link in self._linker.links(page):
            shown = escape(link.anchor) or '<img src="/logo.png" alt="">'
            placed[link.place].append(f'<a href="{escape(link.href)}">{shown}</a>')
        listed = "".join(f"<li>{link}</li>\n" for link in placed["list"])
        text = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="{site.encoding}">'
            f"<title>{escape(page.title)}</title>"
            '<link rel="stylesheet" href="/style.css"></head>\n<body>\n'
            f'<div class="nav"><img src="/logo.png" alt=""> {" | ".join(placed["nav"])}</div>\n'
            f"<h1>{escape(page.title)}</h1>\n{self._paragraphs(rng, page, placed['body'])}"
            f"<ul>\n{listed}</ul>\n<p>{' | '.join(placed['foot'])}</p>\n</body></html>\n"
        )
        return text.encode(site.encoding, "xmlcharrefreplace")

    def _paragraphs(self, rng: random.Random, page: PlannedPage, links: list[str]) -> str:
        mixture, weights = self._mixture(page.topic, page.subtopic)
        count = _OTHER_WORDS if page.kind in ("home", "hub") else rng.randint(*_ARTICLE_WORDS)
        words = rng.choices(mixture, cum_weights=weights, k=count)
        if page.subtopic is not None:
            words[rng.randrange(len(words))] = page.subtopic.keyword
        sentences = []
        while words:
            size = rng.randint(*_SENTENCE_WORDS)
            sentences.append([words[0].capitalize(), *words[1:size]])
            words = words[size:]
        for link in links:
            chosen = sentences[rng.randrange(len(sentences))]
            chosen.insert(rng.randint(1, len(chosen)), link)
        written = [f"{' '.join(each)}." for each in sentences]
        return "".join(f"<p>{' '.join(written[at : at + 4])}</p>\n" for at in range(0, len(written), 4))

    def _day(self, name: str, site: Site) -> Answer:
        if not name.isdecimal() or str(int(name)) != name or int(name) >= self._days:
            return plain(404, "no such day")
        later = (int(name) + more for more in (1, 7, 30) if int(name) + more < self._days)
        links = "".join(f'<li><a href="{CALENDAR}{number}">day {number}</a></li>' for number in later)
        text = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="{site.encoding}">'
            f'<title>Calendar, day {name}</title></head>\n<body><a href="/">home</a>'
            f"<p>Nothing happens on day {name}.</p><ul>{links}</ul></body></html>\n"
        )
        return _found(f"text/html; charset={site.encoding}", text.encode(site.encoding))

    def urls(self) -> Iterator[str]:
        """Yield every URL that a crawler may fetch: pages, days, redirects, files and robots.txt."""
        yield from (page.url for page in self.plan.pages if page.kind != "private")
        yield from self.plan.copies
        yield from self.plan.moved
        for site in self.plan.sites:
            root = f"http://{site.host}"
            yield from (f"{root}{CALENDAR}{day}" for day in range(self._days))
            yield from (f"{root}{path}" for path in _FILES)
            if site.robots:
                yield f"{root}/robots.txt"

    def links(self, url: str) -> list[Hyperlink]:
        return self._linker.links(self.plan.by_url[url])

    def labels(self) -> Iterator[tuple[str, str]]:
        """Yield the URL and the category, such as ``Sports.Hockey``, of every page, copies included."""
        yield from ((page.url, self._category(page)) for page in self.plan.pages)
        yield from ((url, self._category(page)) for url, page in self.plan.copies.items())

    def _category(self, page: PlannedPage) -> str:
        if page.topic is None:
            return page.category
        topics = self._topics
        topic = topics[(topics.index(page.topic) - self._linker.era(page)) % len(topics)]
        if page.subtopic is None:
            return topic.name
        return f"{topic.name}.{topic.subtopics[page.topic.subtopics.index(page.subtopic)].name}"

    def seeds(self, count: int) -> list[str]:
        """Return ``count`` distinct home pages to start from, or all where there are fewer."""
        homes = [page.url for page in self.plan.of_kind["home"] if not self._linker.era(page)]
        return random.Random(f"{self._seed}/seeds").sample(homes, min(count, len(homes)))

    def users(self, count: int) -> list[User]:
        """Return ``count`` users, at most 65,000 with addresses of their own."""
        rng = random.Random(f"{self._seed}/users")
        users = []
        for number in rng.sample(range(256, 256 * 255), count):
            liked = rng.sample(self._topics, min(len(self._topics), rng.choice((1, 1, 2))))
            users.append(User(f"10.20.{number // 256}.{number % 256}", tuple(topic.name for topic in liked)))
        return users

    def access_log(self, users: int, accesses: int) -> Iterator[str]:
        """Yield the lines of a proxy's log of ``accesses`` page views, and what else such a log holds."""
        return write_log(self._seed, self.plan, self._linker, self.users(users), accesses)


def _found(content_type: str, body: bytes) -> Answer:
    return Answer(200, (("Content-Type", content_type),), body)


#: When all was recorded: equal webs make equal files.
_DATE = "2024-01-08T08:00:00Z"
#: The files of a web by what they hold.
FILES = {"archive": "pages.warc.gz", "log": "access.log.gz", "labels": "topics.tsv.gz", "seeds": "seeds.txt"}


def export(web: SyntheticWeb, directory: Path, users: int, accesses: int) -> dict[str, Path]:
    """Write a web's files into a directory that exists, and return them by what they hold."""
    files = {what: directory / name for what, name in FILES.items()}
    with files["archive"].open("wb") as file:
        for url in web.urls():
            file.write(record(url, web.answer(url, {})))
    _write(files["log"], web.access_log(users, accesses))
    _write(files["labels"], (f"{url}\t{category}" for url, category in web.labels()))
    files["seeds"].write_text("".join(f"{url}\n" for url in web.seeds(200)), encoding="utf-8")
    return files


def record(url: str, answer: Answer) -> bytes:
    """Return what is answered at a URL as a record in a gzip member of its own."""
    status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
    headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
    writer = WARCWriter(out := BytesIO(), gzip=False)
    named = {"WARC-Date": _DATE, "WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, url)}>"}
    told = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
    body = {"payload": BytesIO(answer.body), "length": len(answer.body)}
    writer.write_record(
        writer.create_warc_record(url, "response", warc_headers_dict=named, http_headers=told, **body)
    )
    return gzip.compress(out.getvalue(), mtime=0)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def synthetic_server(*web: int) -> ServerProcess:
    """Serve the `SyntheticWeb` of these parameters, seed first; return its process."""
    return ServerProcess("scentline_lab.synthetic.web", map(str, web))


if __name__ == "__main__":  # as `synthetic_server` starts it
    try:
        asyncio.run(serve(SyntheticWeb(*map(int, sys.argv[1:])).answer))
    except OSError as error:
        raise SystemExit(str(error)) from error
