"""The synthetic web: the same for a seed, as rich and as topical as it claims, and exported as it answers."""

import gzip
import statistics
from collections import Counter
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from lxml import etree

from scentline.agents.offline.archive import Archive
from scentline.models.accesslog.entry import Entry, LogLineError
from scentline.models.accesslog.formats import parse_squid
from scentline.models.url import canonical
from scentline_lab.synthetic.links import START
from scentline_lab.synthetic.plan import Plan, PlannedPage
from scentline_lab.synthetic.web import SyntheticWeb, export
from tests.cases import each_case

SEEDS = (1, 7)


@cache
def web(seed: int = 1) -> SyntheticWeb:
    return SyntheticWeb(seed)


@cache
def worse() -> SyntheticWeb:
    return SyntheticWeb(3, 4, 30, 5, dead=0.3, days=40)


@cache
def categories(seed: int = 1) -> dict[str, str]:
    return dict(web(seed).labels())


def topic(category: str) -> str:
    return category.partition(".")[0]


def articles(made: SyntheticWeb) -> list[PlannedPage]:
    return [page for page in made.plan.pages if page.kind == "article"]


def missing(plan: Plan) -> set[str]:
    return {url for urls in plan.missing.values() for url in urls}


def links_in(made: SyntheticWeb, url: str, path: str = ".//a") -> list[str]:
    """Return where the links of a page's HTML lead."""
    answer = made.answer(url, {})
    assert answer.status == 200
    (encoding,) = (site.encoding for site in made.plan.sites if site.host == urlsplit(url).netloc)
    root = etree.HTML(answer.body.decode(encoding), etree.HTMLParser(recover=False))
    assert root is not None
    assert root.findtext(".//title")
    return [urljoin(url, link.get("href", "")) for link in root.iterfind(path)]


@each_case(
    ("options", "expected"),
    [
        ({}, "69ff29f71b5f7c1d"),
        ({"dead": 0.3, "days": 40, "eras": 2, "owners": 2, "opaque": True}, "64256d0b91329ffd"),
    ],
)
def test_the_webs_of_the_documented_figures_stay_what_they_were(options: dict[str, Any], expected: str) -> None:
    made, found = SyntheticWeb(3, 4, 30, 5, **options), blake2b(digest_size=8)
    for url in made.urls():
        answer = made.answer(url, {})
        found.update(f"{url} {answer.status} {answer.headers} ".encode() + answer.body)
    for line in (*made.access_log(5, 300), *map("\t".join, made.labels()), " ".join(made.seeds(200))):
        found.update(line.encode())
    assert found.hexdigest() == expected


@each_case(("sites", "pages", "topics"), [(0, 10, 3), (3, 3, 3), (3, 10, 0), (3, 10, 13)])
def test_a_size_out_of_range_is_an_error(sites: int, pages: int, topics: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        SyntheticWeb(1, sites, pages, topics)


@each_case("seed", SEEDS)
def test_links_keep_to_the_topic_far_more_often_than_chance_and_far_from_always(seed: int) -> None:
    made, same = web(seed), {True: list[bool](), False: list[bool]()}
    for page in articles(made):
        for link in made.links(page.url):
            if link.place == "body" and link.page is not None:
                same[link.page.site == page.site].append(link.page.topic is page.topic)
    assert 0.65 <= statistics.mean(same[True]) <= 0.85
    assert 0.25 <= statistics.mean(same[False]) <= 0.45
    assert 0.45 <= statistics.mean(same[True] + same[False]) <= 0.60


def test_urls_are_canonical_and_links_lead_where_they_should() -> None:
    made, plan, labels = web(), web().plan, categories()
    files = {f"http://{site.host}/files/report.pdf" for site in plan.sites}
    reached: set[str] = set()
    for number, url in enumerate(labels.keys() - plan.copies.keys()):
        assert canonical(url) == url
        planned = [link.target for link in made.links(url)]
        reached |= {*planned}
        if number % 20 == 0:
            assert Counter(map(canonical, links_in(made, url))) == Counter(planned), "as planned"
    assert reached <= labels.keys() | plan.moved.keys() | missing(plan) | files
    assert {page.url for page in articles(made)} <= reached
    private = {page.url for page in plan.pages if page.kind == "private"}
    planted = private, plan.moved.keys(), plan.copies.keys(), missing(plan), files
    assert all(reached & urls for urls in planted)
    seeds = made.seeds(100)
    assert len(set(seeds)) == 12
    assert all(urlsplit(url).path == "/" for url in seeds)


def test_the_log_is_squids_in_time_order_with_what_a_real_one_holds() -> None:
    made, found, malformed = web(), list[Entry](), 0
    for line in made.access_log(40, 2000):
        try:
            found.append(parse_squid(line))
        except LogLineError:
            malformed += 1
    assert 1 <= malformed <= 0.01 * (len(found) + malformed)
    assert all(before.time <= after.time for before, after in pairwise(found))
    assert START <= found[0].time <= START + 3600
    tastes = {user.address: user.tastes for user in made.users(40)}
    assert {entry.client for entry in found} <= tastes.keys()
    assert {"GET", "POST", "CONNECT"} == {entry.method for entry in found}
    assert {200, 301, 302, 304, 404} == {entry.status for entry in found}
    assert {"text/html", "text/css", "image/png"} <= {entry.content_type for entry in found}
    views = [
        entry for entry in found
        if entry.method == "GET" and entry.status in (200, 304) and entry.content_type in (None, "text/html")
    ]  # fmt: skip
    assert len(views) == 2000
    assert {entry.url for entry in views} <= categories().keys()
    seen = [(topic(categories()[entry.url]), tastes[entry.client]) for entry in views]
    liked = statistics.mean(name in taste for name, taste in seen if name != "Portal")
    assert 0.6 <= liked <= 0.9, "users visit pages of their taste for the most part"


def test_an_exported_web_answers_as_it_does(tmp_path: Path) -> None:
    made, other = worse(), tmp_path / "again"
    other.mkdir()
    files = export(made, tmp_path, users=5, accesses=100)
    again = export(SyntheticWeb(3, 4, 30, 5, dead=0.3, days=40), other, users=5, accesses=100)
    assert [path.read_bytes() for path in files.values()] == [path.read_bytes() for path in again.values()]
    with Archive([files["archive"]]) as archive:
        assert len(archive) == len(set(made.urls()))
        for url in made.urls():
            found, answer = archive.answer(url, {}), made.answer(url, {})
            assert (found.status, found.body) == (answer.status, answer.body)
        (private, *_) = (page for page in made.plan.pages if page.kind == "private")
        assert archive.answer(private.url, {}).status == 404
    lines, labels = (gzip.decompress(files[what].read_bytes()).decode() for what in ("log", "labels"))
    assert lines.splitlines() == list(made.access_log(5, 100))
    assert files["seeds"].read_text().split() == made.seeds(200)
    assert [tuple(line.split("\t")) for line in labels.splitlines()] == list(made.labels())
