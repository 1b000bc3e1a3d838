"""``python -m bench.fuzz TARGET``: fuzz one target with atheris for some time.

An input that fails is written to a file of the current directory, named by libFuzzer; give that file in the
place of the time to see the failure again.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["agents", "models"]):
    from bench.fuzz.targets import SEEDS, TARGETS


def main() -> None:
    """Fuzz: the arguments are a target and seconds, or a target and a file that failed."""
    name, what = (*sys.argv[1:], "60")[:2]
    if name not in TARGETS:
        raise SystemExit(f"fuzz: {name!r} is no target; expected one of {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS[name]):
            Path(corpus, str(number)).write_bytes(seed)
        options = [f"-max_total_time={what}", "-max_len=4096", corpus] if what.isdigit() else [what]
        atheris.Setup(
            [sys.argv[0], "-timeout=10", "-rss_limit_mb=1000", "-verbosity=0", *options], TARGETS[name]
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
