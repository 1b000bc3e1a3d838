"""Session ids in URLs: what servers add when a visitor takes no cookies, so that one page has a URL a visit.

Only what names itself is taken away, and only where the value looks like nothing else: a page lost is worse
than a page fetched twice, which near-duplicates settle.
"""

import re

# The servlet standard's path parameter (Jakarta Servlet 7.1.3). Not behind a dot: what is left must not be a
# dot segment.
_PATH_PARAMETER = re.compile(r"(?<=[^/.]);(?:jsessionid|phpsessid)=[\w.!~+-]{8,}(?=[/;]|\Z)", re.IGNORECASE)
# ASP.NET without cookies: a segment such as (S(lit3py55t21z5v55vlm25s55)).
_SEGMENT = re.compile(r"/\((?:[A-Z]\(\w{1,40}\)){0,4}S\(\w{24,}\)(?:[A-Z]\(\w{1,40}\)){0,4}\)(?=/)")
_SUSPECT = re.compile(r"sess|sid=|zenid|cftoken", re.IGNORECASE)
_PARAMETERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Names that mean nothing else: PHP, servlets, ASP, osCommerce, Zen Cart, xt:Commerce, ColdFusion.
        r"(?:phpsessid|jsessionid|aspsessionid[a-z]{8}|oscsid|zenid|xtcsid)=[\w.!~,-]{8,}",
        r"cftoken=[\w-]{8,}",
        # Names that a page may go by: the value must be a hash, or long and mixed.
        r"sid=(?:[0-9a-f]{32}|[0-9a-f]{40})",
        r"(?:session|sessid|sessionid|session_id)=(?=[^&]*[0-9])(?=[^&]*[a-z])[0-9a-z]{26,}",
    )
)
_CFID = re.compile(r"cfid=\d{1,20}", re.IGNORECASE)


def without_session(path: str, query: str) -> tuple[str, str]:
    """Return path and query (with its "?", or empty) of a canonical URL without the session ids in them.

    >>> without_session("/shop;jsessionid=0A1B2C3D4E5F", "?sid=0123456789abcdef0123456789abcdef&item=7")
    ('/shop', '?item=7')
    >>> without_session("/talks", "?sid=42&session_id=7")
    ('/talks', '?sid=42&session_id=7')
    """
    if ";" in path:
        path = _PATH_PARAMETER.sub("", path)
    if "S(" in path:
        path = _SEGMENT.sub("", path)
    if query and _SUSPECT.search(query):
        parts = query[1:].split("&")
        kept = [part for part in parts if not any(each.fullmatch(part) for each in _PARAMETERS)]
        if len(kept) < len(parts) and any(part[:8].lower() == "cftoken=" for part in {*parts} - {*kept}):
            kept = [part for part in kept if not _CFID.fullmatch(part)]
        query = "?" + "&".join(kept) if any(kept) else ""
    return path, query
