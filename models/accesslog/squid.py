"""Squid's native format: ``time elapsed client action/code size method URL user hierarchy/from type``."""

import re

from scentline.models.accesslog.entry import Entry, LogLineError, cut_short

# Fields hold no white space and are parted by it: matching is linear, and gives nothing back. What follows the
# content type (headers, with log_mime_hdrs) is ignored. Elapsed time is negative where the clock was set
# back.
_LINE = re.compile(
    r"\s*+(\d{1,11}+(?:\.\d{1,9}+)?+)\s++-?\d{1,18}+\s++(\S++)\s++([^\s/]++)/(\d{3})\s++(\d{1,18}+|-)"
    r"\s++(\S++)\s++(\S++)\s++(\S++)\s++[^\s/]++/\S*+\s++(-(?!\S)|[^\s/]++/\S++)(?:\s.*)?",
    re.ASCII | re.DOTALL,
)


def parse(line: str) -> Entry:
    """Return the entry of a line of Squid's native format; raises `LogLineError`.

    >>> entry = parse("1286536309.586 921 192.0.2.7 TCP_MISS/200 507 GET http://example.org/ - "
    ...               "HIER_DIRECT/198.51.100.1 text/html;charset=utf-8")
    >>> entry.time, entry.method, entry.url, entry.status, entry.content_type
    (1286536309.586, 'GET', 'http://example.org/', 200, 'text/html')
    """
    found = _LINE.fullmatch(line)
    if found is None:
        raise LogLineError("not a line of Squid's native format")
    time, client, action, code, size, method, url, user, kind = found.groups()
    return Entry(
        client,
        None if user == "-" else user,
        float(time),
        method,
        url,
        int(code),
        0 if size == "-" or cut_short(action) else int(size),
        None if kind == "-" else kind.partition(";")[0].lower(),
    )
