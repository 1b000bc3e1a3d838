"""Real crawls harvest what virtual crawls, as `scentline evaluate` makes them, do from the same seeds."""

from io import StringIO
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean

import pytest

from agents.judge.labels import load as load_labels
from agents.lab.archives import load_web
from agents.lab.progress import progress
from agents.offline.process import ServerProcess
from models.crowd.trace import Trace
from models.evaluate.crawler import Task
from models.evaluate.learned import LearnedCrawler
from models.evaluate.metrics import auc
from models.evaluate.virtual import Terms, virtual_crawl
from models.predicate import parse
from streams.settings import Settings
from tests.e2e.test_pipeline_equals_reference import crawl, judged_pages
from tests.shared import shared

BUDGET = 250
STARTS = 4
#: The two differ by pages in flight, and by which of equal candidates comes first: from there on they part. One
#: crawl differs by .1 from its twin (standard deviation), the mean of eight by .04.
NOISE = 0.1
PREDICATES = {"biology": 'category("Science.Biology")', "geography": 'category("Geography")'}


@pytest.mark.slow
def test_crawls_find_what_virtual_crawls_find(tmp_path: Path) -> None:
    archive = shared("wikispeedia/pages.warc.gz")
    labels = shared("wikispeedia/topics.tsv.gz")
    predicates = {name: parse(expression) for name, expression in PREDICATES.items()}
    with progress(StringIO()) as shown:
        web = load_web([archive], predicates, load_labels(labels), Settings(), 2, shown)
    starts = [Random(f"1:{start}").sample(sorted(web.pages), 10) for start in range(STARTS)]
    real, virtual = [], []
    with ServerProcess.archive([archive]) as server:
        for (name, expression), (start, seeds) in product(PREDICATES.items(), enumerate(starts)):
            task = Task((), Trace([]), Random(1), predicates[name].topic)
            pages = virtual_crawl(
                web.pages, web.hits[name], seeds, LearnedCrawler(task, explore=0.0), Terms(BUDGET)
            )
            virtual.append(auc([asked.hit for asked in pages if asked.page], BUDGET))
            settings = Settings.model_validate(
                {
                    "data": tmp_path / f"{name} {start}",
                    "predicates": {name: expression},
                    "fetch": {"proxy": server.url, "delay_seconds": 0.0},
                    "judge": {"labels": str(labels)},
                    "frontier": {"policy": "learned", "budget": BUDGET, "explore": 0.0},
                }
            )
            assert crawl(settings, seeds, []) == BUDGET
            outcomes = sorted(judged_pages(settings), key=lambda outcome: outcome.time)
            real.append(auc([outcome.verdict[name] for outcome in outcomes], BUDGET))
    assert mean(real) == pytest.approx(mean(virtual), abs=NOISE), (real, virtual)
