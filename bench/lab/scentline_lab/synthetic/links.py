"""The links of the synthetic web's pages: where topical locality comes from.

An article links within its section, to other sites, to a few pages at random, and to its home page and hub.
Hubs list the articles of their section, home pages hubs, some articles and other home pages. Users follow them
through a proxy, whose log, in Squid's native format, has all that a real one holds beside page views.
"""

import heapq
import random
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scentline.agents.offline.serve import squid_line
from scentline_lab.synthetic.plan import HUB_SIZE, Plan, PlannedPage

_WITHIN, _ACROSS, _NOISE = 4, 3, 3
# Of the links within a section: to the same sub-topic, and to the same topic at least.
_SAME_SUBTOPIC, _SAME_TOPIC = 0.35, 0.25
# Of the links across sites: to the same topic; of those, to the same sub-topic.
_ACROSS_SAME_TOPIC, _ACROSS_SAME_SUBTOPIC = 0.55, 0.6
# Of the links to an article: to its old URL, or to a page of its site that is gone.
_TO_OLD, _TO_MISSING = 0.3, 0.02
_TO_PRIVATE, _TO_FILE = 0.08, 0.04
_FEATURED, _NEIGHBOURS = 6, 3
# Of the links drawn to a site of the next era, those that are taken; none leads further, or back.
_TO_NEXT_ERA = 0.15
#: The number of the day follows.
CALENDAR = "/calendar/day/"
_GENERIC = ("read more", "here", "this page", "more about it", "continue")


class Hyperlink(NamedTuple):
    """A link as its page has it, a picture without ``anchor``; ``page`` is None where there is none."""

    href: str
    target: str
    anchor: str
    place: str
    page: PlannedPage | None


class Linker:
    """Chooses each page's links; `SyntheticWeb` says what ``dead`` links, calendars and eras are."""

    def __init__(self, seed: int, plan: Plan, dead: float, *, calendars: bool, eras: int) -> None:
        self._seed, self._plan = seed, plan
        self._dead, self._calendars, self._eras = dead, calendars, eras
        self._nearby: dict[tuple[int, int, str], list[PlannedPage]] = {}
        self._popularity: dict[str, list[float]] = {}

    def links(self, page: PlannedPage) -> list[Hyperlink]:
        rng = random.Random(f"{self._seed}/links/{page.number}")
        found = {"home": self._of_home, "hub": self._of_hub}.get(page.kind, self._of_article)(rng, page)
        if self._dead:
            chance = random.Random(f"{self._seed}/dead/{page.number}")
            found = [self._gone(link) if chance.random() < self._dead else link for link in found]
        if self._calendars and page.kind in ("home", "hub"):
            found.append(self._own(page, f"{CALENDAR}0", "calendar", "nav"))
        return found

    def _own(
        self, page: PlannedPage, path: str, anchor: str, place: str, to: PlannedPage | None = None
    ) -> Hyperlink:
        return Hyperlink(path, f"http://{self._plan.sites[page.site].host}{path}", anchor, place, to)

    def _gone(self, link: Hyperlink) -> Hyperlink:
        to = link.page
        if to is None or to.kind != "article":
            return link
        target = f"http://{self._plan.sites[to.site].host}/archive/{_path(to.url).rpartition('/')[2]}"
        return Hyperlink(target, target, link.anchor, link.place, None)

    def _of_home(self, rng: random.Random, page: PlannedPage) -> list[Hyperlink]:
        plan, site = self._plan, page.site
        sections = range(len(plan.sites[site].sections))
        own = [article for section in sections for article in plan.placed["article", site, section]]
        homes = (home for home in plan.of_kind["home"] if home is not page)
        others = [home for home in homes if self._near_in_time(rng, page, home)]
        return [
            *(self._link(rng, page, plan.placed["hub", site, section][0], "nav") for section in sections),
            *(self._link(rng, page, found, "list") for found in _sample(rng, own, _FEATURED)),
            *(self._link(rng, page, found, "foot") for found in _sample(rng, others, _NEIGHBOURS)),
        ]

    def _of_hub(self, rng: random.Random, page: PlannedPage) -> list[Hyperlink]:
        plan, place = self._plan, (page.site, page.section)
        hubs = plan.placed["hub", *place]
        index = hubs.index(page)
        listed = plan.placed["article", *place][index * HUB_SIZE : (index + 1) * HUB_SIZE]
        private = plan.placed["private", *place]
        return [
            self._link(rng, page, plan.of_kind["home"][page.site], "nav", "home"),
            *(self._link(rng, page, article, "list") for article in listed),
            *(self._link(rng, page, found, "foot") for found in _sample(rng, private, 1)),
            *(self._link(rng, page, hub, "foot", "next page") for hub in hubs[index + 1 : index + 2]),
        ]

    def _of_article(self, rng: random.Random, page: PlannedPage) -> list[Hyperlink]:
        plan, place = self._plan, (page.site, page.section)
        body = [self._within(rng, page) for _ in range(_WITHIN)]
        body += [self._across(rng, page, topical=number < _ACROSS) for number in range(_ACROSS + _NOISE)]
        if (private := plan.placed["private", *place]) and rng.random() < _TO_PRIVATE:
            body.append(rng.choice(private))
        rng.shuffle(body)
        distinct = [found for found in dict.fromkeys(body) if found is not page]
        found = [
            self._link(rng, page, plan.of_kind["home"][page.site], "nav", "home"),
            self._link(rng, page, plan.placed["hub", *place][0], "nav"),
            *(self._link(rng, page, found, "body") for found in distinct),
        ]
        if (copy := plan.copy_url.get(page.number)) is not None:
            found.append(self._own(page, _path(copy), "print version", "foot", page))
        if rng.random() < _TO_FILE:
            found.append(self._own(page, "/files/report.pdf", "report (PDF)", "foot"))
        return found

    def _within(self, rng: random.Random, page: PlannedPage) -> PlannedPage:
        assert page.topic is not None
        section = self._plan.placed["article", page.site, page.section]
        if self._plan.opaque or (point := rng.random()) >= _SAME_SUBTOPIC + _SAME_TOPIC:
            return rng.choice(section)
        category = page.category if point < _SAME_SUBTOPIC else page.topic.name
        key = (page.site, page.section, category)
        if key not in self._nearby:  # those of its sub-topics among them
            self._nearby[key] = [each for each in section if f"{each.category}.".startswith(f"{category}.")]
        return rng.choice(self._nearby[key] or section)

    def _near_in_time(self, rng: random.Random, page: PlannedPage, other: PlannedPage) -> bool:
        later = self.era(other) - self.era(page)
        return later == 0 or (later == 1 and rng.random() < _TO_NEXT_ERA)

    def era(self, page: PlannedPage) -> int:
        """Return the era of a page's site, from 0: sites are divided in their order."""
        return page.site * self._eras // len(self._plan.sites)

    def _across(self, rng: random.Random, page: PlannedPage, *, topical: bool) -> PlannedPage:
        """Draw an article of any site until it is of the page's era, or now and then of the next."""
        assert page.topic is not None
        while True:
            if not topical or self._plan.opaque or rng.random() >= _ACROSS_SAME_TOPIC:
                found = rng.choice(self._plan.of_kind["article"])
            else:
                kept = rng.random() < _ACROSS_SAME_SUBTOPIC
                found = self.popular(rng, page.category if kept else page.topic.name)
            if self._near_in_time(rng, page, found):
                return found

    def popular(self, rng: random.Random, category: str) -> PlannedPage:
        """Return an article of a category; the k-th most popular one is 1/sqrt(k) as likely as the first."""
        found = self._plan.of_category[category] or self._plan.of_kind["article"]
        if category not in self._popularity:
            order = list(range(1, len(found) + 1))
            random.Random(f"{self._seed}/popularity/{category}").shuffle(order)
            self._popularity[category] = list(accumulate(rank**-0.5 for rank in order))
        return rng.choices(found, cum_weights=self._popularity[category])[0]

    def _link(
        self, rng: random.Random, page: PlannedPage, to: PlannedPage, place: str, anchor: str | None = None
    ) -> Hyperlink:
        target, reached = to.url, True
        if to.kind == "article" and place != "list":
            point = rng.random()
            if point < _TO_MISSING:
                target, reached = rng.choice(self._plan.missing[to.site]), False
            elif point < _TO_OLD:
                target = self._plan.old_url.get(to.number, target)
        href = _written(rng, target, same_site=to.site == page.site)
        return Hyperlink(href, target, anchor or self._anchor(rng, to), place, to if reached else None)

    def _anchor(self, rng: random.Random, to: PlannedPage) -> str:
        if self._plan.opaque:
            return rng.choice((*_GENERIC, str(rng.randint(1, 99)), ""))
        words = to.title.split()
        if to.kind in ("home", "hub") or len(words) < 3:
            return to.title
        point = rng.random()
        if point < 0.15:
            return rng.choice(_GENERIC)
        return to.title if point < 0.4 else " ".join(words[: rng.randint(2, 3)])


def _written(rng: random.Random, target: str, *, same_site: bool) -> str:
    """Return the target as an author may write it: relative, with a fragment, or with a needless port."""
    href = _path(target) if same_site else target
    point = rng.random()
    if point < 0.08:
        return f"{href}#part-{rng.randint(1, 4)}"
    if point < 0.12 and not same_site:
        host = urlsplit(target).netloc
        return target.replace(host, f"{host.upper()}:80", 1)
    return href


def _path(url: str) -> str:
    return urlsplit(url).path


def _sample(rng: random.Random, pages: Sequence[PlannedPage], count: int) -> list[PlannedPage]:
    return rng.sample(pages, min(count, len(pages)))


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


def _browse(rng: random.Random, plan: Plan, linker: Linker, user: User) -> Iterator[tuple[str, int]]:
    """Yield the URLs of one session, which robots.txt does not bind, and the status of each answer."""
    at_taste = rng.random() < _BEGIN_AT_TASTE
    page = linker.popular(rng, rng.choice(user.tastes)) if at_taste else rng.choice(plan.of_kind["home"])
    before = page
    yield page.url, 200
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
            yield link.target, 404
            continue
        if link.target in plan.moved:
            yield link.target, plan.moved[link.target][0]
        yield link.page.url if link.target in plan.moved else link.target, 200
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
        for url, status in _browse(rng, plan, linker, users[number]):
            time += _REDIRECT if redirected else rng.expovariate(1 / _BETWEEN_PAGES)
            redirected = status in (301, 302)
            proxy.request(time, users[number].address, url, status)
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
        self._rng = rng
        self._hosts = {site.host: number for number, site in enumerate(plan.sites)}
        self._seen: set[tuple[str, str]] = set()

    def request(self, time: float, client: str, url: str, status: int) -> None:
        """Log a request, and what the browser asks for on account of a page view."""
        if status != 200:
            size = 290 if status == 404 else 310
            self._log(time, client, url, status=status, size=size, content_type="text/plain")
            return
        rng = self._rng
        self.views += 1
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
        fields |= {"server": "-", "hierarchy": "HIER_NONE"} if hit else {"server": f"192.0.2.{place}"}
        self.events.append((time, len(self.events), squid_line(time=time, client=client, url=url, **fields)))


def _damaged(rng: random.Random, line: str) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return line[: rng.randint(5, 40)]
    if kind == 1:
        return line.replace(" ", "")
    return "2024/01/08 09:00:00| WARNING: disk is full" if kind == 2 else "\x00\x00\x16\x03\x01"
