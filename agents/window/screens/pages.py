"""Pages: those that satisfy a predicate as they come, why each was chosen, and what became of them since."""

from typing import Annotated, Literal

import msgspec

from scentline.agents.window.reading import Reading
from scentline.agents.window.recent import Place, RecentPage, ShownOutcome
from scentline.agents.window.search import MOST_SIGNS, Search
from scentline.models.frontier.rows import INSTANT
from scentline.models.published import Change
from scentline.streams.logging import printable

#: Rows of a list at most.
ROWS = 50
#: Characters of a URL that are shown.
SHOWN = 300


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which pages are listed, and behind which place of the list."""

    #: "hits" are pages that satisfy the predicate, or any, "judged" all, with what is searched in title or URL,
    #: "texts" the newest kept copies that have it in their text, and "changes" what became of pages.
    show: Literal["hits", "judged", "texts", "changes"] = "hits"
    predicate: Annotated[str, msgspec.Meta(max_length=200)] = ""
    search: Annotated[str, msgspec.Meta(max_length=MOST_SIGNS)] = ""
    after: Annotated[str, msgspec.Meta(pattern=r"^(-?[0-9]{1,20}(\.[0-9]{1,20})?,[0-9]{1,18})?$")] = ""


def view(reading: Reading, query: Query) -> object:
    """Return a list of pages, or of changes, the newest first."""
    if not reading.begun:
        return {"begun": False, "rows": [], "after": None}
    after, lists = _place(query.after), reading.lists
    if query.show == "texts":
        return _texts(reading, query)
    if query.show == "changes":
        changes = lists.changes.changes(query.predicate, after, ROWS)
        rows = [_change(place, change) for place, change in changes]
        return _listed(reading, rows, [place for place, _ in changes], older=lists.changes.older)
    search, among = Search(query.search), None if query.show == "judged" else query.predicate
    found = lists.pages.pages(among, search, after, ROWS)
    rows = [_row(reading, page, search) for _, page in found]
    looked_at = len(lists.pages.held)
    return _listed(
        reading, rows, [place for place, _ in found], older=lists.pages.older, looked_at=looked_at,
        total=_total(reading, query),
    )  # fmt: skip


def _total(reading: Reading, query: Query) -> int | None:
    """Return how many pages satisfy the predicate, where that is what is shown."""
    points = reading.points().get(query.predicate)
    if query.show != "hits" or query.search or not points:
        return None
    return points[-1].hits if points[-1].matches is None else points[-1].matches


def _listed(reading: Reading, rows: list[object], places: list[Place], **more: object) -> object:
    """Return a list, which goes on behind the last of the ``places`` where it is full."""
    last = places[-1] if len(places) == ROWS else None
    return {
        "begun": True,
        "rows": rows,
        "after": None if last is None else f"{last.time!r},{last.id}",
        "keeps_up": reading.settings.frontier.revisit > 0,
        **more,
    }


def _texts(reading: Reading, query: Query) -> object:
    found = reading.texts(query.search)
    rows: list[object] = []
    for each in found.found:
        page = reading.lists.pages.page(each.url)
        if page is not None and (query.predicate in page.holds or not query.predicate):
            row = _row(reading, page, Search(query.search)) | {"excerpt": each.parts}
            rows.append(row)
    return _listed(reading, rows, [], read=found.read, of=found.of, older=found.older)


def _row(reading: Reading, page: RecentPage, search: Search) -> dict[str, object]:
    holds, outcome = page.holds, page.outcome
    return {
        "url": outcome.url,
        "title": search.parts(page.title),
        "address": search.parts(printable(outcome.url, SHOWN)),
        "time": outcome.time,
        "holds": [printable(name, SHOWN) for name in holds],
        "why": story(outcome),
        "excerpt": (reading.lists.changes.excerpt(outcome.url, holds),),
        "left": page.left,
    }


def _change(place: Place, change: Change) -> object:
    return {
        **msgspec.structs.asdict(change),
        "id": place.id,
        "title": (change.title,),
        "address": (printable(change.url, SHOWN),),
        "predicate": printable(change.predicate, SHOWN),
        "excerpt": (change.excerpt,),
    }


def story(page: ShownOutcome) -> str:
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
