"""Pages: the newest that satisfy a predicate, why each was chosen, its changes, and its copy."""

from collections.abc import Iterable
from os import fsencode
from typing import Annotated, Any, Literal

import msgspec

from scentline.agents.judge.kept import copies
from scentline.agents.operate.versions import Listed
from scentline.agents.window.copies import CopyRequest, CopyText
from scentline.agents.window.reading import Reading
from scentline.agents.window.recent import Place, RecentPage
from scentline.agents.window.search import MOST_SIGNS, Phrase, Search
from scentline.models.frontier.rows import INSTANT
from scentline.models.predicate import parse
from scentline.models.published import Change
from scentline.models.url import MAX_LENGTH
from scentline.streams.logging import printable

#: Most rows of a list, and most characters shown of a URL.
ROWS, SHOWN = 50, 300
#: Most phrases of predicates marked in a text.
PHRASES = 50
#: Why there is no copy, by the setting keep.pages.
_UNKEPT = {
    "all": "No copy is kept: it was dropped to keep within keep.max_bytes, or is kept elsewhere.",
    "matches": (
        "No copy is kept: only pages that satisfy a predicate are (keep.pages), within keep.max_bytes, "
        "where they were judged."
    ),
    "none": "No copy is kept: this crawl keeps no pages (keep.pages).",
}

Predicate = Annotated[str, msgspec.Meta(max_length=200)]
Typed = Annotated[str, msgspec.Meta(max_length=MOST_SIGNS)]


class PagesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which pages to list, and from behind which place of the list."""

    #: "hits" are pages that satisfy the predicate, or any, "judged" all, with the search in title or URL;
    #: "texts" are the newest kept copies with the search in their text, "changes" what became of pages.
    show: Literal["hits", "judged", "texts", "changes"] = "hits"
    predicate: Predicate = ""
    search: Typed = ""
    after: Annotated[str, msgspec.Meta(pattern=r"^(-?[0-9]{1,20}(\.[0-9]{1,20})?,[0-9]{1,18})?$")] = ""


def pages(reading: Reading, query: PagesQuery) -> dict[str, Any]:
    """Return a list of pages, or of changes, newest first, from behind the place ``after``."""
    places: list[Place] = []
    if query.show == "texts":
        found = _texts(reading, query)
    elif query.show == "changes":
        changes = reading.lists.changes.changes(query.predicate, _place(query.after), ROWS)
        places = [place for place, _ in changes]
        rows = [_change(place, change) for place, change in changes]
        found = {"rows": rows, "older": reading.lists.changes.older}
    else:
        known, search = reading.lists.pages, Search(query.search)
        among = None if query.show == "judged" else query.predicate
        listed = known.pages(among, search, _place(query.after), ROWS)
        places = [place for place, _ in listed]
        counts = {"older": known.older, "looked_at": len(known.held), "total": _total(reading, query)}
        found = {"rows": [_row(reading, page, search) for _, page in listed], **counts}
    after = f"{places[-1].time!r},{places[-1].id}" if len(places) == ROWS else None
    return {"after": after, "keeps_up": reading.settings.frontier.revisit > 0, **found}


def _place(text: str) -> Place | None:
    time, _, row = text.partition(",")
    return Place(float(time), int(row)) if text else None


def _total(reading: Reading, query: PagesQuery) -> int | None:
    """Return how many pages satisfy the predicate, if those are shown."""
    points = reading.points().get(query.predicate)
    if query.show != "hits" or query.search or not points:
        return None
    return points[-1].hits if points[-1].matches is None else points[-1].matches


def _texts(reading: Reading, query: PagesQuery) -> dict[str, Any]:
    search, found, rows = Search(query.search), reading.texts(query.search), list[dict[str, Any]]()
    for each in found.found:
        page = reading.lists.pages.page(each.url)
        if page is not None and (query.predicate in page.holds or not query.predicate):
            rows.append(_row(reading, page, search) | {"excerpt": each.parts})
    return {"rows": rows, "read": found.read, "of": found.of, "older": found.older}


def _row(reading: Reading, page: RecentPage, search: Search) -> dict[str, Any]:
    outcome = page.outcome
    return {
        "url": outcome.url,
        "title": search.parts(page.title),
        "address": search.parts(printable(outcome.url, SHOWN)),
        "time": outcome.time,
        "holds": page.holds,
        "why": _why(outcome),
        "excerpt": (reading.lists.changes.excerpt(outcome.url, page.holds),),
        "left": page.left,
    }


def _change(place: Place, change: Change) -> dict[str, Any]:
    texts = {"title": (change.title,), "address": (printable(change.url, SHOWN),), "excerpt": (change.excerpt,)}
    return {**msgspec.structs.asdict(change), "id": place.id, **texts}


def _why(page: Listed) -> str:
    """Say in a sentence why a page was fetched."""
    wanted = f" for {page.predicate}" if page.predicate else ""
    if page.policy == INSTANT:
        why = "Fetched at once, as it was news"
    elif page.explored:
        why = f"Explored by chance{wanted}, which had a probability of {_share(page.probability)}"
    else:
        why = f"Chosen{wanted} by the policy {page.policy}"
    if page.expected is not None:
        why += f"; a hit was expected with {_share(page.expected)}"
    return f"{why}; depth {page.depth}."


def _share(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"


# one page and its kept copy: nothing of it is ever shown as the site's HTML


class PageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The page of a canonical URL, with the words of a predicate, or of a search, marked."""

    url: Annotated[str, msgspec.Meta(max_length=MAX_LENGTH)]
    predicate: Predicate = ""
    search: Typed = ""


def page(reading: Reading, query: PageQuery) -> dict[str, Any]:
    """Return what is known about a page, and its text, which is missing while it is being read."""
    found = reading.lists.pages.page(query.url) if reading.begun else None
    known = None
    if found is not None:
        outcome = found.outcome
        known = {
            "title": found.title, "time": outcome.time, "holds": found.holds, "why": _why(outcome),
            "left": found.left,
        }  # fmt: skip
    return {"url": query.url, "page": known, **_copy(reading, query, found)}


def _copy(reading: Reading, query: PageQuery, page: RecentPage | None) -> dict[str, Any]:
    kept = copies(reading.data, query.url)
    if not kept:
        return {"state": "none", "reason": _UNKEPT[reading.settings.keep.pages]}
    copy, phrases = kept[0], (*Search(query.search).phrases, *_phrases(reading, query, page))
    request = CopyRequest(query.url, fsencode(copy.path), copy.offset, copy.length, phrases)
    found = reading.copy(request)
    if found is None:
        return {"state": "reading", "judged": copy.judged}
    if not isinstance(found, CopyText):
        return {"state": "none", "reason": f"The copy can't be shown: {found.reason}."}
    return {"state": "text", "judged": copy.judged, **msgspec.structs.asdict(found)}


def _phrases(reading: Reading, query: PageQuery, page: RecentPage | None) -> Iterable[Phrase]:
    names = (query.predicate,) if query.predicate else page.holds if page is not None else ()
    known = reading.predicates() if names else {}
    expressions = [known[name].expression for name in names if name in known]
    words = dict.fromkeys(words for each in expressions for words in parse(each).phrases)
    return [Phrase(each, False) for each in words][:PHRASES]
