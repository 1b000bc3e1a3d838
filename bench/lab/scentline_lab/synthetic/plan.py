"""The plan of a synthetic web: its sites, which pages there are, where, and what each is about."""

import random
import tomllib
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias


class Subtopic(NamedTuple):
    """A part of a topic; ``words[0]``, its keyword, stands on each of its pages."""

    name: str
    words: tuple[str, ...]

    @property
    def keyword(self) -> str:
        return self.words[0]


class Topic(NamedTuple):
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


class Site(NamedTuple):
    """A host; ``declared`` says whether the Content-Type header names the encoding, as its pages do."""

    host: str
    sections: tuple[tuple[str, Topic], ...]
    encoding: str
    declared: bool
    robots: bool


def _make_sites(
    rng: random.Random, count: int, topics: tuple[Topic, ...], owners: int | None, *, opaque: bool
) -> list[Site]:
    """Return sites of four sections each; every topic has about as many sections as another."""
    names = rng.sample(_NAMES, len(_NAMES))
    dealt: list[Topic] = []
    sites: list[Site] = []
    for number in range(count):
        while len(dealt) < SECTIONS:
            dealt += rng.sample(topics, len(topics))
        chosen, dealt = dealt[:SECTIONS], dealt[SECTIONS:]
        name = names[number % len(names)] + str(number // len(names) or "")
        domain = "test" if number % 3 == 2 else "example"
        if owners is not None and number >= owners:
            domain = sites[number % owners].host
        sections = [*map(str, range(1, SECTIONS + 1))] if opaque else _named(rng, chosen)
        encoded = {1: ("iso-8859-1", True), 2: ("windows-1252", False)}.get(number % 6, ("utf-8", True))
        named = tuple(zip(sections, chosen, strict=True))
        sites.append(Site(f"{name}.{domain}", named, *encoded, robots=number % 4 != 3))
    return sites


def _named(rng: random.Random, topics: list[Topic]) -> list[str]:
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


class PlannedPage(NamedTuple):
    """A page to be: ``section`` is -1 for the home page, ``category`` that of labels: Sports.Hockey."""

    number: int
    url: str
    kind: Kind
    site: int
    section: int
    topic: Topic | None
    subtopic: Subtopic | None
    title: str
    category: str


class Plan:
    """All that exists, by canonical URL; in an ``opaque`` web nothing tells what a page is about."""

    def __init__(self, sites: list[Site], *, opaque: bool) -> None:
        self.sites, self.opaque = sites, opaque
        self.pages: list[PlannedPage] = []
        self.by_url: dict[str, PlannedPage] = {}
        # By kind, site and section; by kind; articles by category.
        self.placed = defaultdict[tuple[Kind, int, int], list[PlannedPage]](list)
        self.of_kind = defaultdict[Kind, list[PlannedPage]](list)
        self.of_category = defaultdict[str, list[PlannedPage]](list)
        # Redirects of old URLs, with their status, and copies at other URLs; then those URLs by page number.
        self.moved: dict[str, tuple[int, PlannedPage]] = {}
        self.copies: dict[str, PlannedPage] = {}
        self.old_url: dict[int, str] = {}
        self.copy_url: dict[int, str] = {}
        self.missing: dict[int, list[str]] = {}  # of each site: URLs that are gone

    def add(
        self, kind: Kind, place: tuple[int, int], path: str, title: str, *about: Topic | Subtopic | None
    ) -> PlannedPage:
        """Plan the next page at a site and section."""
        topic, subtopic = (*about, None, None)[:2]
        category = ".".join(part.name for part in about if part is not None) or "Portal"
        url = f"http://{self.sites[place[0]].host}/{path}"
        page = PlannedPage(len(self.pages), url, kind, *place, topic, subtopic, title, category)  # type: ignore[arg-type]
        self.pages.append(page)
        self.by_url[url] = page
        self.placed[kind, *place].append(page)
        self.of_kind[kind].append(page)
        return page


def make_plan(
    seed: int, sites: int, pages_per_site: int, topics: int, owners: int | None, *, opaque: bool
) -> Plan:
    """Return the plan of `SyntheticWeb`; raises ValueError where a number is out of its range."""
    if sites < 1 or pages_per_site < SECTIONS or not 1 <= topics <= len(TOPICS) or owners == 0:
        given = f"{sites} sites of {pages_per_site} pages, {topics} topics and {owners or 'as many'} owners"
        raise ValueError(f"a web of {given}: expected 1, {SECTIONS}, 1 to {len(TOPICS)}, and 1 at least")
    rng = random.Random(f"{seed}/plan")
    used = TOPICS[:topics]
    plan = Plan(_make_sites(rng, sites, used, owners, opaque=opaque), opaque=opaque)
    for number, site in enumerate(plan.sites):
        root = f"http://{site.host}"
        plan.add("home", (number, -1), "", f"Welcome to {site.host}")
        weights = [rng.uniform(0.6, 1.4) for _ in site.sections]
        for section, (name, topic) in enumerate(site.sections):
            place = number, section
            size = max(1, round(pages_per_site * weights[section] / sum(weights)))
            for index in range(-(-size // HUB_SIZE)):
                path = f"{name}/" if index == 0 else f"{name}/page-{index + 1}.html"
                title = f"{name.capitalize()}, page {index + 1}"
                plan.add("hub", place, path, title, *(() if plan.opaque else (topic,)))
            for _ in range(size):
                kept = not plan.opaque and rng.random() < _ON_TOPIC
                page = _told(plan, rng, "article", place, name, topic if kept else rng.choice(used))
                assert page.topic is not None
                for category in dict.fromkeys((page.topic.name, page.category)):
                    plan.of_category[category].append(page)
                if rng.random() < _MOVED:
                    plan.old_url[page.number] = url = f"{root}/old/{page.number}.html"
                    plan.moved[url] = (rng.choice((301, 302)), page)
                if rng.random() < _DUPLICATED:
                    plan.copy_url[page.number] = url = f"{root}/print/{page.number}.html"
                    plan.copies[url] = page
            for _ in range(_PRIVATE_OF_SECTION if site.robots else 0):
                _told(plan, rng, "private", place, "private", topic)
        plan.missing[number] = [f"{root}/gone/{rng.randrange(10**6)}-{k}.html" for k in range(_MISSING_OF_SITE)]
    return plan


def _told(
    plan: Plan, rng: random.Random, kind: Kind, place: tuple[int, int], folder: str, topic: Topic
) -> PlannedPage:
    """Plan a page on a topic and perhaps on a sub-topic of it, whose title and URL mostly tell."""
    point, ends = rng.random(), accumulate(_SUBTOPIC_SHARES)
    subtopic = next((part for part, end in zip(topic.subtopics, ends, strict=True) if point < end), None)
    words = rng.sample(subtopic.words[:5] if subtopic else topic.words[:12], 2)
    words += [rng.choice(topic.words), rng.choice(COMMON[20:120])]
    rng.shuffle(words)
    title = " ".join(words).capitalize()
    slug = "" if plan.opaque else f"{title.lower().replace(' ', '-')}-"
    return plan.add(kind, place, f"{folder}/{slug}{len(plan.pages)}.html", title, topic, subtopic)
