"""What clients say, in JSON beside bodies, and the result that our own fetcher would have had.

A client is trusted with no more than a page is: URLs are made canonical, numbers and sizes bounded, and bodies
are read where those of our fetcher are.
"""

from html import escape
from typing import Annotated, Any, Final

import msgspec

from scentline.agents.fetch.client import KEPT, KEPT_LENGTH, MOVED, check, forbids_links, moved
from scentline.agents.fetch.guard import product
from scentline.agents.fetch.result import Body, Ended, FetchError, Result, inflated
from scentline.models.facts import Early, Kind, Same
from scentline.models.records import HostAnswer, ItemName, Memo, Natural, Seconds
from scentline.models.settings import LONGEST_LEASE
from scentline.models.url import MAX_LENGTH
from scentline.streams.settings import Settings

#: Bounds of a call and of its parts.
MOST_CALL: Final = 16 * 1024 * 1024
MOST_PARTS: Final = 1_000
MOST_WAIT: Final = 30.0  #: Seconds of a client's wait at most.

_Text = Annotated[str, msgspec.Meta(max_length=1_000)]
_Url = Annotated[str, msgspec.Meta(max_length=4 * MAX_LENGTH)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
#: Reasons for which a client has no answer: what follows, and whether no server answered.
REASONS: Final[dict[str, tuple[Kind, str, bool]]] = {
    "robots": ("refused", "robots.txt", False),
    "timeout": ("retry", "timeout", True),
    "dns": ("retry", "dns", True),
    "connection": ("retry", "connection", True),
    "tls": ("retry", "tls", True),
    "broken": ("retry", "broken", False),
    "size": ("unfit", "over the client's bound", False),
    "type": ("unfit", "content type", False),
    "failed": ("failed", "error of the client", False),
}


class Wanted(msgspec.Struct, frozen=True):
    """A link that a client wants to follow, or a URL that it found."""

    url: _Url
    text: _Text = ""  #: The link's text.
    memo: Memo = ""  #: What the client needs to request it; it comes back with the order.
    seed: bool = False
    parent: _Url = ""  #: The page with the link.


class Answer(msgspec.Struct, frozen=True):
    """How an order ended, and what the client found."""

    url: _Url
    order: _Name
    #: The status of the response; 0 without one: ``reason`` says why, or "back" gives the order back.
    status: Annotated[int, msgspec.Meta(ge=0, le=999)] = 0
    reason: _Text = ""
    elapsed: Seconds = 0.0  #: Seconds from the request to the end of its answer.
    #: Seconds from that end to this call.
    ago: Seconds = 0.0
    server: _Text = ""  #: The address of the host.
    #: Those of the response; the values of a repeated one are lines of their own.
    headers: dict[_Name, Annotated[str, msgspec.Meta(max_length=8_000)]] = {}
    #: Bytes of its zlib stream among the call's bodies; 0 without a body.
    body: Natural = 0
    title: _Text = ""  #: For an answer without a body.
    text: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    items: Annotated[list[ItemName], msgspec.Meta(max_length=100)] = []
    #: The links to follow; None for all that the body has.
    links: Annotated[list[Wanted], msgspec.Meta(max_length=MOST_PARTS)] | None = None
    target: _Url = ""  #: The target of a redirect.


class Robots(msgspec.Struct, frozen=True):
    """A robots.txt that a client read."""

    url: _Url
    status: Annotated[int, msgspec.Meta(ge=0, le=999)]
    text: Annotated[str, msgspec.Meta(max_length=512_000)] = ""


class Lease(msgspec.Struct, frozen=True):
    """Asks for orders; ``id`` names the request, so that its repetition gets the same ones."""

    client: _Name
    id: _Name = "-"
    want: Annotated[int, msgspec.Meta(ge=0, le=MOST_PARTS)] = 1
    wait: Annotated[float, msgspec.Meta(ge=0, le=MOST_WAIT)] = 0.0
    seconds: Annotated[float, msgspec.Meta(ge=1, le=LONGEST_LEASE)] = 60.0
    #: The orders that the client holds, (URL, order): each call extends their leases.
    holding: Annotated[list[tuple[_Url, _Name]], msgspec.Meta(max_length=MOST_PARTS)] = []
    host: _Name | None = None
    busy: bool = False  #: Whether the client may discover more without an order: the crawl goes on.


class Settle(msgspec.Struct, frozen=True):
    """Answers of one client, and the robots.txt files that it read on the way."""

    client: _Name
    answers: Annotated[list[Answer], msgspec.Meta(max_length=MOST_PARTS)] = []
    robots: Annotated[list[Robots], msgspec.Meta(max_length=100)] = []
    lease: Lease | None = None  #: What is leased once the answers are in the log.


class Discover(msgspec.Struct, frozen=True):
    """URLs that a client found without a page of ours, such as its seeds."""

    client: _Name
    urls: Annotated[list[Wanted], msgspec.Meta(max_length=MOST_PARTS)]


def ended_of(answer: Answer, body: bytes, settings: Settings, now: float, crawl_delay: float | None) -> Ended:
    """Return the end of a fetch as our fetcher would have it; never raises."""
    elapsed = answer.elapsed or (0.001 if answer.status else 0.0)
    told: dict[str, Any] = {"elapsed": elapsed, "server": answer.server, "crawl_delay": crawl_delay}
    try:
        return Ended(_result(answer, body, settings, now), HostAnswer(**told))
    except FetchError as error:
        return error.ended._replace(host=msgspec.structs.replace(error.ended.host, **told))


def _result(answer: Answer, body: bytes, settings: Settings, now: float) -> Result:
    if not answer.status:
        if answer.reason == "back":
            return Early(0.0)
        kind, reason, unanswered = REASONS.get(answer.reason, REASONS["failed"])
        raise FetchError(kind, reason, unanswered=unanswered)
    if answer.status == 304:
        return Same()
    if answer.status in MOVED and answer.target:
        return moved(answer.url, answer.status, answer.target)
    lines = {name.lower(): value.splitlines() for name, value in answer.headers.items()}
    headers = {name: ", ".join(values) for name, values in lines.items()}
    if answer.text and not answer.body:  # a page by what its client says, whatever its type
        headers.pop("content-type", None)
    check(answer.status, headers, now, settings.judge.formats)
    nofollow = forbids_links(lines.get("x-robots-tag", ()), product(settings.fetch.user_agent))
    most = settings.fetch.max_bytes
    content = inflated(body, most + 1, gzip=False) if answer.body else _page(answer).encode()
    if len(content) > most:
        raise FetchError("unfit", f"body over {most} bytes")
    kept = {name: headers[name][:KEPT_LENGTH] for name in KEPT if name in headers}
    kept = kept if answer.body else {"content-type": "text/html; charset=utf-8"}
    return Body(answer.status, kept, content, nofollow)


def _page(answer: Answer) -> str:
    """Return a page of what a client says of one whose body it does not send."""
    links = "".join(f'<a href="{escape(link.url)}">{escape(link.text)}</a>\n' for link in answer.links or ())
    head = f"<!doctype html><title>{escape(answer.title)}</title>"
    return f"{head}\n<p>{escape(answer.text)}</p>\n<nav>{links}</nav>"
