"""What it costs a frontier to listen, by the pages that all workers judge in a second.

    python -m bench.listening [PAGES_A_SECOND ...]

It prints features told, bytes and CPU a second. Time is simulated: one frontier counts pages of words drawn by
Zipf's law and tells what changed at the pace of ``learn.told``; another that judged none of them hears it.
"""

import math
import sys
import time

import numpy as np

from scentline.agents.frontier.agent import TELL_SECONDS
from scentline.models.frontier.ledger import FrontierLedger
from scentline.models.ledger import INT32, Change
from scentline.models.policy.features import BASE, PAGE_WORD
from scentline.models.policy.learned import LearnedScorer
from scentline.models.records import Decoder, Interests, encode
from scentline.models.settings import LearnSettings

#: Features of a page, words that there are, and Zipf's exponent.
FEATURES, WORDS, EXPONENT = 300, 2_000_000, 1.15
SECONDS = 20
#: A worker's pages a second, and the workers of a large crawl.
ONE, MANY = 100, 50


def main() -> None:
    """Print a line for each number of pages a second."""
    given = [int(each) for each in sys.argv[1:]] or [10, ONE, 10 * ONE, MANY * ONE]
    print(
        f"{'pages/s':>8}{'features':>10}{'changed/s':>11}{'told/s':>9}{'kB/s':>8}{'CPU %':>7}{'behind, s':>11}"
    )
    for pages in given:
        listen(pages)


def listen(pages_a_second: int) -> None:
    """Simulate some seconds; print the last half of them."""
    rng = np.random.default_rng(1)
    other, frontier = a_frontier(), a_frontier()
    other.begin(0)
    decode = Decoder[Interests](Interests)
    told, told_bytes, spent, changed, room = 0, 0, 0.0, 0, 0.0
    most = LearnSettings().told
    for step in range(round(SECONDS / TELL_SECONDS)):
        late = step * TELL_SECONDS > SECONDS / 2
        number = max(1, round(pages_a_second * TELL_SECONDS))
        words = np.minimum(rng.zipf(EXPONENT, (number, FEATURES)), WORDS)
        holds = rng.random((number, 2)) < 0.05
        for page, (first, second) in zip(words, holds.tolist(), strict=True):
            names = [BASE, *sorted({f"{PAGE_WORD}{word}" for word in page.tolist()})]
            other.count(0, [Change(names, {"one": first, "two": second}, np.ones(len(names), INT32))])
        changed += late * len(np.unique(words))
        room = min(room + most * TELL_SECONDS, most)
        blocks, features = other.tell(room)
        room -= features
        values = [encode(Interests(block=block)) for block in blocks]
        began = time.process_time()
        for value in values:
            frontier.hear(decode(value))
        if late:
            spent += time.process_time() - began
            told, told_bytes = told + features, told_bytes + sum(map(len, values))
    behind = other.tell(math.inf)[1] / most
    half = SECONDS / 2
    print(
        f"{pages_a_second:>8}{other.features:>10}{changed / half:>11.0f}{told / half:>9.0f}"
        f"{told_bytes / half / 1000:>8.0f}{100 * spent / half:>7.1f}{behind + TELL_SECONDS:>11.2f}"
    )


def a_frontier() -> FrontierLedger:
    """Return the ledger of one frontier of two."""
    scorer = LearnedScorer()
    for predicate in ("one", "two"):
        scorer.add_predicate(predicate)
    return FrontierLedger(scorer, 5_000_000, 5_000_000, partitions=2)


if __name__ == "__main__":
    main()
