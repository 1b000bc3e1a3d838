"""A URL as evidence: its words, and the tree of hosts and directories it lies in."""

from urllib.parse import unquote

from models.words import words

#: Levels of the tree of prefixes that are looked at.
LEVELS = 8


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
    host, _, path = url.partition("://")[2].partition("/")
    labels = host.split(".")
    found = [".".join(labels[-depth:]) for depth in range(min(2, len(labels)), len(labels) + 1)]
    place = host
    for segment in path.partition("?")[0].split("/")[:-1]:
        place = f"{place}/{segment}"
        found.append(place)
    return tuple(found[:LEVELS])
