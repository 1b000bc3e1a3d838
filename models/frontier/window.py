"""How many pages may be in flight."""


def window(judged: int, share: float, at_most: int) -> int:
    """Return how many pages may be in flight after ``judged`` pages: that share of them, 1 to ``at_most``.

    A page in flight was chosen without the verdicts of the others, which costs most while little is known.

    >>> [window(judged, share=0.05, at_most=16) for judged in (0, 39, 40, 200, 5000)]
    [1, 1, 2, 10, 16]
    """
    return max(1, min(at_most, int(share * judged)))
