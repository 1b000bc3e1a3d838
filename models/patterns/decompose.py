"""A URL as key-value pairs."""

#: What is looked at of a URL: labels of the host, segments of the path, parameters of the query.
LABELS, SEGMENTS, PARAMETERS = 8, 20, 20
EXTENSION = "extension"
_LONGEST_EXTENSION = 5
_HOST = tuple(f"host.{place}" for place in range(1, LABELS + 1))
_PATH = tuple(f"path.{place}" for place in range(1, SEGMENTS + 1))
_FAMILIES = ("scheme", "port", "host", "path", EXTENSION)


def decompose(url: str) -> dict[str, str]:
    """Return the key-value pairs of a canonical URL (Liu 2011, section 3.1 and Figure 3 a).

    Keys are "scheme", "port" where there is one, "host.N" (labels from the right), "path.N" (segments from the
    left), "extension" of the last segment, which then lacks it, and "?NAME" for each parameter of the query.
    Of a parameter that is repeated the first value counts. An IP address is one label.

    >>> decompose("http://www.example.org/wp/a.html?id=7")  # doctest: +NORMALIZE_WHITESPACE
    {'scheme': 'http', 'host.1': 'org', 'host.2': 'example', 'host.3': 'www', 'extension': 'html',
     'path.1': 'wp', 'path.2': 'a', '?id': '7'}
    """
    address, _, query = url.partition("?")
    scheme, _, rest = address.partition("://")
    authority, _, path = rest.partition("/")
    parts = {"scheme": scheme}
    _host(authority, parts)
    segments = path.split("/", SEGMENTS)[:SEGMENTS]
    stem, dot, extension = segments[-1].rpartition(".")
    if dot and stem and len(extension) <= _LONGEST_EXTENSION and extension.isalnum():
        parts[EXTENSION] = extension
        segments[-1] = stem
    parts.update(zip(_PATH, segments, strict=False))
    if query:
        for pair in query.split("&", PARAMETERS)[:PARAMETERS]:
            name, _, value = pair.partition("=")
            parts.setdefault(f"?{name}", value)
    return parts


def _host(authority: str, parts: dict[str, str]) -> None:
    name, colon, port = authority.rpartition(":")
    if colon and port.isdigit():
        parts["port"] = port
    else:
        name = authority
    last = name[name.rfind(".") + 1 :]
    labels = [name] if name.startswith("[") or last.isdigit() else name.rsplit(".", LABELS)[: -LABELS - 1 : -1]
    parts.update(zip(_HOST, labels, strict=False))


def place(key: str) -> tuple[int, int, str]:
    """Return what keys are sorted by: the order in which a URL has them, parameters by name.

    >>> sorted(["?a", "path.10", "path.9", "scheme", "extension"], key=place)
    ['scheme', 'path.9', 'path.10', 'extension', '?a']
    """
    if key.startswith("?"):
        return len(_FAMILIES), 0, key
    family, _, number = key.partition(".")
    return _FAMILIES.index(family), int(number or 0), ""
