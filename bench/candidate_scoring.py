"""What scoring candidates by the learned policy costs, in lookups: ``python -m bench.candidate_scoring``.

With the inputs at hand, and with the inputs worked out from eight in-links, as a frontier does: many candidates
at once, a few, and one. The yardstick is a lookup of a word in a dictionary of 100,000, timed in the same run.
"""

import random
from functools import partial
from itertools import chain

import numpy as np

from bench.timing import seconds
from scentline.models.interest.features import BASE, PAGE_WORD
from scentline.models.learner.batch import inputs_of
from scentline.models.learner.candidate import Candidate, CoVisits, Crowd
from scentline.models.learner.combiner import logits
from scentline.models.learner.inputs import prior_covariance, prior_mean
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.lessons import IN_LINKS, LinkWords
from scentline.models.learner.linking import LinkingPage, LinkTable
from scentline.models.learner.words import Vocabulary
from scentline.models.ledger import Ledger

WORDS = 20_000
PAGE_WORDS = 200
LINKS = 30
PAGES = 100
BATCHES = (90, 10, 1)
REPEATS = 200


def a_page(table: LinkTable, vocabulary: Vocabulary, rng: random.Random) -> LinkingPage:
    """Take in a linking page of ordinary size, half of its targets judged."""
    words = tuple({f"w{rng.randrange(WORDS)}" for _ in range(PAGE_WORDS)})
    links = [
        LinkWords((f"w{rng.randrange(WORDS)}",), rng.sample(words, 16), rng.sample(words, 3))
        for _ in range(LINKS)
    ]
    satisfies = np.array([rng.random() < 0.3], float)
    page = table.add(range(LINKS), vocabulary.words(words), satisfies)
    said = vocabulary.words(chain.from_iterable(chain.from_iterable(links)))
    sizes = [len(part) for parts in links for part in parts]
    table.say(range(page.first, page.first + LINKS), said, sizes)
    judged = range(0, LINKS, 2)
    table.judged([page] * len(judged), judged, np.array([[(1.0, rng.random() < 0.3) for _ in judged]]))
    return page


def candidates(table: LinkTable, vocabulary: Vocabulary, rng: random.Random) -> list[Candidate]:
    """Return candidates, each with in-links from eight of a hundred linking pages."""
    pages = [a_page(table, vocabulary, rng) for _ in range(PAGES)]
    found = []
    for _ in range(max(BATCHES)):
        links = [page.first + rng.randrange(LINKS) for page in rng.sample(pages, IN_LINKS)]
        words = (f"w{rng.randrange(WORDS)}", f"w{rng.randrange(WORDS)}")
        crowd = Crowd(5, tuple(f"u{rng.randrange(1000)}" for _ in range(5)), [CoVisits(3.0, 1.0, 4, 1)])
        places = ("example.org", "www.example.org")
        found.append(Candidate(vocabulary.numbers(words), places, links, [(9, 3)], crowd))
    return found


def main() -> None:
    """Print what a candidate costs, in lookups."""
    rng = random.Random(1)
    ledger, table = Ledger(), LinkTable(1)
    vocabulary = Vocabulary(ledger)
    knowledge = Knowledge("p", vocabulary)
    counted = ledger.slots_of(f"{PAGE_WORD}w{number}" for number in range(WORDS))
    ledger.add(counted, {"p": False}, np.array([rng.randrange(1, 30) for _ in range(WORDS)], np.int32))
    base = ledger.slots_of([BASE])
    ledger.add(base, {"p": False}, 920)
    ledger.add(base, {"p": True}, 80)
    knowledge.learn(vocabulary.places_in(counted))
    found = candidates(table, vocabulary, rng)
    weights = prior_mean(), prior_covariance()
    inputs = inputs_of([knowledge], table, found)[0]
    words = {f"key{number}": number for number in range(100_000)}
    keys = rng.sample(sorted(words), 1000)
    lookup = seconds(lambda: [words[key] for key in keys], REPEATS) / len(keys)
    print(f"{'step':34}{'lookups a candidate':>20}{'us here':>10}")
    for number in BATCHES:
        some, batch = inputs[:number], found[:number]
        at_hand = seconds(partial(logits, some, *weights), REPEATS) / number
        worked_out = seconds(partial(inputs_of, [knowledge], table, batch), REPEATS) / number
        for name, cost in (("bound from inputs at hand", at_hand), ("inputs of eight in-links", worked_out)):
            print(f"{name + f', {number} at once':34}{cost / lookup:>20.0f}{cost * 1e6:>10.2f}")


if __name__ == "__main__":
    main()
