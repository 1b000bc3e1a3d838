"""``make hostile``: crawls six honest sites alone, beside each kind of hostile site, and beside all of them."""

import argparse
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from bench.hostile.crawl import Outcome, crawl
from tests.webs.rivals import KINDS, Rivals


def main() -> None:
    """Crawl, and print a line for each company the honest sites are in."""
    parser = argparse.ArgumentParser(prog="bench.hostile", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="webs, each of other texts and links")
    parser.add_argument("--budget", type=int, default=300, help="pages to judge in each crawl")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds between two requests to a site")
    parser.add_argument("--set", action="append", default=[], help="a further setting, NAME=VALUE")
    parser.add_argument("--kinds", nargs="*", default=[*KINDS, "all"])
    given = parser.parse_args()
    settings = {"fetch.delay_seconds": given.delay} | dict(entry.split("=", 1) for entry in given.set)
    alone: list[Outcome] = []
    for kind in ("none", *given.kinds):
        kinds = KINDS if kind == "all" else () if kind == "none" else (kind,)
        with TemporaryDirectory() as directory:
            found = [
                crawl(Rivals(kinds, seed), Path(directory) / str(seed), given.budget, settings)
                for seed in range(1, given.seeds + 1)
            ]
        alone = alone or found
        print(_line(kind, found, alone), flush=True)


def _line(kind: str, found: list[Outcome], alone: list[Outcome]) -> str:
    harvest, before = (mean(each.harvest for each in of) for of in (found, alone))
    fetches = sum((each.fetches for each in found), type(found[0].fetches)())
    shares = ", ".join(f"{owner} {count / fetches.total():.0%}" for owner, count in sorted(fetches.items()))
    each = " ".join(str(one.harvest) for one in found)
    return (
        f"{kind:10} honest harvest {harvest:6.1f} ({each}), {harvest / before - 1:+.1%}; "
        f"CPU {mean(one.cpu for one in found):.1f} s; fetches: {shares}"
    )


if __name__ == "__main__":
    main()
