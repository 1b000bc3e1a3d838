"""Sites without an end: a calendar, paths and queries that grow, session ids, soft 404s, and copies."""

import datetime
import itertools
from collections.abc import Iterator

from tests.webs.dangers.exchange import Exchange
from tests.webs.dangers.text import prose

SESSION_PAGES = 4
COPIES = 4
NEAR_COPIES = 4
# What stands on each page of a calendar, as it does on most of them.
_FRAME = " ".join(prose(f"a calendar, part {part}") for part in range(4))


async def calendar(exchange: Exchange) -> None:
    """A page for each day and month, for ever, each with links to the next and the one before."""
    if exchange.path == "/":
        exchange.page("Events", ["/calendar?month=2024-01", "/about"])
    elif exchange.path == "/calendar":
        first = datetime.date.fromisoformat(f"{exchange.query.get('month', '2024-01')}-01")
        later, earlier = first + datetime.timedelta(days=31), first - datetime.timedelta(days=1)
        days = [f"/day/{first:%Y/%m}/{day:02}" for day in range(1, 29)]
        months = [f"/calendar?month={day:%Y-%m}" for day in (later, earlier)]
        exchange.page(
            f"Events of {first:%B %Y}", [*months, *days], f"There are no events in this month. {_FRAME}"
        )
    elif exchange.path.startswith("/day/"):
        exchange.page(f"Events of {exchange.path[5:]}", ["/"], f"There are no events on this day. {_FRAME}")
    elif exchange.path == "/about":
        exchange.page("About our events", ["/"])
    else:
        exchange.send(404)


async def paths(exchange: Exchange) -> None:
    """A link that is relative by mistake, so that it leads deeper each time; a query that grows."""
    if exchange.path == "/":
        exchange.page("Shelves", ["shelf/", "/list?page=1", "/opening-hours"])
    elif exchange.path.endswith("/shelf/"):
        exchange.page("A shelf", ["shelf/", "box/shelf/", "/"], "Nothing lies on this shelf.")
    elif exchange.path == "/list":
        more = [f"{exchange.target}&colour={number}" for number in range(3)]
        exchange.page("A list", more, "This list is empty.")
    elif exchange.path == "/opening-hours":
        exchange.page("Opening hours", ["/"])
    else:
        exchange.send(404)


class Sessions:
    """Gives each link of each answer a session id that was never used before."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = itertools.count(1)

    async def __call__(self, exchange: Exchange) -> None:
        """Answer any of the few pages there are, whatever the session."""
        path = exchange.path.partition(";")[0]
        pages = [f"/article-{number}" for number in range(SESSION_PAGES)]
        if path != "/" and path not in pages:
            exchange.send(404)
            return
        links = [f"{page}?PHPSESSID={self._id()}" for page in pages]
        links += [f"{page};jsessionid={self._id()}" for page in pages]
        exchange.page(f"Session site {path}", links)

    def _id(self) -> str:
        return f"{next(self._numbers) * 0x9E3779B97F4A7C15 % 2**128:032x}"


async def soft_404(exchange: Exchange) -> None:
    """Answer every path with 200 and an excuse, which links to more that is not there."""
    if exchange.path == "/":
        exchange.page("A shop", ["/offers", *(f"/sold/{number}" for number in range(12))])
    elif exchange.path == "/offers":
        exchange.page("Offers of the shop", ["/"])
    else:
        links = ["/", f"{exchange.path.rstrip('/')}-old", f"{exchange.path.rstrip('/')}-new"]
        exchange.page("Page not found", links, "Sorry, the page you are looking for does not exist.")


async def copies(exchange: Exchange) -> None:
    """Answer one page under many URLs: exact copies, and copies with another word or two."""
    same = [f"/copy-{number}" for number in range(COPIES)]
    near = [f"/near-{number}" for number in range(NEAR_COPIES)]
    text = " ".join(prose(f"an article, part {part}") for part in range(3))
    if exchange.path == "/":
        exchange.page("Archive", ["/original", *same, *near])
    elif exchange.path in ("/original", *same):
        exchange.page("An article", ["/"], text)
    elif exchange.path in near:
        exchange.page("An article", ["/"], f"{text} Printed in {exchange.path[6:]} copies.")
    else:
        exchange.send(404)
