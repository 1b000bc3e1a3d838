"""A real crawl harvests what a virtual crawl, as `scentline evaluate` makes it, does from the same seeds."""

from io import StringIO
from pathlib import Path
from random import Random

import pytest

from agents.judge.labels import load as load_labels
from agents.lab.archives import load_web
from agents.lab.progress import progress
from agents.offline.process import ServerProcess
from models.crowd.trace import Trace
from models.evaluate.crawler import Task
from models.evaluate.learned import LearnedCrawler
from models.evaluate.metrics import auc
from models.evaluate.virtual import virtual_crawl
from models.predicate import parse
from streams.settings import Settings
from tests.e2e.test_pipeline_equals_reference import crawl, judged_pages
from tests.shared import shared

BUDGET = 250
#: The two differ by pages in flight, and by which of equal candidates comes first: from there on they part.
NOISE = 0.15
PREDICATES = {"biology": 'category("Science.Biology")', "geography": 'category("Geography")'}


@pytest.mark.slow
def test_a_crawl_finds_what_the_virtual_crawl_finds(tmp_path: Path) -> None:
    archive = shared("wikispeedia/pages.warc.gz")
    labels = shared("wikispeedia/topics.tsv.gz")
    predicates = {name: parse(expression) for name, expression in PREDICATES.items()}
    with progress(StringIO()) as shown:
        web = load_web([archive], predicates, load_labels(labels), Settings(), 2, shown)
    seeds = Random("1:1").sample(sorted(web.pages), 10)
    with ServerProcess.archive([archive]) as server:
        for name, expression in PREDICATES.items():
            task = Task((), Trace([]), Random(1), predicates[name].topic)
            virtual = virtual_crawl(web.pages, web.hits[name], seeds, LearnedCrawler(task, explore=0.0), BUDGET)
            settings = Settings.model_validate(
                {
                    "data": tmp_path / name,
                    "predicates": {name: expression},
                    "fetch": {"proxy": server.url, "delay_seconds": 0.0},
                    "judge": {"labels": str(labels)},
                    "frontier": {"policy": "learned", "budget": BUDGET, "explore": 0.0},
                }
            )
            assert crawl(settings, seeds, []) == BUDGET
            pages = sorted(judged_pages(settings), key=lambda outcome: outcome.time)
            real = [outcome.verdict[name] for outcome in pages]
            assert auc(real, BUDGET) == pytest.approx(auc([page.hit for page in virtual], BUDGET), abs=NOISE)
