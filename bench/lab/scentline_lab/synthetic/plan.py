"""The plan of a synthetic web: its sites, which pages there are, where, and what each is about. A site has a
host name, sections with topics, and an encoding.
"""

import random
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Subtopic:
    """A part of a topic; ``words[0]``, its keyword, stands on each of its pages."""

    name: str
    words: tuple[str, ...]

    @property
    def keyword(self) -> str:
        return self.words[0]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its name as categories write it, its words from frequent to rare, and its sub-topics."""

    name: str
    words: tuple[str, ...]
    subtopics: tuple[Subtopic, ...]


#: The words of the web: topics with sub-topics, and words of every page.
_FILE = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))
TOPICS: tuple[Topic, ...] = tuple(
    Topic(
        topic["name"],
        tuple(topic["words"].split()),
        tuple(Subtopic(name, tuple(words.split())) for name, words in topic["subtopics"].items()),
    )
    for topic in _FILE["topics"]
)
COMMON: tuple[str, ...] = tuple(_FILE["common"].split())


SECTIONS = 4
_NAMES = (
    "northgate", "blueharbour", "quillworks", "oldmill", "lanternpost", "stonebridge", "foxglove",
    "tidewater", "highfield", "amberline", "copperleaf", "windrose", "ironwood", "marlowe", "silverbirch",
    "papermoon",
)  # fmt: skip
_NEUTRAL_SECTIONS = ("articles", "stories", "library", "notes", "features", "corner")


@dataclass(frozen=True, slots=True)
class Site:
    """A host; ``declared`` says whether the Content-Type header names the encoding, as its pages do."""

    host: str
    sections: tuple[tuple[str, Topic], ...]
    encoding: str
    declared: bool
    robots: bool


def make_sites(
    rng: random.Random, count: int, topics: tuple[Topic, ...], owners: int | None, *, opaque: bool
) -> list[Site]:
    """Return sites of four sections each; every topic has about as many sections as another. Beyond so many
    ``owners`` a site's host lies in the domain of an earlier site, of each in turn. In an ``opaque`` web
    sections are named by numbers.
    """
    names = rng.sample(_NAMES, len(_NAMES))
    dealt: list[Topic] = []
    sites: list[Site] = []
    for number in range(count):
        while len(dealt) < SECTIONS:
            dealt += rng.sample(topics, len(topics))
        chosen, dealt = dealt[:SECTIONS], dealt[SECTIONS:]
        name = names[number % len(names)] + (str(number // len(names)) if number >= len(names) else "")
        encodings = {1: ("iso-8859-1", True), 2: ("windows-1252", False)}
        domain = "test" if number % 3 == 2 else "example"
        if owners is not None and number >= owners:
            domain = sites[number % owners].host
        sections = [str(place) for place in range(1, SECTIONS + 1)] if opaque else _named(rng, chosen)
        named = tuple(zip(sections, chosen, strict=True))
        encoded = encodings.get(number % 6, ("utf-8", True))
        sites.append(Site(f"{name}.{domain}", named, *encoded, robots=number % 4 != 3))
    return sites


def _named(rng: random.Random, topics: list[Topic]) -> list[str]:
    """Name each section: after its topic, or with a word that tells nothing."""
    names: list[str] = []
    for topic in topics:
        told = topic.name.lower()
        neutral = [name for name in _NEUTRAL_SECTIONS if name not in names]
        names.append(told if told not in names and rng.random() < 0.5 else rng.choice(neutral))
    return names


HUB_SIZE = 20
# Of a section's articles, the share that is about the section's own topic.
_ON_TOPIC = 0.7
# Of a topic's articles, the shares of its sub-topics in order; the rest has none.
_SUBTOPIC_SHARES = (0.42, 0.28, 0.18)
# Of the articles: moved from an older URL; there a second time under another URL.
_MOVED, _DUPLICATED = 0.06, 0.05
_PRIVATE_OF_SECTION = 3
_MISSING_OF_SITE = 5

Kind: TypeAlias = Literal["home", "hub", "article", "private"]


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """A page to be: ``section`` is its index in its site, -1 for the home page, which has no topic.
    ``category`` is written as labels write it: ``Sports``, ``Sports.Hockey``; ``Portal`` without a topic.
    """

    number: int
    url: str
    kind: Kind
    site: int
    section: int
    topic: Topic | None
    subtopic: Subtopic | None
    title: str
    category: str


@dataclass(slots=True)
class Plan:
    """All that exists, by canonical URL; in an ``opaque`` web nothing tells what a page is about."""

    opaque: bool = False
    sites: list[Site] = field(default_factory=list)
    pages: list[PlannedPage] = field(default_factory=list)
    by_url: dict[str, PlannedPage] = field(default_factory=dict)
    moved: dict[str, tuple[int, PlannedPage]] = field(default_factory=dict)
    copies: dict[str, PlannedPage] = field(default_factory=dict)
    missing: dict[int, list[str]] = field(default_factory=dict)
    old_url: dict[int, str] = field(default_factory=dict)
    copy_url: dict[int, str] = field(default_factory=dict)
    homes: list[PlannedPage] = field(default_factory=list)
    articles: list[PlannedPage] = field(default_factory=list)
    hubs: dict[tuple[int, int], list[PlannedPage]] = field(default_factory=lambda: defaultdict(list))
    in_section: dict[tuple[int, int], list[PlannedPage]] = field(default_factory=lambda: defaultdict(list))
    private: dict[tuple[int, int], list[PlannedPage]] = field(default_factory=lambda: defaultdict(list))
    of_category: dict[str, list[PlannedPage]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self,
        path: str,
        kind: Kind,
        site: int,
        section: int,
        topic: Topic | None,
        subtopic: Subtopic | None,
        title: str,
    ) -> PlannedPage:
        """Plan the next page."""
        category = ".".join(part.name for part in (topic, subtopic) if part is not None) or "Portal"
        url = f"http://{self.sites[site].host}/{path}"
        page = PlannedPage(len(self.pages), url, kind, site, section, topic, subtopic, title, category)
        self.pages.append(page)
        self.by_url[url] = page
        return page


def make_plan(
    seed: int, sites: int, pages_per_site: int, topics: int, owners: int | None = None, *, opaque: bool = False
) -> Plan:
    """Return the plan that ``seed`` gives: ``sites`` hosts of about ``pages_per_site`` articles each. In an
    ``opaque`` web URLs are numbers, a section's articles are of any topic, and its hubs of none. Raises
    ValueError where a number is out of its range.
    """
    if sites < 1 or pages_per_site < SECTIONS:
        raise ValueError(
            f"a web of {sites} sites of {pages_per_site} pages: expected 1 and {SECTIONS} at least"
        )
    if not 1 <= topics <= len(TOPICS):
        raise ValueError(f"a web of {topics} topics: expected 1 to {len(TOPICS)}")
    if owners is not None and owners < 1:
        raise ValueError(f"a web of {owners} owners: expected 1 at least")
    rng = random.Random(f"{seed}/plan")
    used = TOPICS[:topics]
    plan = Plan(opaque, make_sites(rng, sites, used, owners, opaque=opaque))
    for number, site in enumerate(plan.sites):
        _plan_site(plan, rng, number, site, pages_per_site, used)
    return plan


def _plan_site(
    plan: Plan, rng: random.Random, number: int, site: Site, articles: int, topics: tuple[Topic, ...]
) -> None:
    plan.homes.append(plan.add("", "home", number, -1, None, None, f"Welcome to {site.host}"))
    weights = [rng.uniform(0.6, 1.4) for _ in site.sections]
    for section, (name, topic) in enumerate(site.sections):
        place = number, section
        size = max(1, round(articles * weights[section] / sum(weights)))
        for index in range(-(-size // HUB_SIZE)):
            path = f"{name}/" if index == 0 else f"{name}/page-{index + 1}.html"
            title = f"{name.capitalize()}, page {index + 1}"
            plan.hubs[place].append(plan.add(path, "hub", *place, None if plan.opaque else topic, None, title))
        for _ in range(size):
            kept = not plan.opaque and rng.random() < _ON_TOPIC
            _plan_article(plan, rng, place, name, topic if kept else rng.choice(topics))
        for _ in range(_PRIVATE_OF_SECTION if site.robots else 0):
            plan.private[place].append(_told(plan, rng, "private", place, "private", topic))
    root = f"http://{site.host}"
    plan.missing[number] = [f"{root}/gone/{rng.randrange(10**6)}-{k}.html" for k in range(_MISSING_OF_SITE)]


def _plan_article(plan: Plan, rng: random.Random, place: tuple[int, int], folder: str, topic: Topic) -> None:
    page = _told(plan, rng, "article", place, folder, topic)
    plan.articles.append(page)
    plan.in_section[place].append(page)
    for category in dict.fromkeys((topic.name, page.category)):
        plan.of_category[category].append(page)
    root, number = f"http://{plan.sites[place[0]].host}", page.number
    if rng.random() < _MOVED:
        plan.old_url[number] = f"{root}/old/{number}.html"
        plan.moved[plan.old_url[number]] = (rng.choice((301, 302)), page)
    if rng.random() < _DUPLICATED:
        plan.copy_url[number] = f"{root}/print/{number}.html"
        plan.copies[plan.copy_url[number]] = page


def _told(
    plan: Plan, rng: random.Random, kind: Kind, place: tuple[int, int], folder: str, topic: Topic
) -> PlannedPage:
    """Plan a page on a topic and perhaps on a sub-topic of it, whose title and URL mostly tell."""
    point, subtopic = rng.random(), None
    for part, share in zip(topic.subtopics, _SUBTOPIC_SHARES, strict=True):
        if point < share:
            subtopic = part
            break
        point -= share
    words = rng.sample(subtopic.words[:5] if subtopic else topic.words[:12], 2)
    words += [rng.choice(topic.words), rng.choice(COMMON[20:120])]
    rng.shuffle(words)
    title = " ".join(words).capitalize()
    slug = "" if plan.opaque else f"{title.lower().replace(' ', '-')}-"
    return plan.add(f"{folder}/{slug}{len(plan.pages)}.html", kind, *place, topic, subtopic, title)
