"""One crawl beside hostile sites, and what the honest ones got of it."""

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench.command import COMMAND, children_cpu, each
from tests.webs.rivals import NETWORKS, SOUGHT, Rivals, served_rivals


@dataclass(frozen=True)
class Outcome:
    """What a crawl came to: honest pages on the topic, fetches by owner, and its CPU time in seconds."""

    harvest: int
    fetches: Counter[str]
    cpu: float


def crawl(rivals: Rivals, directory: Path, budget: int, settings: dict[str, object]) -> Outcome:
    """Crawl from the honest home pages, ``budget`` judged pages long. Raises CalledProcessError."""
    directory.mkdir(parents=True)
    given: dict[str, object] = {
        "fetch.allow": ",".join(NETWORKS),
        "frontier.budget": budget,
        "log.level": "warning",
    } | settings
    before = children_cpu()
    with served_rivals(rivals) as served:
        words = ["--predicate", f'sought="{SOUGHT.keyword}"', *each("--seed", rivals.seeds(served.port))]
        words += each("--set", (f"{name}={value}" for name, value in given.items()))
        _scentline(directory, "crawl", "--json", *words)
        cpu = children_cpu() - before
        names = {address: name for name, address in rivals.addresses.items()}
        found = _scentline(directory, "matches", "sought", "--format", "jsonl").splitlines()
    hosts = [names[urlsplit(json.loads(line)["url"]).hostname or ""] for line in found]
    asked = [names[each.address] for each in served.asked if each.target != "/robots.txt"]
    fetches = Counter(name.rpartition("-")[0] for name in asked)
    return Outcome(sum(name.startswith("honest-") for name in hosts), fetches, cpu)


def _scentline(cwd: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    run = subprocess.run(  # noqa: S603 - this project's own command
        [*COMMAND, *arguments], cwd=cwd, env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    return run.stdout
