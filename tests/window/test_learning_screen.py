"""The screen Learning: exact figures of what was learned, of bounded size whatever words pages have."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scentline.agents.operate.inspect.learning import KINDS
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import learning
from scentline.models.interest.features import BASE
from scentline.models.verdict import FAILED
from tests.agents.learnt import EXPRESSIONS, Learnt, a_crawl

#: What a page may say: markup, what turns text around, what ends a line of a log, and far too much of it.
WORDS = ("<script>alert(1)</script>", "\u202eevil\x1b[2J", "x" * 9_000)
HOSTILE = [f"{kind}{word}" for kind in KINDS.values() for word in WORDS]


def seen(reading: Reading, **asked: Any) -> dict[str, Any]:
    """Return a view as a browser has it, once all is worked out."""
    query = learning.Query(**asked)
    learning.view(reading, query)
    while reading.learning.step(reading.now):
        pass
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(learning.view(reading, query)))
    return found


def check_ratios(rows: list[dict[str, Any]], policy: str, learnt: Learnt) -> None:
    """Check what links and visits say against the counts, by the paper's equations (5), (6), (12) and (13)."""
    all_pages, all_hits = learnt.counts.get(BASE, "ski")
    cells = {"links from hits": learnt.counts.get("l:ski:1", "ski")}
    pages, hits = cells["visits near hits"] = learnt.counts.get("r:ski", "ski")
    cells["no visits near hits"] = (all_pages - pages, all_hits - hits)
    assert [row["name"] for row in rows] == ([] if policy == "breadth-first" else list(cells))
    rate = all_hits / all_pages
    for row in rows:
        pages, hits = cells[row["name"]]
        assert (row["pages"], row["hits"]) == (pages, hits)
        assert row["weight"] == pytest.approx(math.log(hits / (pages * rate)))
        deviation = math.sqrt(rate * (1 - rate) / pages)
        assert row["significance"] == pytest.approx(abs(hits / pages - rate) / deviation)


@pytest.mark.parametrize("policy", ["learned", "linkage", "combined", "breadth-first"])
def test_the_screen_shows_what_its_policy_has_learned_whatever_pages_say(tmp_path: Path, policy: str) -> None:
    with a_crawl(tmp_path, policy=policy) as (settings, _, learnt):
        reading = Reading(settings)
        assert learning.view(reading, learning.Query()) == {"begun": False}
        learnt.judge(60)
        for number in range(20):
            learnt.count([BASE, "r:ski", *HOSTILE], dict.fromkeys((*EXPRESSIONS, FAILED), number < 15))
        reading.refresh()
        view = seen(reading, predicate="tea")
        assert (view["policy"], view["predicate"]) == (policy, "tea")
        assert (view["learned"] is not None) == (policy == "learned")
        assert (FAILED in view["predicates"]) == (policy == "learned")
        assert bool(view["kinds"]) == (policy != "breadth-first")
        check_ratios(seen(reading, predicate="ski")["ratios"], policy, learnt)
        for kind in view["kinds"]:
            for side in ("against", "for"):
                view = seen(reading, predicate="ski", kind=kind, side=side)
                assert len(msgspec.json.encode(view)) < 30_000
                rows = view["speaking"]["rows"]
                assert len(rows) == view["speaking"]["shown"] <= learning.SHOWN
                assert all((row["weight"] < 0) == (side == "against") for row in rows)
                assert all(len(row["name"]) <= 600 and row["name"].isprintable() for row in rows)
                significant = [row["significance"] for row in rows if policy != "learned"]
                assert all(each >= settings.learn.t for each in significant)
            assert any("alert(1)" in row["name"] for row in rows), kind
        if view["kinds"]:
            unknown = seen(reading, predicate="nobody", kind="nothing", offset=1_000)
            assert (unknown["predicate"], unknown["kind"]) == ("ski", view["kinds"][0])
            assert unknown["speaking"]["offset"] == 0
        if policy == "learned":
            assert seen(reading, predicate=FAILED)["learned"]["combined"]["labels"] == 0
        reading.close()
