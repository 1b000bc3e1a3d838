"""X-Robots-Tag: what a site asks of crawlers in the head of a response.

Google's description is the standard in use: developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

import re
from collections.abc import Iterable

# A name before a colon is a crawler's, unless it is that of a directive with a value.
_FOR = re.compile(r"(\*|[a-z][a-z0-9_-]*)\s*:\s*(.*)", re.DOTALL)
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_BOTH = frozenset({"noindex", "nofollow"})


def directives(values: Iterable[str], agent: str) -> frozenset[str]:
    """Return "noindex" and "nofollow" as far as X-Robots-Tag headers say them to ``agent``, a product token.

    ``values`` are those of the headers, one by one: a crawler's name counts to the end of its header.

    >>> sorted(directives(["none"], "scentline"))
    ['nofollow', 'noindex']
    >>> sorted(directives(["otherbot: noindex", "Scentline: nofollow"], "scentline"))
    ['nofollow']
    """
    found: set[str] = set()
    for value in values:
        ours = True
        for part in value.lower().split(","):
            directive = part.strip()
            named = _FOR.fullmatch(directive)
            if named is not None and named[1] not in _VALUED:
                ours = named[1] in (agent, "*")
                directive = named[2]
            if ours:
                found |= _BOTH if directive == "none" else {directive}
    return _BOTH & found
