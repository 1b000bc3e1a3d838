"""A web of three hosts whose pages change by a script, and the truth: what holds at each time.

Time in the web is what its clock says, a number that a test sets.
Every answer has a date, a number of visitors and the same navigation in it, so that no two have the same bytes;
some pages have versions and are asked for another one only.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Literal, NamedTuple

from scentline.models.words import words
from tests.webs.serving import Exchange, serving

HOSTS = ("127.0.0.1", "localhost", "a.localhost")
#: Predicates and what they look for; a page says one of the words, or none.
WORDS = {"snow": '"snow"', "sea": '"sea"'}
START = 1_700_000_000

Versioned = Literal["", "etag", "last-modified"]


@dataclass(frozen=True)
class Look:
    """What a page is from some time on: what it ``says``, and where it links, by names of pages.

    It has a ``status`` of its own where there is none; with ``to`` it has moved there for good. So many
    requests since that time are answered with 404 as ``missing`` says. What it says is all of it that lasts:
    its links are numbered.
    """

    says: str = ""
    links: tuple[str, ...] = ()
    status: int = 200
    to: str = ""
    noindex: bool = False
    missing: int = 0
    versioned: Versioned = ""

    @property
    def stands(self) -> bool:
        """Whether there is a page that may be judged."""
        return self.status == 200 and not self.to and not self.noindex


#: What becomes of pages, by their names: what each is from a time on. The number is that of its host.
Script = Mapping[str, Mapping[float, Look]]


class Asked(NamedTuple):
    """A request: when it came by the web's clock, for which page, and how it was answered."""

    at: float
    name: str
    status: int


@dataclass
class Changing:
    """The pages, what was asked for, and what holds when."""

    script: Script
    clock: Callable[[], float]
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    _missed: Counter[tuple[str, float]] = field(default_factory=Counter)

    def url(self, name: str) -> str:
        """Return the URL of a page."""
        number, _, path = name.partition("/")
        return f"http://{HOSTS[int(number)]}:{self.port}/{path}"

    def name(self, url: str) -> str:
        """Return a page's name by its URL."""
        host, _, path = url.removeprefix("http://").partition("/")
        return f"{HOSTS.index(host.partition(':')[0])}/{path}"

    # the truth

    def since(self, name: str, at: float) -> float | None:
        """Return since when a page is what it is at a time; None where it never was anything."""
        return max((time for time in self.script.get(name, {}) if time <= at), default=None)

    def look(self, name: str, at: float) -> Look:
        """Return what a page is at a time."""
        since = self.since(name, at)
        return Look(status=404) if since is None else self.script[name][since]

    def matches(self, word: str, at: float) -> dict[str, str]:
        """Return what the pages say that satisfy a predicate at a time."""
        looks = {name: self.look(name, at) for name in self.script}
        return {name: look.says for name, look in looks.items() if look.stands and word in words(look.says)}

    def changes(self, word: str, before: float | None, at: float) -> set[tuple[str, str, str]]:
        """Return what became of a predicate's matches between two times: predicate, kind, page."""
        old, new = {} if before is None else self.matches(word, before), self.matches(word, at)
        found = {(word, "appeared", name) for name in new.keys() - old.keys()}
        found |= {(word, "changed", name) for name in new.keys() & old.keys() if new[name] != old[name]}
        for name in old.keys() - new.keys():
            found.add((word, "moved" if self.look(name, at).to else "left", name))
        return found

    def told(self, change: Mapping[str, str]) -> tuple[str, str, str]:
        """Return a change that was told as the truth names it."""
        return change["predicate"], change["kind"], self.name(change["url"])

    # what is served

    async def answer(self, exchange: Exchange) -> None:
        """Answer, and note what was asked for."""
        at, name = self.clock(), f"{HOSTS.index(exchange.host)}{exchange.path}"
        self._answer(exchange, name, at)
        self.asked.append(Asked(at, name, exchange.status))

    def _answer(self, exchange: Exchange, name: str, at: float) -> None:
        since, look = self.since(name, at), self.look(name, at)
        if exchange.path == "/robots.txt":
            exchange.send(200, kind="text/plain")
        elif since is None or self._missed[name, since] < look.missing:
            self._missed[name, since or 0.0] += 1
            exchange.send(404)
        elif look.to:
            exchange.send(301, Location=self.url(look.to))
        elif look.status != 200:
            exchange.send(look.status)
        else:
            versions = {"etag": f'"{since}"', "last-modified": formatdate(START + since, usegmt=True)}
            given = {look.versioned: versions[look.versioned]} if look.versioned else {}
            known = {exchange.headers.get(field) for field in ("if-none-match", "if-modified-since")}
            if known & set(given.values()):
                exchange.send(304, b"", **given)
            else:
                exchange.send(200, self._page(name, look, at), **given)

    def _page(self, name: str, look: Look, at: float) -> bytes:
        robots = '<meta name="robots" content="noindex">' if look.noindex else ""
        date = time.strftime("%A, %d %B %Y, %H:%M:%S", time.gmtime(START + at))
        links = "".join(f'<p><a href="{self.url(to)}">{number}</a></p>' for number, to in enumerate(look.links))
        return (
            f"<title>Page {name[2:]}</title>{robots}<nav><a href='{self.url('0/')}'>Home</a></nav>"
            f"<p>{date}, {len(self.asked)} visitors</p><p>{look.says}</p>{links}"
        ).encode()


@contextmanager
def changing(web: Changing) -> Iterator[None]:
    """Serve a web."""
    with serving(web.answer) as served:
        web.port = served.port
        yield


#: The last of the times at which something changes in `web`: 0, 1, 2 and 3.
LAST = 3
_PLAIN = tuple(f"{number % 3}/plain/{number}" for number in range(12))


def script() -> Script:
    """Return pages of every kind of becoming, and some that stay as they are."""
    snow = "Deep snow lies on the hills."
    etag: Versioned = "etag"
    modified: Versioned = "last-modified"
    moved = "Here is the snow that lay elsewhere."
    named: dict[str, dict[float, Look]] = {
        "0/still": {0: Look(f"{snow} Always.", versioned=etag)},
        "1/dated": {0: Look(f"{snow} Told with its date.")},
        "2/edited": {
            0: Look(f"{snow} At first."),
            1: Look(f"{snow} And then more."),
            3: Look("The snow has gone nearly."),
        },
        "0/versioned": {
            0: Look(f"{snow} One.", versioned=modified),
            2: Look(f"{snow} Two.", versioned=modified),
        },
        "1/turning": {
            0: Look("Grass grows on hills.", versioned=etag),
            1: Look(f"{snow} It fell.", versioned=etag),
            2: Look("The sea is near.", versioned=etag),
            3: Look(f"{snow} It fell once more.", versioned=etag),
        },
        "2/moment": {
            0: Look(f"{snow} For all but a moment."),
            2: Look(f"{snow} For all but a moment.", missing=1),
        },
        "0/gone": {0: Look(f"{snow} Until it melts.", ("1/kept", "2/plain/2")), 2: Look(status=410)},
        "1/moved": {0: Look(f"{snow} It lies here."), 2: Look(to="0/here")},
        "0/here": {2: Look(moved, ("2/moment",))},
        "2/barred": {0: Look(f"{snow} For the few."), 2: Look(f"{snow} For the few.", noindex=True)},
        "1/leading": {
            0: Look(f"{snow} With ways.", ("0/plain/0",)),
            1: Look(f"{snow} With ways.", ("0/plain/0", "2/added")),
            3: Look(f"{snow} With ways.", ("2/added",)),
        },
        "2/added": {1: Look(f"{snow} New."), 2: Look("The sea is wide.")},
        "1/kept": {0: Look("The sea and the snow.")},
    }
    for number, name in enumerate(_PLAIN):
        links = (_PLAIN[(number + 1) % len(_PLAIN)], _PLAIN[(number + 5) % len(_PLAIN)])
        says = f"Nothing but {('grass', 'the sea', 'stones')[number % 3]}, number {'abcdefghijkl'[number] * 3}."
        named[name] = {0: Look(says, links, versioned=etag if number % 2 else "")}
    first = tuple(name for name, looks in named.items() if 0 in looks)
    return {"0/": {0: Look("Welcome to all.", first)}, **named}
