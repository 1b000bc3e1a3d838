"""URLFrontier's metadata of a URL: kept with it as its memo, and read as StormCrawler writes it.

Source of the names: StormCrawler 3: FetcherBolt, JSoupParserBolt, MetadataTransfer.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

import msgspec

from scentline.agents.door.leases import Parked, name_of
from scentline.agents.door.telling import Answer, Wanted
from scentline.models.errors import ScentlineError

#: By name, the values.
Metadata: TypeAlias = Mapping[str, Sequence[str]]

#: The names of the items that a client found in a page, for predicates such as item("Product").
ITEM: Final = "scentline.item"
#: The pages that led to a URL, of which the last links to it, and the texts of these links.
PATH: Final = "url.path"
ANCHORS: Final = "anchors"
#: Characters of a memo, and of a text and a title, that are kept.
MOST_MEMO, MOST_TEXT, MOST_TITLE = 4_096, 10_000, 1_000

_decode = msgspec.json.Decoder(dict[str, list[str]]).decode


class TooLongError(ScentlineError):
    """The metadata of a URL is too long to be kept."""


def memo_from(metadata: Metadata) -> str:
    """Return metadata as a memo; of pages that led to the URL it has as many as there is room for.

    Raises `TooLongError`.
    """
    kept = {name: list(values) for name, values in metadata.items()}
    path = kept.get(PATH, [])
    room = MOST_MEMO - len(_encoded(kept | {PATH: []}))
    sizes = accumulate(len(_encoded(page)) + len(",") for page in reversed(path))
    del path[: len(path) - sum(size <= room + len(",") for size in sizes)]
    memo = _encoded(kept) if kept else ""
    if len(memo) > MOST_MEMO:
        raise TooLongError(f"metadata of {len(memo)} characters; expected at most {MOST_MEMO}")
    return memo


def _encoded(kept: object) -> str:
    return msgspec.json.encode(kept).decode()


def metadata_of(memo: str) -> Metadata:
    """Return the metadata that a memo has; empty for a memo of another kind of client."""
    try:
        return _decode(memo) if memo else {}
    except msgspec.MsgspecError:
        return {}


def wanted_from(url: str, metadata: Metadata) -> Wanted:
    """Return a discovered URL; one without a page that led to it is a seed. Raises `TooLongError`."""
    parent = (metadata.get(PATH) or [""])[-1]
    text = " ".join(metadata.get(ANCHORS) or ())[:MOST_TITLE]
    return Wanted(url, text=text, memo=memo_from(metadata), seed=not parent, parent=parent)


def answer_from(parked: Parked, metadata: Metadata, due: int) -> Answer:
    """Return a client's answer to an order, from the metadata of a known URL.

    ``due`` is when the client wants it again, 0 for never.
    """

    def first(name: str) -> str:
        return (metadata.get(name) or [""])[0]

    status, reason = _outcome(first, due)
    text = "\n".join(
        value for name in ("parse.description", "parse.keywords") for value in metadata.get(name, ())
    )
    elapsed = first("fetch.loadingTime")
    return msgspec.convert(
        {
            "url": parked.order.url, "order": name_of(parked.order), "status": status, "reason": reason,
            "elapsed": int(elapsed) / 1000 if elapsed.isdecimal() and len(elapsed) < 9 else 0.0,
            "title": first("parse.title")[:MOST_TITLE], "text": text[:MOST_TEXT], "target": first("_redirTo"),
            "items": list(metadata.get(ITEM, ())),
        },
        Answer,
    )  # fmt: skip


def _outcome(first: Callable[[str], str], due: int) -> tuple[int, str]:
    """Return the status of an answer and the reason for none: without a word of it, the page came."""
    status = first("fetch.statusCode")
    if status.isdecimal() and len(status) == 3:
        return int(status), ""
    if first("_redirTo"):
        return 301, ""
    cause = first("error.cause") or first("fetch.exception")
    if not cause:
        return 200, ""
    return 0, "robots" if "robots" in cause.lower() else "connection" if due else "failed"
