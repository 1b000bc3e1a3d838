"""How often a page gets new links: a rate learned from visits, which forgets slowly."""

import math

import msgspec


class ArrivalRate(msgspec.Struct, array_like=True):
    """The rate of a Poisson process, of which visits tell only how many arrivals were between them.

    With a Gamma prior of shape ``links`` and rate ``seconds``, and k arrivals in t seconds, the rate is Gamma
    distributed again, with shape ``links`` + k and rate ``seconds`` + t (the conjugate prior: Gelman et al.,
    Bayesian Data Analysis, 2.6). What was seen loses half its weight in each half-life, second by second, so
    that a rate that changes is learned anew; the prior keeps its weight, so that no page is ever given up.

    >>> rate = ArrivalRate.expecting(1 / 3600)
    >>> for _ in range(24):
    ...     rate.observe(5, 3600.0, half_life=1e9)
    >>> round(rate.mean * 3600, 2)
    4.84
    """

    links: float
    seconds: float
    seen_links: float = 0.0
    seen_seconds: float = 0.0

    @classmethod
    def expecting(cls, rate: float, weight: float = 1.0) -> "ArrivalRate":
        """Return a rate whose prior mean is ``rate`` links a second, worth as much as ``weight`` links seen.

        Raises ValueError where one is not more than 0.
        """
        if not (rate > 0 and weight > 0):
            raise ValueError(f"arrival rate: {rate} links a second, weight {weight}, expected more than 0")
        return cls(weight, weight / rate)

    @property
    def mean(self) -> float:
        """The expected rate, in links a second."""
        return (self.links + self.seen_links) / (self.seconds + self.seen_seconds)

    def observe(self, links: int, elapsed: float, half_life: float) -> None:
        """Take in that ``links`` new links came in the last ``elapsed`` seconds, more than 0.

        When in that time they came is not known: each second of it has the same share of them.
        """
        kept = 2.0 ** (-elapsed / half_life)
        weighed = (1 - kept) * half_life / math.log(2)
        self.seen_links = self.seen_links * kept + links * weighed / elapsed
        self.seen_seconds = self.seen_seconds * kept + weighed
