"""Pages that lead astray: redirects, links to the inside of a network, forbidden paths, odd encodings."""

from tests.webs.dangers.exchange import Exchange, reached
from tests.webs.dangers.text import document

CRAWL_DELAY = 2
PRIVATE = ("/private/ledger", "/private/letters")
LONG_URL = 100_000
_CHAIN, _LONG_CHAIN = 3, 30

#: Pages whose encoding is odd: by path, what the header says, the codec, and what the page itself says.
ENCODINGS: dict[str, tuple[str, str, str]] = {
    "/shift-jis": ("text/html", "shift_jis", "shift_jis"),
    "/utf-16": ("text/html", "utf-16", ""),
    "/undeclared": ("text/html", "iso-8859-1", ""),
    "/wrong-header": ("text/html; charset=klingon", "utf-8", "utf-8"),
    "/wrong-meta": ("text/html; charset=windows-1252", "windows-1252", "utf-8"),
}


async def redirects(exchange: Exchange) -> None:
    """Redirect: to a page in a few steps, in too many, in circles, and to where no page may be."""
    head, _, last = exchange.path.rpartition("/")
    if exchange.path == "/":
        links = ["/chain/0", "/long/0", "/circle/a", "/self", "/to/file", "/to/metadata", "/to/itself"]
        exchange.page("Signposts", links)
    elif head == "/chain" and last.isdigit():
        exchange.send(302, Location=f"/chain/{int(last) + 1}" if int(last) < _CHAIN else reached("/chain"))
    elif head == "/long" and last.isdigit():
        exchange.send(301, Location=f"/long/{int(last) + 1}" if int(last) < _LONG_CHAIN else "/too-far")
    elif exchange.path in ("/circle/a", "/circle/b"):
        exchange.send(302, Location="/circle/b" if last == "a" else "/circle/a")
    elif exchange.path == "/self":
        exchange.send(301, Location="/self")
    elif head == "/to":
        targets = {"file": "file:///etc/passwd", "metadata": "http://169.254.169.254/latest/meta-data/"}
        exchange.send(302, Location=targets.get(last, "javascript:alert(1)"))
    else:
        exchange.page("Where the signpost led")


class Inward:
    """Links and redirects to this machine, to a cloud's metadata and to files; ``port`` is the servers' own."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __call__(self, exchange: Exchange) -> None:
        """Answer."""
        if exchange.path == "/":
            exchange.page("Inside", [*self._links(), "/away", reached("/inside")])
        elif exchange.path == "/away":
            exchange.send(302, Location=f"http://localhost:{self._port}/secret")
        else:
            exchange.page("Nothing happened")

    def _links(self) -> list[str]:
        names = (
            "localhost",
            "127.0.0.1",
            "2130706433",
            "0x7f.1",
            "127.1",
            "0.0.0.0",
            "[::1]",
            "[::ffff:127.0.0.1]",
        )
        return [
            *(f"http://{name}:{self._port}/secret" for name in names),
            "http://169.254.169.254/latest/meta-data/",
            "file:///etc/passwd",
            "ftp://127.0.0.1/",
            f"http://user:word@127.0.0.1:{self._port}/secret",
            f"http://127.0.0.1:{self._port}/{'a' * LONG_URL}",
            f"/{'long/' * (LONG_URL // 5)}",
        ]


async def private(exchange: Exchange) -> None:
    """Forbid paths and ask for a delay, in robots.txt."""
    if exchange.path == "/robots.txt":
        rules = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\nDisallow: /private/\nDisallow: /*?print=\n"
        exchange.send(200, rules.encode(), "text/plain")
    elif exchange.path == "/":
        exchange.page("A house", [*PRIVATE, "/garden?print=1", "/garden", "/hall"])
    else:
        exchange.page(f"The house: {exchange.path}")


async def encodings(exchange: Exchange) -> None:
    """Answer with encodings that are odd, wrong or broken; each page has a link that nothing else has."""
    if exchange.path == "/":
        exchange.page("Tongues", [*ENCODINGS, "/invalid-utf-8", "/nul-bytes"])
    elif exchange.path in ENCODINGS:
        kind, codec, declared = ENCODINGS[exchange.path]
        meta = f'<meta charset="{declared}">' if declared else ""
        page = document(f"Written as {exchange.path}", [reached(exchange.path)]).decode()
        text = page.replace("<head>", f"<head>{meta}").replace("<ul>", f"{_greeting(codec)}<ul>")
        exchange.send(200, text.encode(codec, "xmlcharrefreplace"), kind)
    elif exchange.path == "/invalid-utf-8":
        exchange.send(
            200, b"<p>\xc3\x28\xff\xfa\x80</p>" + document("Broken", [reached(exchange.path)]) + b"\xc3\x28\xf0"
        )
    elif exchange.path == "/nul-bytes":
        exchange.send(200, b"\0" + document("No\0thing", [reached(exchange.path)]))
    else:
        exchange.page("Understood")


def _greeting(codec: str) -> str:
    return "<p>日本語</p>" if codec in ("shift_jis", "utf-16") else "<p>Grüße</p>"
