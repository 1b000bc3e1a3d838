"""Pages: those that satisfy a predicate as they come, why each was chosen, and what became of them since."""

from typing import Annotated, Literal

import msgspec

from scentline.agents.frontier.rows import INSTANT
from scentline.agents.window.index.pages import IndexedPage, Place
from scentline.agents.window.index.search import MOST_SIGNS, Search
from scentline.agents.window.reading import Reading
from scentline.streams.logging import printable
from scentline.streams.published import Change

#: Rows of a list at most.
ROWS = 50
#: Characters of a URL that are shown.
SHOWN = 300
#: Outcomes that may be behind before that is said.
BEHIND = 1_000


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which pages are listed, and behind which place of the list."""

    #: "hits" are pages that satisfy the predicate, or any, "judged" all that have what is searched, "texts" the
    #: newest kept copies that have it in their text, and "changes" what became of pages.
    show: Literal["hits", "judged", "texts", "changes"] = "hits"
    predicate: Annotated[str, msgspec.Meta(max_length=200)] = ""
    search: Annotated[str, msgspec.Meta(max_length=MOST_SIGNS)] = ""
    after: Annotated[str, msgspec.Meta(pattern=r"^(-?[0-9]{1,20}(\.[0-9]{1,20})?,[0-9]{1,18})?$")] = ""


def view(reading: Reading, query: Query) -> object:
    """Return a list of pages, or of changes, the newest first."""
    if not reading.begun:
        return {"begun": False, "rows": [], "after": None}
    after = _place(query.after)
    older = False
    if query.show == "changes":
        rows, last = _changes(reading, query, after)
        older = reading.index.changes.older
    elif query.show == "texts":
        return _texts(reading, query)
    else:
        rows, last = _pages(reading, query, after)
    hits = query.show == "hits" and not query.search
    total = reading.index.newest.count(query.predicate) if hits else None
    return _listed(reading, rows, last if len(rows) == ROWS else None, total=total, older=older)


def _listed(
    reading: Reading, rows: list[object], last: Place | None, *, total: int | None = None, **more: object
) -> object:
    """Return a list, which goes on behind the place ``last``, None at its end."""
    left = reading.index.pages.left()
    return {
        "begun": True,
        "rows": rows,
        "after": None if last is None else f"{last.time!r},{last.id}",
        "total": total,
        "left": left if left >= BEHIND else 0,
        "keeps_up": reading.settings.frontier.revisit > 0,
        **more,
    }


def _texts(reading: Reading, query: Query) -> object:
    found = reading.texts(query.search)
    rows: list[object] = []
    for each in found.found:
        page = reading.index.pages.page(each.url)
        if page is not None and (query.predicate in page.holds or not query.predicate):
            row = _row(reading, page, Search(query.search)) | {"excerpt": each.parts}
            rows.append(row)
    return _listed(reading, rows, None, read=found.read, of=found.of, older=found.older)


def _pages(reading: Reading, query: Query, after: Place | None) -> tuple[list[object], Place | None]:
    index, search = reading.index, Search(query.search)
    if search:
        among = None if query.show == "judged" else query.predicate
        found = index.pages.search(search, among, None if after is None else after.id, ROWS)
    elif query.show == "judged":
        found = []
    else:
        found = index.newest.pages(query.predicate, after, ROWS)
    return [_row(reading, page, search) for page in found], found[-1].place if found else None


def _row(reading: Reading, page: IndexedPage, search: Search) -> dict[str, object]:
    holds = page.holds
    return {
        "url": page.url,
        "title": search.parts(page.title),
        "address": search.parts(printable(page.url, SHOWN)),
        "time": page.time,
        "holds": [printable(name, SHOWN) for name in holds],
        "why": story(page),
        "excerpt": (reading.index.changes.excerpt(page.url, holds),),
        "left": page.left,
    }


def _changes(reading: Reading, query: Query, after: Place | None) -> tuple[list[object], Place | None]:
    found = reading.index.changes.newest(query.predicate, after, ROWS)
    return [_change(place, change) for place, change in found], found[-1][0] if found else None


def _change(place: Place, change: Change) -> object:
    return {
        **msgspec.structs.asdict(change),
        "id": place.id,
        "title": (change.title,),
        "address": (printable(change.url, SHOWN),),
        "predicate": printable(change.predicate, SHOWN),
        "excerpt": (change.excerpt,),
    }


def story(page: IndexedPage) -> str:
    """Return in a sentence why a page was fetched."""
    wanted = f" for {printable(page.predicate, SHOWN)}" if page.predicate else ""
    if page.policy == INSTANT:
        why = "Fetched at once, as it was news"
    elif page.explored:
        why = f"Explored by chance{wanted}, which had a probability of {_share(page.probability)}"
    else:
        why = f"Chosen{wanted} by the policy {printable(page.policy, SHOWN)}"
    if page.expected is not None:
        why += f"; a hit was expected with {_share(page.expected)}"
    return f"{why}; depth {page.depth}."


def _share(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


def _place(text: str) -> Place | None:
    time, _, row = text.partition(",")
    return Place(float(time), int(row)) if text else None
