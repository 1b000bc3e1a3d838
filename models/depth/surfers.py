r"""The three random surfers of Baeza-Yates and Castillo 2004, section 3, and where each of them stays.

A surfer goes one level deeper with probability q. With 1 - q he goes back: one level (A), to the start page or
out of the site, which is the same to the levels (B), or to any level down to the present one, each as likely as
the others (C). The share of time x_i on level i, in the long run, is

    A:  x_i = (1 - r) r^i with r = q / (1 - q), for q < 1/2 (else the surfer never comes back)
    B:  x_i = (1 - q) q^i
    C:  x_i = (1 - q)^2 (i + 1) q^i

All three are negative binomial distributions, of the ratio r (A) or q (B, C), and of one trial (A, B) or two
(C). So A and B are one and the same distribution of levels, of which A's q is r / (1 + r).
"""

from bisect import bisect_left
from enum import StrEnum


class Surfer(StrEnum):
    """One of the three models."""

    A = "A"
    B = "B"
    C = "C"

    @property
    def trials(self) -> int:
        """How many trials the negative binomial distribution of the levels has."""
        return 2 if self is Surfer.C else 1

    def ratio(self, q: float) -> float:
        """Return the ratio of the distribution; raises ValueError where there is none.

        >>> Surfer.A.ratio(0.25)
        0.3333333333333333
        """
        bound = 0.5 if self is Surfer.A else 1.0
        if not 0 <= q < bound:
            raise ValueError(f"model {self}: q is {q}, expected 0 <= q < {bound}")
        return q / (1 - q) if self is Surfer.A else q

    def probability(self, ratio: float) -> float:
        """Return q for a ratio of the distribution: the other way round.

        >>> Surfer.A.probability(1 / 3)
        0.25
        """
        return ratio / (1 + ratio) if self is Surfer.A else ratio

    def share(self, q: float, level: int) -> float:
        """Return x_i, the share of time on a level.

        >>> [round(Surfer.C.share(0.5, level), 4) for level in range(3)]
        [0.25, 0.25, 0.1875]
        """
        ratio = self.ratio(q)
        return float((1 - ratio) ** self.trials * (level + 1) ** (self.trials - 1) * ratio**level)

    def reached(self, q: float, level: int) -> float:
        """Return the share of time on all levels up to one.

        A, B: 1 - r^(k+1). C: 1 - (2 + k - (k + 1) q) q^(k+1).

        >>> round(Surfer.C.reached(0.5, 2), 4)
        0.6875
        """
        ratio = self.ratio(q)
        beyond = ratio ** (level + 1)
        if self is Surfer.C:
            beyond *= 2 + level - (level + 1) * ratio
        return 1 - beyond

    def depth(self, q: float, share: float) -> int:
        """Return the least level up to which the surfer spends the share of time, from 0 up to below 1.

        >>> Surfer.B.depth(0.6, 0.9)
        4
        """
        beyond = 1
        while self.reached(q, beyond - 1) < share:
            beyond *= 2
        return bisect_left(range(beyond), share, key=lambda level: self.reached(q, level))

    def moves(self, q: float, level: int) -> dict[int, float]:
        """Return where the surfer goes from a level, as level and probability."""
        if self is Surfer.C:
            down = dict.fromkeys(range(level + 1), (1 - q) / (level + 1))
        else:
            down = {max(level - 1, 0) if self is Surfer.A else 0: 1 - q}
        return {**down, level + 1: q}
