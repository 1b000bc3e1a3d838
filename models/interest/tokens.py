"""Tokens of the candidate's own URL (Aggarwal 2004, section 3)."""

import math
from collections.abc import Set as AbstractSet

from models.interest.table import RatioTable


def token_log(tokens: AbstractSet[str], ratios: RatioTable) -> float:
    """Return log I_u(C): the content process, equations (5) to (7), on the events "token i is in the URL".

    ``tokens`` are the distinct tokens of the URL, split at "." and "/" (`models.url.tokens`).
    """
    logs = ratios.logs
    return math.fsum(logs[token] for token in tokens if token in logs)
