"""The screen Next: the best candidates as frontiers told them, and URLs explained, whatever stands in them."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scentline.agents.frontier.keys import page_key, parent_key
from scentline.agents.frontier.linking import ParentRow
from scentline.agents.frontier.rows import FrontierRow, PageRow
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import next as upcoming
from scentline.models.interest.features import BASE
from scentline.models.learner.plain import NAMED
from scentline.models.url import host, identifier
from scentline.streams.inbox import Codec
from scentline.streams.published import Exclusion, Standing, Upcoming
from scentline.streams.settings import Settings
from scentline.streams.topics import STANDING, STEERING, partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.learnt import PARTITIONS, Learnt, a_crawl
from tests.agents.shards import put

PAGE, FROM = "http://www.example.org/tea/pot.html", "http://news.example.net/"
#: A pseudonym.
USER = "3f9c1b77e2"
MARKUP = "<img/src=x/onerror=alert(1)>"


def write(journal: Journal) -> None:
    """Write a candidate, and the page that links to it in hostile words."""
    linking = ParentRow(FROM, True, {"ski": True, MARKUP: False}, text=f"tea {MARKUP} \u202etea")
    linking.add(identifier(PAGE), 4, f"tea {MARKUP}\t{' '.join(f'{MARKUP}{n}' for n in range(500))}\t\x1b[2J")
    links = {"ski": [1, 1], "tea": [1, 0]}
    row = PageRow(PAGE, 2, 7, parents=[identifier(FROM)], links=links, visits=2, visitors=[USER])
    codec: Codec[FrontierRow] = Codec(FrontierRow)
    store = journal.table("frontier")[partition_of(host(PAGE), PARTITIONS)]
    rows = {page_key(PAGE): codec.encode(row), parent_key(identifier(FROM)): codec.encode(linking)}
    put(store, rows)


def tell(journal: Journal, worker: str, best: list[Upcoming], time: float) -> None:
    standing = Standing(
        worker=worker, time=time, state="running", partitions=1, of=2, queued={"tea": 70}, best=tuple(best),
        best_of="tea",
    )  # fmt: skip
    journal.append(STANDING.name, 0, f"{worker} tea".encode(), msgspec.json.encode(standing), time)


@contextmanager
def reading(data: Path, **frontier: str) -> Iterator[tuple[Reading, Journal, Learnt]]:
    with a_crawl(data, **frontier) as (settings, journal, learnt):
        learnt.judge(30)
        learnt.count([BASE, f"u:{USER}"], {"ski": True, "tea": False})
        write(journal)
        opened = Reading(Settings.model_validate(settings.model_dump()), lambda: 100.0)
        opened.refresh()
        yield opened, journal, learnt
        opened.close()


def seen(reading: Reading, **asked: str) -> dict[str, Any]:
    """Return a view as a browser has it; it is of bounded size."""
    encoded = msgspec.json.encode(upcoming.view(reading, upcoming.Query(**asked)))
    assert len(encoded) < 200_000
    found: dict[str, Any] = msgspec.json.decode(encoded)
    return found


def explained(reading: Reading, url: str, predicate: str = "tea") -> dict[str, Any]:
    """Return what a view says of a URL, once all is worked out."""
    seen(reading, url=url)
    while reading.learning.step(reading.now):
        pass
    found: dict[str, Any] = seen(reading, url=url, predicate=predicate)["explained"]
    return found


def test_the_best_candidates_are_those_of_all_workers_in_their_order(tmp_path: Path) -> None:
    speaks = (("siblings", 1.5), (NAMED, 0.5), (MARKUP * 20, -1.0))
    with reading(tmp_path) as (opened, journal, _):
        for worker in "01":
            best = [
                Upcoming(f"http://w{worker}.org/{MARKUP}{n}", 50.0 - n - int(worker) / 2, 0.5, 0.9, 3.0, speaks)
                for n in range(50)
            ]
            tell(journal, worker, best, 99.0)
        view = seen(opened, predicate="tea")
        assert [row["priority"] for row in view["best"]] == [50 - n / 2 for n in range(50)]
        assert (view["predicate"], view["queued"], view["time"]) == ("tea", 140, 99.0)
        said = [each["plain"] for each in view["best"][0]["speaks"]]
        assert said[:2] == ["neighbours", NAMED]
        assert len(said[2]) < 100
        assert seen(opened, predicate="ski")["best"] == []


def test_a_url_is_explained_however_it_is_typed(tmp_path: Path) -> None:
    with reading(tmp_path) as (opened, _, _):
        for typed in (PAGE, " www.example.org/tea/pot.html", "HTTP://WWW.Example.org:80/tea/pot.html"):
            assert seen(opened, url=typed, predicate="tea")["explained"]["address"] == PAGE
        found = explained(opened, PAGE)
        assert found["told"][0] == "state: candidate"
        assert found["taught"]["time"] == 100.0
        assert 0 < found["expected"] < 1
        assert found["named"] == 2, "its URL names the keyword"
        assert found["words"][0]["word"] == "tea"
        assert found["inputs"][0]["means"].endswith(".")
        [linking] = found["linking"]
        assert (linking["address"], linking["position"], linking["inside"]) == (FROM, 4, f"tea {MARKUP}")
        assert len(linking["around"]) < 200
        assert linking["above"] == "\\x1b[2J"
        texts = [each["word"] for each in found["words"]]
        assert all(text.isprintable() and len(text) <= 100 for text in texts)


@pytest.mark.parametrize("policy", ["learned", "collaborative"])
def test_what_users_say_of_a_url_is_shown_by_the_papers_ratios_and_names_nobody(
    tmp_path: Path, policy: str
) -> None:
    with reading(tmp_path, policy=policy) as (opened, _, learnt):
        found = explained(opened, PAGE, "ski")
        rate = learnt.counts.get(BASE, "ski")[1] / learnt.counts.get(BASE, "ski")[0]
        visitor, *regions = (each for each in found["features"] if each["plain"] != NAMED)
        assert (visitor["plain"], visitor["pages"], visitor["hits"]) == ("a visitor", 1, 1)
        assert visitor["ratio"] == pytest.approx(1 / rate)
        assert visitor["significance"] == pytest.approx((1 - rate) / math.sqrt(rate * (1 - rate)))
        assert [each["plain"] for each in regions] == ["no visits near hits"], "no judged page is near by"
        assert bool(found["inputs"]) == (policy == "learned")
        assert USER not in str(found)


def test_a_url_that_is_excluded_is_said_to_be(tmp_path: Path) -> None:
    def lines_after(*exclusions: tuple[str, str, str, bool]) -> str:
        for name, prefix, expression, on in exclusions:
            exclusion = Exclusion(name=name, prefix=prefix, expression=expression, on=on, time=5.0)
            journal.append(STEERING.name, 0, name.encode(), msgspec.json.encode(exclusion), 5.0)
        opened.close()
        opened.refresh()
        return " ".join(explained(opened, PAGE)["told"])

    with reading(tmp_path) as (opened, journal, _):
        lines = lines_after(("1b", "http://b.org/", "", True), ("1c", "http://www.example.org/tea/", "", True))
        assert ("excluded as 1c" in lines, "1b" in lines) == (True, False)
        lines = lines_after(("1c", "http://www.example.org/tea/", "", False), ("1d", "", "p.t", True))
        assert ("excluded as 1d" in lines, "1c" in lines) == (True, False)
        assert "excluded" not in lines_after(("1d", "", "p.t", False))


@pytest.mark.parametrize("policy", ["linkage", "combined", "breadth-first"])
def test_a_url_is_explained_by_the_policy_of_the_crawl(tmp_path: Path, policy: str) -> None:
    with reading(tmp_path, policy=policy) as (opened, _, _):
        found = explained(opened, PAGE, "ski")
        assert (found["expected"], isinstance(found["priority"], float)) == (None, True)
        names = [each["plain"] for each in found["features"]]
        assert ("a visitor" in names) == (policy == "combined")
        assert ("links from hits" in names) == (policy != "breadth-first")
        assert len(found["features"]) <= upcoming.PARTS
        assert USER not in str(found)


def test_an_importance_is_not_swept_for_a_view(tmp_path: Path) -> None:
    with reading(tmp_path, ordering="pagerank") as (opened, _, _):
        found = explained(opened, PAGE)
        assert not found["taught"]["explains"]
        assert found["priority"] is None
        assert found["linking"]


def test_what_can_t_be_explained_is_said_in_words(tmp_path: Path) -> None:
    with reading(tmp_path) as (opened, _, _):
        for unknown in ("http://nowhere.example/", "nowhere.example"):
            assert "has not met this URL" in explained(opened, unknown)["trouble"]
        for wrong in ("ftp://www.example.org/", "http://", "javascript:alert(1)", f"http://{MARKUP}/"):
            assert "no address of a page" in explained(opened, wrong)["trouble"]
