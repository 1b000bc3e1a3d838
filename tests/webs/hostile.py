"""A web whose titles, texts, links and statuses are made to run script in the browser of who looks at a crawl.

Every payload sets ``globalThis.hit`` where it is run, so that a page can be asked whether one was.
"""

from collections import Counter
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from tests.webs.serving import Exchange

SCRIPT = "<script>globalThis.hit=1</script>"
IMAGE = '"><img src=x onerror="globalThis.hit=2">'
#: Markup, ends of attributes, templates, bidirectional marks and control characters.
PAYLOADS = (
    SCRIPT,
    IMAGE,
    "';globalThis.hit=3;//`${globalThis.hit=4}`{{constructor.constructor('globalThis.hit=5')()}}",
    "\u202eevil\u2066 \x1b[31m\x00 </title></textarea></style>",
    "<svg/onload=globalThis.hit=6><iframe srcdoc='<script>parent.hit=7</script>'>",
)
#: Addresses that are no web page's.
LINKS = ("javascript:globalThis.hit=8", "data:text/html,<script>globalThis.hit=9</script>", "vbscript:x")
HOSTS = tuple(
    f"www.{name}.example" for name in ("ash", "beech", "cedar", "elm", "fir", "hazel", "larch", "oak")
)
#: Of each host; more than any test waits for.
PAGES = 3_000


def address(host: int, page: int) -> str:
    return f"http://{HOSTS[host % len(HOSTS)]}/page-{page}?q={quote(PAYLOADS[page % len(PAYLOADS)])}"


def _page(host: int, page: int) -> bytes:
    """Return a page: every third is about hockey, each links to later ones of its host and another one."""
    title = escape(f"{PAYLOADS[page % len(PAYLOADS)]} page {page}")
    links = [
        *(address(host, page * 2 + step) for step in (1, 2)), address(host + 1, page + 1),
        f"http://{HOSTS[host]}/gone-{page}",
        f"http://{HOSTS[0]}/broken-{page % 3}",  # a host whose server fails is left alone for minutes
        *LINKS,
    ]  # fmt: skip
    anchors = "".join(f'<li><a href="{escape(link)}">{title} to {escape(link)}</a></li>' for link in links)
    text = "ice hockey " * 20 if page % 3 == 0 else "of gardens and trees " * 20
    return f"<!doctype html><title>{title}</title><p>{title} {text}</p><ul>{anchors}</ul>".encode()


def log_lines(now: float) -> Sequence[str]:
    """Return lines of a proxy's log: visits to the pages, and what is no line."""
    visits = [
        f"{now - 600 + number:.3f} 9 10.0.0.{number % 4} TCP_MISS/200 900 GET {address(number, number)} - "
        f"HIER_DIRECT/10.9.9.9 text/html"
        for number in range(20)
    ]
    return [*visits, *(payload.replace("\x00", " ") for payload in PAYLOADS)]


class HostileWeb:
    """A proxy on loopback that has every page of the hosts; ``asked`` counts the requests to each."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def answer(self, exchange: Exchange) -> None:
        self.asked[exchange.host] += 1
        kind, _, number = exchange.path.strip("/").partition("-")
        if exchange.host not in HOSTS or kind in ("gone", "robots.txt"):
            exchange.send(404, f"<title>{SCRIPT}</title>".encode(), reason=SCRIPT)
        elif kind == "broken":
            exchange.send(503, IMAGE.encode(), reason=SCRIPT)
        else:
            exchange.send(200, _page(HOSTS.index(exchange.host), min(int(number or 0), PAGES)), reason=SCRIPT)
