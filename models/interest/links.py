"""Short-range topical locality of links (Aggarwal 2004, section 3, Table 1)."""

import math

import msgspec

from models.interest.ratio import Base, interest


class LinkTable(msgspec.Struct, frozen=True, array_like=True):
    """Table 1 as counts of links whose two ends are judged.

    ``satisfying`` and ``failing`` are the links from pages that do, and do not, satisfy the predicate: how
    many there are, and how many of these lead to a page that satisfies it.
    """

    satisfying: tuple[int, int] = (0, 0)
    failing: tuple[int, int] = (0, 0)

    @property
    def links(self) -> int:
        """All links whose two ends are judged."""
        return self.satisfying[0] + self.failing[0]

    def fractions(self) -> tuple[float, float, float, float]:
        """Return f1 to f4 of Table 1: the shares of pred-pred, pred-non, non-pred and non-non links.

        >>> LinkTable((300, 70), (700, 30)).fractions()
        (0.07, 0.23, 0.03, 0.67)
        """
        (sources, hits), (others, other_hits) = self.satisfying, self.failing
        links = self.links or 1
        return hits / links, (sources - hits) / links, other_hits / links, (others - other_hits) / links

    def p(self, base: Base) -> float:
        """Return p = f1 / (P(C) P(C)), the interest ratio of an in-linking page that satisfies the predicate.

        1 while no link from such a page was seen; no hit among them counts as half a hit.
        """
        return self._ratio(self.satisfying, base, base.rate)

    def q(self, base: Base) -> float:
        """Return q = f3 / (P(C) (1 - P(C))), the interest ratio of an in-linking page that does not satisfy.

        1 while no link from such a page was seen; no hit among them counts as half a hit.
        """
        return self._ratio(self.failing, base, 1 - base.rate)

    def _ratio(self, row: tuple[int, int], base: Base, source_rate: float) -> float:
        sources, hits = row
        if sources <= 0 or not base.informative:
            return 1.0
        return interest(hits, self.links * base.rate * source_rate)


def locality_log(parents: int, satisfying: int, table: LinkTable, base: Base) -> float:
    """Return log I_l(C) = log(p^m q^(k-m)) of a page with k judged in-links, m from satisfying pages.

    No judged in-link gives the factor 1.
    """
    if not parents:
        return 0.0
    return satisfying * math.log(table.p(base)) + (parents - satisfying) * math.log(table.q(base))
