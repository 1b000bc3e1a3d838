"""What scoring candidates by the learned policy costs, in lookups: ``python -m bench.candidate_scoring``.

With the inputs at hand, and with the inputs worked out from eight in-links, as a frontier does. The yardstick
is a lookup of a word in a dictionary of 100,000, timed in the same run.
"""

import random

import numpy as np

from bench.timing import seconds
from models.learner.candidate import Candidate, Crowd, InLink, Parent
from models.learner.combiner import BayesianLogisticRegression
from models.learner.inputs import prior_covariance, prior_mean
from models.learner.knowledge import Knowledge
from models.learner.lessons import IN_LINKS
from models.learner.words import PAGE, Vocabulary

WORDS = 20_000
PAGE_WORDS = 200
LINKS = 30
CANDIDATES = 90
REPEATS = 200


def a_parent(vocabulary: Vocabulary, rng: random.Random) -> Parent:
    """Return a linking page of ordinary size, half of its targets judged."""
    page = tuple({f"w{rng.randrange(WORDS)}" for _ in range(PAGE_WORDS)})
    links = [((f"w{rng.randrange(WORDS)}",), tuple(rng.sample(page, 16))) for _ in range(LINKS)]
    parent = Parent(rng.random() < 0.3, vocabulary.linking(page, links))
    for position in range(0, LINKS, 2):
        parent.judged(position, rng.random() < 0.3)
    return parent


def candidates(vocabulary: Vocabulary, rng: random.Random) -> list[Candidate]:
    """Return candidates, each with in-links from eight of a hundred linking pages."""
    parents = [a_parent(vocabulary, rng) for _ in range(100)]
    found = []
    for _ in range(CANDIDATES):
        links = [
            InLink(parent, rng.randrange(LINKS), rng.randrange(LINKS))
            for parent in rng.sample(parents, IN_LINKS)
        ]
        words = (f"w{rng.randrange(WORDS)}", f"w{rng.randrange(WORDS)}")
        crowd = Crowd(5, tuple(f"u{rng.randrange(1000)}" for _ in range(5)), 3.0, 1.0, 4, 1)
        found.append(
            Candidate(words, vocabulary.numbers(words), ("example.org", "www.example.org"), links, 9, 3, crowd)
        )
    return found


def main() -> None:
    """Print what a candidate costs, in lookups."""
    rng = random.Random(1)
    vocabulary = Vocabulary()
    knowledge = Knowledge("p", vocabulary)
    places = vocabulary.places_of((f"w{number}" for number in range(WORDS)), PAGE)
    pages = np.array([rng.randrange(1, 30) for _ in range(WORDS)], float)
    knowledge.words.put(places, pages, np.array([rng.randrange(0, 2) for _ in range(WORDS)], float))
    knowledge.set_base(1000, 80)
    found = candidates(vocabulary, rng)
    model = BayesianLogisticRegression(prior_mean(), prior_covariance())
    inputs = np.array([knowledge.inputs(candidate) for candidate in found])
    table = {f"key{number}": number for number in range(100_000)}
    keys = rng.sample(sorted(table), 1000)
    lookup = seconds(lambda: [table[key] for key in keys], REPEATS) / len(keys)
    at_hand = seconds(lambda: np.add(*model.logits(inputs)), REPEATS) / CANDIDATES
    worked_out = seconds(lambda: [knowledge.inputs(candidate) for candidate in found], REPEATS) / CANDIDATES
    print(f"{'step':34}{'lookups a candidate':>20}{'us here':>10}")
    for name, cost in (("bound from inputs at hand", at_hand), ("inputs of eight in-links", worked_out)):
        print(f"{name:34}{cost / lookup:>20.0f}{cost * 1e6:>10.2f}")


if __name__ == "__main__":
    main()
