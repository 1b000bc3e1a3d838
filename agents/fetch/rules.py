"""What a site asks of crawlers: the text of a robots.txt, and X-Robots-Tag in the head of a response.

Of X-Robots-Tag Google's description is the standard in use:
developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from protego import Protego

from scentline.agents.fetch.result import DAY
from scentline.models.url import canonical

#: Rules of one robots.txt with a wildcard, ``*`` or ``$``, and wildcards in one: each is tried for each URL.
MAX_WILD_RULES = 2_000
MAX_WILDCARDS = 20
#: Sitemaps of one robots.txt that are read at most.
MAX_SITEMAPS = 50

_AGENT = re.compile(r"\s*user[\s-]?\s*agent\s*[:\s]\s*(\*(?![^\s#])|[^\s*/(;,#]*)", re.IGNORECASE)
# A rule with a wildcard, as it is taken for one: names are spelled in many ways, and the colon may be missing.
_WILD = re.compile(r"\s*(?:(allow)|di)[^#*$]*+[*$]", re.IGNORECASE)
# A name before a colon is a crawler's, unless it is that of a directive with a value.
_FOR = re.compile(r"(\*|[a-z][a-z0-9_-]*)\s*:\s*(.*)", re.DOTALL)
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_BOTH = frozenset({"noindex", "nofollow"})


@dataclass(frozen=True, slots=True)
class Rules:
    """What a robots.txt says to ``agent``: its rules, its crawl-delay (a day at most), the sitemaps."""

    agent: str
    parsed: Protego
    crawl_delay: float | None
    sitemaps: tuple[str, ...]
    size: int

    def allows(self, url: str) -> bool:
        """Return whether a canonical URL may be asked for."""
        return bool(self.parsed.can_fetch(url, self.agent))


def rules(text: str, agent: str) -> Rules:
    r"""Read a robots.txt for the product token ``agent``; never raises.

    >>> rules("User-agent: *\nDisallow: /a\nCrawl-delay: 2", "scentline").allows("http://example.org/a")
    False
    """
    parsed = Protego.parse(own_groups(text, agent))
    delay = parsed.crawl_delay(agent)
    found = (canonical(url) for url in islice(parsed.sitemaps, MAX_SITEMAPS))
    sitemaps = tuple(dict.fromkeys(url for url in found if url is not None))
    return Rules(agent, parsed, None if delay is None else min(float(delay), DAY), sitemaps, len(text))


def product(user_agent: str) -> str:
    """Return the product token of a User-Agent, by which robots.txt knows the crawler, in lower case.

    >>> product("Scentline/0.2 (+https://example.org/contact)")
    'scentline'
    """
    return re.split(r"[/\s(]", user_agent.strip(), maxsplit=1)[0].lower()


def own_groups(text: str, agent: str) -> str:
    r"""Return a robots.txt whose groups for other agents than ``agent`` and "*" are named alike.

    A group counts as ours by its whole product token (RFC 9309, section 2.2.1), not by a part of it as for
    protego; and a file that names thousands of agents costs no more than one that names three. Beyond bounds,
    rules with wildcards are followed up to the first of them.

    >>> own_groups("User-agent: Scent\nUser-agent: SCENTLINE/2\nDisallow: /a", "scentline")
    'user-agent: not-scentline\nuser-agent: scentline\nDisallow: /a'
    """
    return "\n".join(_bounded(_own_line(line, agent) for line in text.splitlines()))


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines; a rule with too many wildcards, or after too many such, forbids more, or is left out."""
    left = MAX_WILD_RULES
    for line in lines:
        wild = _WILD.match(line)
        if wild is None:
            yield line
            continue
        left -= 1
        if left >= 0 and line.count("*") + line.count("$") <= MAX_WILDCARDS:
            yield line
        elif wild[1] is None:
            plain = wild[0][:-1].rstrip()
            yield plain if "/" in plain else f"{plain} /"


def _own_line(line: str, agent: str) -> str:
    named = _AGENT.match(line)
    if named is None:
        return line
    token = named[1].lower()
    return f"user-agent: {token if token in ('*', agent) else 'not-' + agent}"


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
