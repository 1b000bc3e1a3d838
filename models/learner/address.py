"""A URL as evidence: its words, and the tree of hosts and directories it lies in."""

from functools import lru_cache
from urllib.parse import unquote

from models.words import words

#: Levels of the tree of prefixes that are looked at.
LEVELS = 8
#: Hosts whose domains are remembered.
HOSTS = 10_000


def url_words(url: str) -> tuple[str, ...]:
    """Return the distinct words of a canonical URL's path and query, in order.

    >>> url_words("http://example.org/wp/British_Rail.html?class=66")
    ('wp', 'british', 'rail', 'html', 'class', '66')
    """
    return tuple(dict.fromkeys(words(unquote(url.split("/", 3)[3]))))


def prefixes(url: str) -> tuple[str, ...]:
    """Return the domains and directories that a canonical URL lies in, the widest first, at most eight.

    >>> prefixes("http://www.example.org/sports/hockey/rules.html")
    ('example.org', 'www.example.org', 'www.example.org/sports', 'www.example.org/sports/hockey')
    """
    path = url.partition("?")[0]
    start, last = path.index("//") + 2, path.rindex("/")
    end = path.index("/", start)
    found = [*domains(path[start:end])]
    while end < last and len(found) < LEVELS:
        end = path.index("/", end + 1)
        found.append(path[start:end])
    return tuple(found[:LEVELS])


@lru_cache(HOSTS)
def domains(host: str) -> tuple[str, ...]:
    """Return the domains that a host lies in, the widest first, and itself.

    >>> domains("www.example.org:8080")
    ('example.org:8080', 'www.example.org:8080')
    """
    labels = host.split(".")
    return tuple(".".join(labels[-depth:]) for depth in range(min(2, len(labels)), len(labels) + 1))
