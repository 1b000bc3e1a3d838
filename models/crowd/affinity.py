"""User affinity: what a page's visitors say of it (Aggarwal 2004, section 3.1, equations 8 to 10)."""

import math
from collections.abc import Iterable

from models.interest.ratio import Denominator
from models.interest.table import RatioTable


def crowd_table(t: float, denominator: Denominator) -> RatioTable:
    """Return an empty table of users, or of words of signatures.

    With the paper's denominator T is that of equation (10), over N: signatures are "quite analogous" to users.
    """
    return RatioTable(t, denominator, sample="pages")


def affinity_log(visitors: Iterable[str], users: RatioTable) -> float:
    """Return log I^B of a page, equation (9), over the users with T >= t alone.

    ``visitors`` are the distinct users kept of the page (`models.crowd.trace.Trace.visitors`). The interest
    ratio of a user, P(U|R_i) / P(U) (8), is that of the event "the user visited the page" over the judged
    pages.
    """
    logs = users.logs
    return math.fsum(logs[name] for name in visitors if name in logs)
