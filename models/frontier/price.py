"""What a page has to promise to be worth fetching: the bid price of what is scarce.

Bid-price control, from revenue management (Talluri and van Ryzin, Management Science 44, 1998): an offer for a
scarce good is taken if it brings no less than the good is worth at the margin. Here pages are scarce, and
candidates are the offers. The price is that of the deterministic problem: with ``n`` pages left, the chance of
the ``n``-th best candidate known. Of a host count as many as its delay allows in the time that is left. Where
fewer than ``n`` can be asked in that time, time is what is scarce: a page costs nothing, and each second of a
host is worth its best candidate.
"""

import math
from typing import NamedTuple


class Price(NamedTuple):
    """The least priority that is worth a page, minus infinity for any.

    ``others`` is that among the owners alone who had no more than their share (`models.frontier.shares`).
    """

    least: float = -math.inf
    others: float = -math.inf


#: That of a page while pages are not scarce.
FREE = Price()
