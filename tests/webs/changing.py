"""A web of three hosts whose pages change by a script, and the truth: what holds at each time.

Time in the web is what its clock says: a number that a test sets, or the requests so far.
Every answer has a date, a number of visitors and the same navigation in it, so that no two have the same bytes;
some pages have versions and are asked for another one only.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from typing import NamedTuple

from scentline.models.words import words
from tests.webs.serving import Exchange, serving

HOSTS = ("127.0.0.1", "localhost", "a.localhost")
#: Predicates and what they look for; a page says one of the words, or none.
WORDS = {"snow": '"snow"', "sea": '"sea"'}
START = 1_700_000_000


class Look(NamedTuple):
    """What a page is from some time on: what it ``says``, and where it links, by names of pages.

    It has a ``status`` of its own where there is none; with ``to`` it has moved there for good. So many
    requests since that time are answered with 404 as ``missing`` says. What it says is all of it that lasts:
    its links are numbered. It is ``versioned`` by an etag, by last-modified, or not at all.
    """

    says: str = ""
    links: tuple[str, ...] = ()
    status: int = 200
    to: str = ""
    noindex: bool = False
    missing: int = 0
    versioned: str = ""

    @property
    def stands(self) -> bool:
        return self.status == 200 and not self.to and not self.noindex


#: What becomes of pages, by their names: what each is from a time on. The number is that of its host.
Script = Mapping[str, Mapping[float, Look]]


class Asked(NamedTuple):
    """A request: when it came by the web's clock and by ours, for which page, and its answer; or for another
    version of that page only.
    """

    at: float
    time: float
    name: str
    status: int
    conditional: bool


class Changing:
    """The pages, what was asked for, and what holds when."""

    def __init__(self, script: Script, clock: Callable[[], float]) -> None:
        self.script, self.clock, self.port = script, clock, 0
        self.asked: list[Asked] = []
        self._missed: Counter[tuple[str, float]] = Counter()

    def url(self, name: str) -> str:
        number, _, path = name.partition("/")
        return f"http://{HOSTS[int(number)]}:{self.port}/{path}"

    def of(self, name: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.name == name]

    def name(self, url: str) -> str:
        host, _, path = url.removeprefix("http://").partition("/")
        return f"{HOSTS.index(host.partition(':')[0])}/{path}"

    # the truth

    def _since(self, name: str, at: float) -> tuple[float, Look]:
        known = [(time, look) for time, look in self.script.get(name, {}).items() if time <= at]
        return max(known, default=(-1.0, Look(status=404)))

    def look(self, name: str, at: float) -> Look:
        return self._since(name, at)[1]

    def matches(self, word: str, at: float) -> dict[str, str]:
        looks = {name: self.look(name, at) for name in self.script}
        return {name: look.says for name, look in looks.items() if look.stands and word in words(look.says)}

    def changes(self, word: str, before: float | None, at: float) -> set[tuple[str, str, str]]:
        """Return what became of a predicate's matches between two times: predicate, kind, page."""
        old, new = {} if before is None else self.matches(word, before), self.matches(word, at)
        found = {(word, "appeared", name) for name in new.keys() - old.keys()}
        found |= {(word, "changed", name) for name in new.keys() & old.keys() if new[name] != old[name]}
        gone = old.keys() - new.keys()
        return found | {(word, "moved" if self.look(name, at).to else "left", name) for name in gone}

    def told(self, change: Mapping[str, str]) -> tuple[str, str, str]:
        return change["predicate"], change["kind"], self.name(change["url"])

    # what is served

    @contextmanager
    def served(self) -> Iterator[None]:
        with serving(self._answer) as served:
            self.port = served.port
            yield

    async def _answer(self, exchange: Exchange) -> None:
        at, now, name = self.clock(), time.time(), f"{HOSTS.index(exchange.host)}{exchange.path}"
        since, look = self._since(name, at)
        versions = {"etag": f'"{since}"', "last-modified": formatdate(START + since, usegmt=True)}
        given = {look.versioned: versions[look.versioned]} if look.versioned else {}
        known = {exchange.headers.get(field) for field in ("if-none-match", "if-modified-since")} - {None}
        if exchange.path == "/robots.txt":
            exchange.send(200, kind="text/plain")
        elif self._missed[name, since] < look.missing:
            self._missed[name, since] += 1
            exchange.send(404)
        elif look.to:
            exchange.send(301, Location=self.url(look.to))
        elif look.status != 200:
            exchange.send(look.status)
        elif known & {*given.values()}:
            exchange.send(304, b"", **given)
        else:
            exchange.send(200, self._page(name, look, at), **given)
        self.asked.append(Asked(at, now, name, exchange.status, bool(known)))

    def _page(self, name: str, look: Look, at: float) -> bytes:
        robots = '<meta name="robots" content="noindex">' if look.noindex else ""
        date = time.strftime("%A, %d %B %Y, %H:%M:%S", time.gmtime(START + at))
        links = "".join(f'<p><a href="{self.url(to)}">{number}</a></p>' for number, to in enumerate(look.links))
        return (
            f"<title>Page {name[2:]}</title>{robots}<nav><a href='{self.url('0/')}'>Home</a></nav>"
            f"<p>{date}, {len(self.asked)} visitors</p><p>{look.says}</p>{links}"
        ).encode()


#: The last of the times at which something changes in `script`: 0, 1, 2 and 3.
LAST = 3
_PLAIN = tuple(f"{number % 3}/plain/{number}" for number in range(12))


def script() -> Script:
    """Return pages of every kind of becoming, and some that stay as they are."""

    def snow(says: str, *links: str, versioned: str = "", missing: int = 0, noindex: bool = False) -> Look:
        says = f"Deep snow lies on the hills. {says}"
        return Look(says, links, versioned=versioned, missing=missing, noindex=noindex)

    dated, etag = "last-modified", "etag"
    moment = "For all but a moment."
    named: dict[str, dict[float, Look]] = {
        "0/still": {0: snow("Always.", versioned=etag)},
        "1/dated": {0: snow("Told with its date.")},
        "2/edited": {0: snow("At first."), 1: snow("And then more."), 3: Look("The snow has gone nearly.")},
        "0/versioned": {0: snow("One.", versioned=dated), 2: snow("Two.", versioned=dated)},
        "1/turning": {
            0: Look("Grass grows on hills.", versioned=etag), 1: snow("It fell.", versioned=etag),
            2: Look("The sea is near.", versioned=etag), 3: snow("It fell once more.", versioned=etag),
        },
        "2/moment": {0: snow(moment), 2: snow(moment, missing=1)},
        "0/gone": {0: snow("Until it melts.", "1/kept", "2/plain/2"), 2: Look(status=410)},
        "1/moved": {0: snow("It lies here."), 2: Look(to="0/here")},
        "0/here": {2: Look("Here is the snow that lay elsewhere.", ("2/moment",))},
        "2/barred": {0: snow("For the few."), 2: snow("For the few.", noindex=True)},
        "1/leading": {
            0: snow("With ways.", "0/plain/0"), 1: snow("With ways.", "0/plain/0", "2/added"),
            3: snow("With ways.", "2/added"),
        },
        "2/added": {1: snow("New."), 2: Look("The sea is wide.")},
        "1/kept": {0: Look("The sea and the snow.")},
    }  # fmt: skip
    for number, name in enumerate(_PLAIN):
        links = (_PLAIN[(number + 1) % len(_PLAIN)], _PLAIN[(number + 5) % len(_PLAIN)])
        says = f"Nothing but {('grass', 'the sea', 'stones')[number % 3]}, number {'abcdefghijkl'[number] * 3}."
        named[name] = {0: Look(says, links, versioned="etag" if number % 2 else "")}
    first = tuple(name for name, looks in named.items() if 0 in looks)
    return {"0/": {0: Look("Welcome to all.", first)}, **named}
