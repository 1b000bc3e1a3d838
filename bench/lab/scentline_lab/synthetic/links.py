"""The links of the synthetic web's pages: where topical locality comes from.

An article links within its section, to other sites, to a few pages at random, and to its home page and hub.
Hubs list the articles of their section, home pages hubs, some articles and other home pages.
"""

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import urlsplit

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
#: The anchor text of a link that is a picture.
PICTURE = ""
_GENERIC = ("read more", "here", "this page", "more about it", "continue")


class Hyperlink(NamedTuple):
    """A link as its page has it; ``page`` is the planned page that it leads to, None where there is none."""

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
            return rng.choice((*_GENERIC, str(rng.randint(1, 99)), PICTURE))
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
