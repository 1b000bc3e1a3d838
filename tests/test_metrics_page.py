"""The page on metrics has every metric, as it is declared, and every value that a label may have."""

import re
from typing import get_args

from scentline.agents.fetch.agent import EXPIRED
from scentline.agents.fetch.result import OUTCOMES
from scentline.agents.frontier.metrics import CHOSEN, HUB_OUTCOMES, KINDS, REVISIT_OUTCOMES
from scentline.agents.frontier.rows import TotalsRow
from scentline.models.frontier.slots import WHY
from scentline.streams.attempts import Why
from scentline.streams.metrics import endpoint, registry
from scentline.streams.metrics.catalogue import (
    CATALOGUE,
    CHANGES,
    DEAD_LETTERS,
    FETCHED,
    FOUND,
    HOSTS_HELD,
    HUB_REVISITS,
    ORDERS,
    REVISITS,
)
from scentline.streams.topics import CHANGES as TOLD
from scentline.streams.topics import DEAD_LETTERS as BURIED
from scentline.streams.topics import HARVEST, LOG_POSITIONS, STANDING, TABLES, TOPICS
from tests.cases import each_case
from tests.metrics_page import CODE, TEXT, rows, values


def test_every_metric_is_on_the_page_as_it_is_declared_and_no_other() -> None:
    told = [
        (*CODE.findall(name), kind, CODE.findall(labels), meaning)
        for name, kind, labels, meaning in rows("Metrics")
    ]
    assert told == [(metric.name, metric.kind, list(metric.labels), metric.meaning) for metric in CATALOGUE]


def test_every_label_is_on_the_page_and_no_other() -> None:
    told = {name for cells in rows("Label values") for name in CODE.findall(cells[0])}
    assert told == {label for metric in CATALOGUE for label in metric.labels}


def test_the_values_of_the_labels_are_those_of_the_code() -> None:
    assert set(values("outcome", FETCHED.name)) == {*OUTCOMES, EXPIRED}
    assert values("outcome", HUB_REVISITS.name) == list(HUB_OUTCOMES)
    assert values("outcome", REVISITS.name) == list(REVISIT_OUTCOMES)
    assert values("kind", CHANGES.name) == list(KINDS)
    assert values("chosen", ORDERS.name) == list(CHOSEN)
    assert values("reason", HOSTS_HELD.name) == list(WHY)
    assert values("reason", DEAD_LETTERS.name) == list(get_args(Why))
    ended = set(TotalsRow.__struct_fields__) - {"discovered", "verdicts", "requests", "revisits"}
    assert set(values("state", FOUND.name)) == ended | {"open"}
    assert values("table", "all") == list(TABLES)
    read = [topic.name for topic in TOPICS if topic not in (TOLD, HARVEST, STANDING, BURIED, LOG_POSITIONS)]
    assert values("topic", "all") == read


def test_every_queue_is_explained() -> None:
    assert [CODE.findall(row[0])[0] for row in rows("Which queue means what")] == values("topic", "all")


def test_every_metric_named_anywhere_is_one() -> None:
    names = set(re.findall(r"scentline_\w+", TEXT))
    known = {metric.name for metric in CATALOGUE}
    known |= {f"{metric.name}_bucket" for metric in CATALOGUE if metric.kind == "histogram"}
    assert names - known == set()


def test_there_are_seven_recipes_and_the_harvest_rate_comes_first() -> None:
    recipes = re.findall(r"```promql\n(.*?)```", TEXT, re.DOTALL)
    assert len(recipes) == 7
    assert "scentline_predicate_hits_total" in recipes[0]
    for recipe in recipes:
        assert recipe.count("(") == recipe.count(")")
        asked = set(re.findall(r"by \(([^)]*)\)", recipe))
        assert {label for labels in asked for label in labels.split(", ")} <= {
            "predicate", "topic", "outcome", "table", "le",
        }  # fmt: skip


@each_case(
    ("words", "value", "expected"),
    [
        ("Eight requests are answered at a time", endpoint.MOST_REQUESTS, 8),
        ("four scrapes among them", endpoint.MOST_SCRAPES, 4),
        ("within fifteen seconds", endpoint.REQUEST_SECONDS, 15.0),
        ("for more than five seconds", registry.PATIENCE_SECONDS, 5.0),
        ("beyond the first hundred", registry.MOST_PREDICATES, 100),
    ],
)
def test_the_numbers_told_are_those_of_the_code(words: str, value: float, expected: float) -> None:
    assert words in " ".join(TEXT.split())
    assert value == expected
