"""The log of a proxy through which the synthetic web's users browse, in Squid's native format, with all that a
real one holds beside page views.
"""

import heapq
import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from scentline.agents.offline.serve import squid_line
from scentline_lab.synthetic.links import Linker
from scentline_lab.synthetic.plan import Plan

# A link to a page of a user's taste is this many times as likely to be followed as another one.
_PULL = 8.0
# Sessions that begin at a page of the user's taste, as from a search; the others at a home page.
_BEGIN_AT_TASTE = 0.75
_GO_ON, _GO_BACK = 0.88, 0.15
_MAX_SESSION = 40


class User(NamedTuple):
    """A person: the address that stands in the log, and the names of one or two topics they like."""

    address: str
    tastes: tuple[str, ...]


#: What a request met: a page seen, the old URL of a page, or a dead link.
Met: TypeAlias = Literal["page", "moved", "missing"]


def _browse(rng: random.Random, plan: Plan, linker: Linker, user: User) -> Iterator[tuple[str, Met]]:
    """Yield the URLs of one session, which robots.txt does not bind, with what each met."""
    at_taste = rng.random() < _BEGIN_AT_TASTE
    page = linker.popular(rng, rng.choice(user.tastes)) if at_taste else rng.choice(plan.of_kind["home"])
    before = page
    yield page.url, "page"
    for _ in range(_MAX_SESSION):
        if rng.random() > _GO_ON:
            return
        if rng.random() < _GO_BACK:
            page = before
        seen = [link for link in linker.links(page) if not link.target.endswith(".pdf")]
        if not seen:
            return
        topics = (link.page.topic if link.page else None for link in seen)
        liked = [topic is not None and topic.name in user.tastes for topic in topics]
        link = rng.choices(seen, weights=[_PULL if each else 1.0 for each in liked])[0]
        if link.page is None:
            yield link.target, "missing"
            continue
        if link.target in plan.moved:
            yield link.target, "moved"
        yield link.page.url if link.target in plan.moved else link.target, "page"
        before, page = page, link.page


#: 2024-01-08, a Monday, 08:00 UTC.
START = 1_704_700_800.0
_BETWEEN_SESSIONS = 1800.0
_BETWEEN_PAGES = 25.0
_REDIRECT = 0.2
_LOGO_KEPT: dict[str, Any] = {"size": 310, "result": "TCP_MEM_HIT", "content_type": "image/png"}
_LOGO_AGAIN, _SEARCH, _TUNNEL, _MALFORMED = 0.2, 0.03, 0.02, 0.004


def write_log(seed: int, plan: Plan, linker: Linker, users: Sequence[User], accesses: int) -> Iterator[str]:
    """Yield the lines, in time order, of ``accesses`` page views; no users, no lines."""
    rng = random.Random(f"{seed}/log")
    proxy = _Proxy(rng, plan)
    # The user whose next session is due first; sessions of different users overlap.
    due = [(START + rng.expovariate(1 / _BETWEEN_SESSIONS), number) for number in range(len(users))]
    heapq.heapify(due)
    while due and proxy.views < accesses:
        time, number = heapq.heappop(due)
        redirected = False
        for url, met in _browse(rng, plan, linker, users[number]):
            time += _REDIRECT if redirected else rng.expovariate(1 / _BETWEEN_PAGES)
            redirected = met == "moved"
            proxy.request(time, users[number].address, url, met)
            if proxy.views == accesses:
                break
        heapq.heappush(due, (time + rng.expovariate(1 / _BETWEEN_SESSIONS), number))
    for _, _, line in sorted(proxy.events):
        if rng.random() < _MALFORMED:
            yield _damaged(rng, line)
        yield line


class _Proxy:
    """Gathers the lines that requests leave, with their time and number."""

    def __init__(self, rng: random.Random, plan: Plan) -> None:
        self.events: list[tuple[float, int, str]] = []
        self.views = 0
        self._rng, self._plan = rng, plan
        self._hosts = {site.host: number for number, site in enumerate(plan.sites)}
        self._seen: set[tuple[str, str]] = set()

    def request(self, time: float, client: str, url: str, met: Met) -> None:
        if met == "moved":
            self._log(time, client, url, status=self._plan.moved[url][0], size=310, content_type="text/plain")
        elif met == "missing":
            self._log(time, client, url, status=404, size=290, content_type="text/plain")
        else:
            self.views += 1
            self._view(time, client, url)

    def _view(self, time: float, client: str, url: str) -> None:
        """Log a page view, and what the browser asks for on its account."""
        rng = self._rng
        if (client, url) in self._seen and rng.random() < 0.5:
            self._log(time, client, url, status=304, size=210, result="TCP_REFRESH_UNMODIFIED")
        else:
            self._log(time, client, url, size=rng.randint(2500, 6000), content_type="text/html")
        self._seen.add((client, url))
        root = f"http://{urlsplit(url).netloc}"
        if (client, root) not in self._seen:
            self._log(time + 0.15, client, f"{root}/style.css", size=240, content_type="text/css")
            self._log(time + 0.21, client, f"{root}/logo.png", size=310, content_type="image/png")
            self._seen.add((client, root))
        elif rng.random() < _LOGO_AGAIN:
            self._log(time + 0.2, client, f"{root}/logo.png", **_LOGO_KEPT)
        if rng.random() < _SEARCH:
            found = rng.randint(900, 4000)
            self._log(time + 6, client, f"{root}/search", method="POST", size=found, content_type="text/html")
        if rng.random() < _TUNNEL:
            self._log(time + 1, client, "mail.example:443", method="CONNECT", size=4100, result="TCP_TUNNEL")

    def _log(self, time: float, client: str, url: str, **fields: Any) -> None:
        hit = fields.get("result") == "TCP_MEM_HIT"
        place = self._hosts.get(urlsplit(url).netloc, 200) % 200 + 1
        fields = {"status": 200, "method": "GET", "content_type": None, **fields}
        fields["elapsed"] = 0 if hit else self._rng.randint(4, 400)
        fields["server"], fields["hierarchy"] = (
            ("-", "HIER_NONE") if hit else (f"192.0.2.{place}", "HIER_DIRECT")
        )
        self.events.append((time, len(self.events), squid_line(time=time, client=client, url=url, **fields)))


def _damaged(rng: random.Random, line: str) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return line[: rng.randint(5, 40)]
    if kind == 1:
        return line.replace(" ", "")
    return "2024/01/08 09:00:00| WARNING: disk is full" if kind == 2 else "\x00\x00\x16\x03\x01"
