"""The parts of an evaluation: webs and their files, reuse, and work spread over processes."""

import os
import re
import signal
import time
from contextlib import closing
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from lab_tests.files import quiet
from scentline.models.page import Link, Page
from scentline.models.predicate import parse
from scentline.models.trace import Step, Trace
from scentline.streams.settings import ConfigurationError, Settings
from scentline_lab.evaluate.command import read_webs
from scentline_lab.evaluate.results import Result, Results
from scentline_lab.evaluate.run import FIRST, NEW_ONLY, REUSE, Evaluation, read_seeds
from scentline_lab.evaluate.tables import headline
from scentline_lab.experiment import OccupiedError, Output, WorkerError, spread
from scentline_lab.reading import Web, load_web
from scentline_lab.simulation.policies import Truth
from scentline_lab.simulation.simple import BreadthFirst
from scentline_lab.simulation.virtual import Task, Terms
from tests.agents.test_archive import page, write
from tests.cases import each_case

WEB = "[webs.two]\narchives = ['pages.warc.gz']\npredicates = { hockey = '\"hockey\"' }\n"


def test_the_headline_sets_each_collaborative_run_against_the_best_of_the_others() -> None:
    areas = {"linkage": (0.2, 0.4), "collaborative": (0.3, 0.6)}
    runs = [
        Result("p", policy, start, np.full(10, area), np.full(10, area), [0] * 10, 10, 10, (), ())
        for policy, found in areas.items()
        for start, area in enumerate(found, start=1)
    ]
    (found,) = headline(Results(runs, 10), 1)
    assert (found.policy, found.other) == ("collaborative", "linkage")
    assert (found.figure, found.others) == pytest.approx((0.45, 0.4))
    assert (found.comparison.difference, found.comparison.ahead) == pytest.approx((0.05, 0.5))
    assert headline(Results(runs[:3], 10), 1) == headline(Results(runs[2:], 10), 1) == []


def test_records_that_a_crawl_would_not_read_are_no_pages(tmp_path: Path) -> None:
    archive = write(
        tmp_path / "pages.warc.gz",
        page("http://a.example/b", b'<title>Tea</title><p>Pour <a href="/a">it</a>.'),
        page("http://a.example/a", b"<title>Coffee</title>"),
        page("http://a.example/hidden", b'<meta name="robots" content="noindex"><title>Tea</title>'),
        ("http://a.example/gone", "404 Not Found", [("Content-Type", "text/html")], b"<title>Tea</title>"),
        ("http://a.example/moved", "301 Moved", [("Location", "/b")], b""),
        ("http://a.example/tea.pdf", "200 OK", [("Content-Type", "application/pdf")], b"%PDF tea"),
    )
    predicates = {"tea": parse('title("tea")'), "poured": parse('"pour it"')}
    web = load_web([archive], predicates, None, Settings(), 2, quiet())
    assert list(web.pages) == ["http://a.example/a", "http://a.example/b"]
    assert web.hits == {"tea": {"http://a.example/b"}, "poured": {"http://a.example/b"}}
    kept = web.pages["http://a.example/b"]
    assert (kept.text, kept.words, kept.links[0].anchor) == ("", ("tea", "pour", "it"), ("it",))


class Remembering(BreadthFirst):
    """A crawler that has learned which pages it fetched, and what an earlier one has."""

    def __init__(self, task: Task, earlier: tuple[str, ...] = ()) -> None:
        super().__init__(task)
        self.accesses = sum(task.trace.accesses.values())
        self.known = list(earlier)

    def judged(self, page: Page, holds: bool) -> None:
        super().judged(page, holds)
        self.known.append(page.url)

    def export_state(self) -> tuple[str, ...]:
        return tuple(self.known)


def test_reuse_hands_the_state_of_a_first_crawl_to_a_second_one() -> None:
    urls = [f"http://a.example/{number:02}" for number in range(40)]
    pages = {url: Page(url, links=tuple(Link(target) for target in urls)) for url in urls}
    heirs: list[Remembering] = []

    def make(task: Task, truth: Truth, state: tuple[str, ...] | None = None) -> Remembering:
        made = Remembering(task, state or ())
        heirs.extend([] if state is None else [made])
        return made

    name = "combined"
    evaluation = Evaluation(
        web=Web(pages, {"odd": frozenset(urls[1::2])}), trace=Trace([]),
        first=Trace([Step("u", urls[0], 1.0)]), whole=None, less={}, predicates={"odd": parse('"odd"')},
        policies=(name,), terms=Terms(15), starts=1, seeds=5, sources=urls, random_seed=1,
        makers={name: make},
    )  # fmt: skip
    (job,) = evaluation.jobs()
    _, crawls = evaluation.run(job)
    fetched = {crawl.policy: [page.url for page in crawl.order] for crawl in crawls}
    assert list(fetched) == [name, name + REUSE, name + NEW_ONLY, name + REUSE + NEW_ONLY]
    known = heirs[0].known[:15]
    assert known[:5] == evaluation.seeds_of(1, FIRST) != evaluation.seeds_of(1)
    assert [found.known[:15] for found in heirs] == [known, known]
    assert [found.accesses for found in heirs] == [0, 0]
    assert fetched[name][:5] == fetched[name + REUSE][:5] == evaluation.seeds_of(1)
    for policy in (name + NEW_ONLY, name + REUSE + NEW_ONLY):
        assert len(fetched[policy]) == 15
        assert set(fetched[policy]).isdisjoint(known)


@each_case(
    ("text", "said"),
    [
        ("webs = 3", "expected at least one table [webs.NAME]"),
        ("[webs.a", "expected TOML"),
        ("[webs.a]\narchives = ['x']", "webs.a.predicates: Field required"),
        ("[webs.a]\narchives = ['x']\npredicates = {}\nbugdet = 3", "webs.a.bugdet: Extra inputs"),
        ("[webs]\na = 3", "webs.a.archives: Field required"),
        ("[webs.'../a']\narchives = []\npredicates = {}", "String should match pattern"),
        (WEB, "--web three: "),
    ],
)
def test_what_is_no_file_of_webs_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "webs.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        read_webs(tmp_path / "webs.toml", ["three"] if text == WEB else [])


def test_the_webs_behind_the_documented_figures_are_webs() -> None:
    webs = read_webs(Path(__file__).parents[3] / "docs" / "evaluation.toml")
    assert {"wikispeedia", "webkb", "docs"} <= set(webs)
    assert all(parse(text) for web in webs.values() for text in web.predicates.values())


def test_seeds_are_drawn_from_a_file_of_urls(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://B.example/\nhttp://a.example/x#y\nhttp://b.example/\n")
    assert read_seeds(tmp_path / "seeds.txt") == ("http://b.example/", "http://a.example/x")
    (tmp_path / "seeds.txt").write_text("http://b.example/\nmailto:x\n")
    with pytest.raises(ConfigurationError, match="URL 2"):
        read_seeds(tmp_path / "seeds.txt")


def test_a_directory_of_others_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis").touch()
    for directory in (tmp_path, tmp_path / "thesis"):
        with pytest.raises(OccupiedError, match="--out"):
            Output(directory, "order", ("thesis",)).prepare()
    assert (tmp_path / "thesis").exists()


def test_spread_work_gives_every_result_once_and_raises_what_a_worker_raises() -> None:
    assert sorted(spread(lambda task: task * task, range(50), 3)) == [number**2 for number in range(50)]
    assert list(spread(abs, [], 2)) == []
    with pytest.raises(ZeroDivisionError):
        list(spread(lambda task: 1 // task, [1, 0, 1], 2))
    with pytest.raises(WorkerError):
        list(spread(lambda task: os.kill(os.getpid(), signal.SIGKILL), [1], 1))


def test_an_abandoned_iteration_ends_its_workers_in_the_middle_of_a_task(tmp_path: Path) -> None:
    def work(seconds: int) -> None:
        time.sleep(seconds)
        (tmp_path / str(seconds)).touch()

    with closing(spread(work, [0, 20], 2)) as results:
        assert next(results) is None
    assert active_children() == []
    assert [path.name for path in tmp_path.iterdir()] == ["0"]
