"""How each policy looks in every picture and table: what belongs together has kindred colours."""

from agents.evaluate.crawls import NEW_ONLY, REUSE
from agents.lab.picture import Look

_LOOKS = {
    "oracle": Look("#26292e", 1.4, (0, (5, 2))),
    "learned": Look("#d81e3f", 3.0),
    "learned+semantic": Look("#f2789a", 2.4),
    "learned+importance": Look("#7a2f8f", 2.4),
    "combined": Look("#0b4ea2", 2.2),
    "linkage": Look("#2f8fdd", 1.8),
    "collaborative": Look("#12a5a0", 1.8),
    "best-first": Look("#e08a00", 1.8),
    "link-classifier": Look("#7d45b5", 1.8),
    "pagerank": Look("#7f8f2a", 1.4),
    "backlink": Look("#a5714f", 1.4),
    "breadth-first": Look("#85898f", 1.4),
    "random": Look("#b4b7bc", 1.4, ":"),
}
_OTHER = Look("#555555")


def look(policy: str) -> Look:
    """Return a policy's look; with the state of an earlier crawl it is its own, in dashes.

    >>> look("learned").colour == look("learned+reuse").colour
    True
    """
    name = policy.removesuffix(NEW_ONLY)
    found = _LOOKS.get(name.removesuffix(REUSE), _OTHER)
    if name.endswith(REUSE):
        found = found._replace(dashes="--")
    if policy.endswith(NEW_ONLY):
        found = found._replace(width=found.width / 2)
    return found
