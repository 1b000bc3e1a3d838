"""A page and its kept copy as text: nothing of it is ever shown as the site's HTML."""

from collections.abc import Iterable
from os import fsencode
from typing import Annotated

import msgspec

from scentline.agents.judge.keep.store import Copy, copies
from scentline.agents.window.kept import CopyRequest, CopyText
from scentline.agents.window.reading import Reading
from scentline.agents.window.recent import RecentPage
from scentline.agents.window.screens.pages import SHOWN, story
from scentline.agents.window.search import MOST_SIGNS, Phrase, Search
from scentline.models.predicate import parse
from scentline.models.url import MAX_LENGTH
from scentline.streams.logging import printable

#: Phrases of predicates that are marked in a text.
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


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The page of a canonical URL, with the words of a predicate marked, or those that are searched."""

    url: Annotated[str, msgspec.Meta(max_length=MAX_LENGTH)]
    predicate: Annotated[str, msgspec.Meta(max_length=200)] = ""
    search: Annotated[str, msgspec.Meta(max_length=MOST_SIGNS)] = ""


def view(reading: Reading, query: Query) -> object:
    """Return what is known of a page, and its text; while a copy is being read, the view has none."""
    page = reading.lists.pages.page(query.url) if reading.begun else None
    kept = copies(reading.data, query.url)
    phrases = (*Search(query.search).phrases, *_phrases(reading, query, page))
    return {
        "url": query.url,
        "page": None if page is None else _page(page),
        **(
            _copy(reading, query.url, kept[0], phrases)
            if kept
            else {"state": "none", "reason": _UNKEPT[reading.settings.keep.pages]}
        ),
    }


def _page(page: RecentPage) -> object:
    holds = [printable(name, SHOWN) for name in page.holds]
    why, time = story(page.outcome), page.outcome.time
    return {"title": page.title, "time": time, "holds": holds, "why": why, "left": page.left}


def _copy(reading: Reading, url: str, copy: Copy, phrases: tuple[Phrase, ...]) -> dict[str, object]:
    found = reading.copies.answer(CopyRequest(url, fsencode(copy.path), copy.offset, copy.length, phrases))
    if found is None:
        return {"state": "reading", "judged": copy.judged}
    if not isinstance(found, CopyText):
        return {"state": "none", "reason": f"The copy can't be shown: {found.reason}."}
    return {"state": "text", "judged": copy.judged, **msgspec.structs.asdict(found)}


def _phrases(reading: Reading, query: Query, page: RecentPage | None) -> Iterable[Phrase]:
    names = (query.predicate,) if query.predicate else page.holds if page is not None else ()
    known = reading.predicates() if names else {}
    expressions = [known[name].expression for name in names if name in known]
    words = dict.fromkeys(words for each in expressions for words in parse(each).phrases)
    return [Phrase(each, False) for each in words][:PHRASES]
