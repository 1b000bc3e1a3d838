"""The results of a comparison as JSON and as a picture, kept beside those of the runs before."""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.crawl.measure import Resumed, Run
from bench.crawl.report import Aim, Runs

#: Told apart by the colour-blind too (Okabe and Ito).
_COLOURS = ("#8a8a8a", "#000000", "#e69f00", "#56b4e9", "#d55e00", "#009e73", "#cc79a7")


def before(directory: Path, kind: str) -> Mapping[str, float]:
    """Return the figures of the latest run of its kind, by name; none where there was no run."""
    latest = max(directory.glob(f"{kind}-*.json"), default=None)
    if latest is None:
        return {}
    figures: dict[str, float] = json.loads(latest.read_text())["figures"]
    return figures


def keep(directory: Path, kind: str, runs: Runs, resumed: Mapping[str, Resumed], found: Sequence[Aim]) -> Path:
    """Write a run's JSON and its picture; return the JSON's path, which sorts by its time."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{kind}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json"
    document = {
        "figures": {aim.name: aim.value for aim in found},
        "runs": {name: [asdict(run) for run in each] for name, each in runs.items()},
        "killed": {name: asdict(crawl) for name, crawl in resumed.items()},
    }
    path.write_text(json.dumps(document) + "\n")
    draw(path.with_suffix(".png"), {name: each[0] for name, each in runs.items()})
    return path


def draw(path: Path, runs: Mapping[str, Run]) -> None:
    """Draw the hits of each category against the CPU time that they took, one line a crawler."""
    # A first import reports on its font cache, which is nobody's concern here.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from matplotlib.figure import Figure

    categories = list(next(iter(runs.values())).hits)
    figure = Figure(figsize=(5 * len(categories), 4.4), dpi=130, layout="constrained")
    for panel, category in zip(figure.subplots(1, len(categories), squeeze=False)[0], categories, strict=True):
        for (name, run), colour in zip(runs.items(), _COLOURS, strict=True):
            ordinals = run.hits[category]
            hits = [sum(ordinal <= pages for ordinal in ordinals) for _, pages in run.curve]
            panel.plot([cpu for cpu, _ in run.curve], hits, label=name, color=colour, linewidth=1.8)
        panel.set_title(category, loc="left")
        panel.set_xlabel("CPU seconds")
        panel.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("hits")
    figure.axes[0].legend(frameon=False)
    figure.savefig(path, format="png")
