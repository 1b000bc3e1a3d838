"""What a page costs, in counts: records, rows, puts, messages, encodings, scores, tasks. No time is taken.

One page is in flight at a time, each message ends its group, and nothing that counts goes by the clock
(`tests.costs.counted_crawl`): so a page costs the same on a busy machine. Of runs alone and beside many others
all counts were equal but puts and tasks, of which a few come by the second: they were within 1 % and 4 %.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from rocksdict import Options, Rdict, WriteBatch

from bench.written import appended, facts, puts
from scentline.streams.topics import EVIDENCE
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import ROOT, environment
from tests.e2e.crawls import synthetic, topics, write_labels
from tests.patience import PATIENCE

WEB = SyntheticWeb(3, 4, 120, 4)
PAGES = 200
#: Messages that end a commit group: with more it is time that ends some.
GROUP = 1
#: At most this many of each a page, by policy. A step that lowers a count lowers its budget to a bit above it.
POLICIES = ("learned", "breadth-first")
BUDGETS: Mapping[str, tuple[float, ...]] = {
    "log records": (8.3, 4.3),
    "messages of fetches": (1.1, 1.1),
    "messages of pages": (1.01, 1.01),
    "messages of outcomes": (1.01, 1.01),
    "messages of sightings": (1.12, 1.1),
    "messages of evidence": (1.05, 0),
    "facts of evidence": (3.1, 0),
    "messages of interests": (3.1, 0),
    "messages of other topics": (0.1, 0.1),
    "commit groups": (5.2, 4.2),
    "table rows written": (49.5, 39),
    "RocksDB puts and deletes": (76, 52),
    "records encoded": (7.3, 3.2),
    "records decoded": (7.3, 3.2),
    "rows encoded": (48.5, 38),
    "rows decoded": (0.1, 0.1),
    "scores": (74, 0),
    "asyncio tasks": (1.8, 1.8),
}
#: A budget below this many a page is for something that need not come at all.
RARE = 1.0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_page_costs_no_more_than_its_budgets(tmp_path: Path, policy: str) -> None:
    spent = costs(tmp_path, policy)
    budgets = {name: of[POLICIES.index(policy)] for name, of in BUDGETS.items()}
    over = {name for name, budget in budgets.items() if spent.get(name, 0) > budget}
    # What counts nothing where there was a lot of it counts at a place that is gone.
    missed = {name for name, budget in budgets.items() if budget > RARE and not spent.get(name)}
    unknown = spent.keys() - budgets.keys()
    assert not over | missed | unknown, f"{policy}, a page\n{table(spent, budgets, over)}"


def table(spent: Mapping[str, float], budgets: Mapping[str, float], over: set[str]) -> str:
    lines = [f"{'':<28}{'spent':>10}{'budget':>10}"]
    for name in sorted(spent.keys() | budgets.keys()):
        budget = f"{budgets[name]:>10}" if name in budgets else f"{'none':>10}"
        lines.append(f"{name:<28}{spent.get(name, 0):>10.2f}{budget}{'  over' if name in over else ''}")
    return "\n".join(lines)


def costs(directory: Path, policy: str) -> dict[str, float]:
    """Crawl in a process of its own, which counts; return what a page cost."""
    first, second, *_ = topics(WEB)
    data = directory / "data"
    with synthetic(WEB) as served:
        settings = {
            "data": str(data),
            "predicates": {"first": f'category("{first}")', "second": f'category("{second}")'},
            "fetch": {"proxy": served.origin, "delay_seconds": 0.0},
            "judge": {"labels": str(write_labels(directory / "labels.tsv", WEB))},
            "frontier": {"policy": policy, "budget": PAGES, "window_max": 1},
            "streams": {"group_messages": GROUP},
            "harvest": {"interval_seconds": 3600},
        }
        crawl = subprocess.run(
            [sys.executable, "-m", "tests.costs.counted_crawl", json.dumps(settings), *WEB.seeds(2)],
            check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment(PYTHONHASHSEED="0"),
            timeout=PATIENCE,
        )  # fmt: skip
    counts: dict[str, int] = json.loads(crawl.stdout.splitlines()[-1])
    assert counts.pop("pages judged") == PAGES
    counts |= {**written(appended(data)), "RocksDB puts and deletes": puts(data)}
    counts["facts of evidence"] = facts(data, EVIDENCE.name)
    return {name: count / PAGES for name, count in counts.items()}


def written(records: Mapping[str, int]) -> Counter[str]:
    """Return the records of the log, and those of each topic that has a budget."""
    named = {name.removeprefix("messages of ") for name in BUDGETS}
    found = Counter({"log records": sum(records.values())})
    for topic, count in records.items():
        found[f"messages of {topic if topic in named else 'other topics'}"] += count
    return found


def test_puts_and_deletes_of_all_databases_are_counted(tmp_path: Path) -> None:
    for place in ("one", "below/another"):
        (tmp_path / place).mkdir(parents=True)
        db = Rdict(str(tmp_path / place), Options(raw_mode=True))
        batch = WriteBatch(raw_mode=True)
        batch.put(b"a", b"1")
        batch.put(b"b", b"2")
        batch.delete(b"a")
        db.write(batch)
        db.put(b"b", b"3")
        db.close()
    assert puts(tmp_path) == 8
