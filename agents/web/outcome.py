"""What came of a fetch, as one of a few words: the class of its status, or why there was none."""

from typing import Final

from agents.web.result import Early, Failure, Fetched, Moved, Result, Unchanged

#: Of a reason's first words, what they come to. The longest that fits counts.
_REASONS: Final = {
    "status 4": "4xx",
    "status 5": "5xx",
    "redirect": "3xx",
    "robots.txt": "robots",
    "robots.txt ": "robots_unreachable",
    "X-Robots-Tag": "robots",
    "address": "address",
    "host denied": "address",
    "port": "address",
    "contact": "contact",
    "timeout": "timeout",
    "dns": "dns",
    "connection": "connection",
    "proxy": "connection",
    "tls": "tls",
    "certificate": "tls",
    "broken": "broken",
    "body cut short": "broken",
    "body over": "size",
    "compressed over": "size",
    "over": "size",
    "content type": "type",
    "content encoding": "type",
    "error": "error",
    "robots.txt error": "error",
}
_LONGEST_FIRST: Final = sorted(_REASONS, key=len, reverse=True)

#: Every word that `outcome_of` returns.
OUTCOMES: Final = tuple(dict.fromkeys(("2xx", "unchanged", "3xx", *_REASONS.values(), "early", "other")))


def outcome_of(result: Result) -> str:
    """Return what came of a fetch, one of `OUTCOMES`.

    >>> outcome_of(Failure("gone", "status 404")), outcome_of(Failure("retry", "robots.txt status 503"))
    ('4xx', 'robots_unreachable')
    """
    match result:
        case Fetched():
            return "2xx"
        case Unchanged():
            return "unchanged"
        case Moved():
            return "3xx"
        case Early():
            return "early"
        case Failure():
            begins = next((words for words in _LONGEST_FIRST if result.reason.startswith(words)), None)
            return "other" if begins is None else _REASONS[begins]
