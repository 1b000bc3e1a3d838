"""A web of hosts, half of whose pages are shells that a script fills from JSON.

Each host has four sections. Two have plain pages, two have shells: of a single-page application that fetches
its JSON, or of a framework that has it in the page. One section in ten mixes both. Links go within the host, to
the same section more often, and to others; those between pages on the topic are twice as likely.
"""

import asyncio
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from urllib.parse import urlsplit

from scentline.agents.offline.archive import Answer, plain
from scentline.agents.offline.serve import ServerProcess, serve
from scentline_lab.synthetic.plan import COMMON, TOPICS

SECTIONS = ("news", "wiki", "shop", "talk")
#: Words of a page, pages that it links to, and the share of pages on the topic.
WORDS, LINKS, ON_TOPIC = 120, 8, 0.25
_SHOW = """
const show = page => {
  document.title = page.title;
  const main = document.getElementById("app");
  const heading = main.appendChild(document.createElement("h1"));
  heading.textContent = page.title;
  for (const text of page.text) main.appendChild(document.createElement("p")).textContent = text;
  for (const [url, words] of page.links) {
    const link = main.appendChild(document.createElement("p")).appendChild(document.createElement("a"));
    link.href = url;
    link.textContent = words;
  }
};
const data = document.getElementById("data");
if (data) show(JSON.parse(data.textContent));
else fetch("/api" + location.pathname).then(answer => answer.json()).then(show);
"""


@dataclass
class Page:
    """A page: whether its scripts make it, and what it shows."""

    form: str  #: "plain", "fetched" or "inside", where its JSON is.
    topical: bool
    title: str
    text: list[str]
    links: list[tuple[str, str]] = field(default_factory=list)


class ScriptedWeb:
    """``hosts`` hosts of ``pages`` pages each, the same ones for the same seed."""

    def __init__(self, hosts: int, pages: int, seed: int = 1) -> None:
        self._made = hosts, pages, seed
        self._random = random.Random(seed)
        self.pages: dict[str, Page] = {}
        for host in range(hosts):
            forms = self._random.sample(["plain", "plain", "fetched", "inside"], 4)
            for number in range(pages):
                section = number % len(SECTIONS)
                form = forms[section]
                if (host * len(SECTIONS) + section) % 10 == 9:
                    form = self._random.choice(["plain", "fetched"])
                url = f"http://h{host:02}.test/{SECTIONS[section]}/{number}"
                self.pages[url] = self._page(form)
        self._link()

    def _page(self, form: str) -> Page:
        topical = self._random.random() < ON_TOPIC
        own = TOPICS[0].words if topical else self._random.choice(TOPICS[1:]).words
        words = self._random.choices([*own, *COMMON], k=WORDS)
        text = [" ".join(words[start : start + 40]) for start in range(0, WORDS, 40)]
        text[0] += " nebula" if topical else ""
        return Page(form, topical, " ".join(words[:4]), text)

    def _link(self) -> None:
        urls = list(self.pages)
        by_host: dict[str, list[str]] = {}
        for url in urls:
            by_host.setdefault(urlsplit(url).netloc, []).append(url)
        for url, page in self.pages.items():
            own = by_host[urlsplit(url).netloc]
            found = self._random.choices(own, k=LINKS - 2) + self._random.choices(urls, k=4)
            weights = [2 if page.topical and self.pages[target].topical else 1 for target in found]
            for target in dict.fromkeys(self._random.choices(found, weights, k=LINKS)):
                page.links.append((target, self.pages[target].title))

    @property
    def seeds(self) -> list[str]:
        """A plain page of every tenth host."""
        hosts = sorted({urlsplit(url).netloc for url in self.pages})[::10]
        return [
            next(url for url, page in self.pages.items() if host in url and page.form == "plain")
            for host in hosts
        ]

    def needs(self, url: str) -> bool:
        """Return whether a page needs scripts."""
        page = self.pages.get(url)
        return page is not None and page.form != "plain"

    def served(self) -> ServerProcess:
        """Serve it, in a process of its own."""
        return ServerProcess("bench.render.web", map(str, self._made))

    def answer(self, url: str, _headers: Mapping[str, str]) -> Answer:
        """Answer a request for an absolute URL."""
        parts = urlsplit(url)
        path = parts.path.removeprefix("/api")
        page = self.pages.get(f"http://{parts.netloc}{path}")
        if parts.path == "/app.js":
            return _answer("text/javascript", _SHOW)
        if parts.path in ("/site.js", "/site.css"):
            return _answer("text/javascript" if parts.path == "/site.js" else "text/css", "")
        if page is None:
            return plain(404, "no such page")
        shown = json.dumps({"title": page.title, "text": page.text, "links": page.links})
        if path != parts.path:
            return _answer("application/json", shown)
        return _answer("text/html; charset=utf-8", _html(page, shown))


def _answer(kind: str, body: str) -> Answer:
    return Answer(200, (("Content-Type", kind),), body.encode())


def _html(page: Page, shown: str) -> str:
    top = f"<!DOCTYPE html><title>{escape(page.title)}</title><header><nav>Home News About</nav></header>"
    if page.form == "plain":
        text = "".join(f"<p>{escape(each)}</p>" for each in page.text)
        links = "".join(f'<p><a href="{url}">{escape(words)}</a></p>' for url, words in page.links)
        return f"{top}<script src=/site.js></script><main><h1>{escape(page.title)}</h1>{text}{links}</main>"
    data = f"<script id=data type=application/json>{shown}</script>" if page.form == "inside" else ""
    return f"{top}<div id=app></div>{data}<script src=/app.js></script>"


if __name__ == "__main__":
    asyncio.run(serve(ScriptedWeb(*map(int, sys.argv[1:])).answer))
