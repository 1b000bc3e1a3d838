"""One crawl beside hostile sites, and what the honest ones got of it."""

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench.command import COMMAND, children_cpu
from tests.webs.dangers.honest import SOUGHT
from tests.webs.dangers.rivals import NETWORKS, Rivals
from tests.webs.dangers.server import read_log
from tests.webs.process import serve_rivals


@dataclass(frozen=True)
class Outcome:
    """What a crawl came to: honest pages on the topic, fetches by owner, and its CPU time in seconds."""

    harvest: int
    fetches: Counter[str]
    cpu: float


def crawl(rivals: Rivals, directory: Path, budget: int, settings: dict[str, object]) -> Outcome:
    """Crawl from the honest home pages, ``budget`` judged pages long. Raises CalledProcessError."""
    directory.mkdir(parents=True)
    record = directory / "asked.jsonl"
    given: dict[str, object] = {
        "fetch.allow": ",".join(NETWORKS),
        "frontier.budget": budget,
        "log.level": "warning",
    } | settings
    before = children_cpu()
    with serve_rivals(rivals, record) as server:
        port = urlsplit(server.url).port
        assert port is not None
        words = ["--predicate", f'sought="{SOUGHT.keyword}"', "--json"]
        words += [word for seed in rivals.seeds(port) for word in ("--seed", seed)]
        words += [word for name, value in given.items() for word in ("--set", f"{name}={value}")]
        _scentline(directory, "crawl", *words)
        cpu = children_cpu() - before
        names = {address: name for name, address in rivals.addresses.items()}
        found = _scentline(directory, "matches", "sought", "--format", "jsonl").splitlines()
    hosts = [names[urlsplit(json.loads(line)["url"]).hostname or ""] for line in found]
    asked = Counter(each.host.rpartition("-")[0] for each in read_log(record) if each.target != "/robots.txt")
    return Outcome(sum(name.startswith("honest-") for name in hosts), asked, cpu)


def _scentline(cwd: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    run = subprocess.run(  # noqa: S603 - this project's own command
        [*COMMAND, *arguments], cwd=cwd, env=environment, stdout=subprocess.PIPE, check=True, text=True
    )
    return run.stdout
