"""``python -m tests.rubbish SECONDS``: crawl webs at random for so long, and say which seeds went wrong."""

import sys
import time
import traceback
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.rubbish.crawling import crawl_at_random


def main() -> None:
    """Crawl; the seeds begin where the tests' end."""
    end = time.monotonic() + float(sys.argv[1])
    wrong = []
    for seed in count(4):
        if time.monotonic() >= end:
            break
        with TemporaryDirectory() as directory:
            try:
                crawl_at_random(seed, Path(directory))
            except Exception:
                traceback.print_exc()
                print(f"fuzz: crawl: seed {seed} went wrong; give it to test_hostile_site.py to see it again")
                wrong.append(seed)
    print(f"fuzz: crawl: {seed - 4} webs crawled, {len(wrong)} of them wrong")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
