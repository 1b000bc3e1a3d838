"""What a crawl has learned: its best candidates, any URL explained, and each predicate's features."""

from heapq import nsmallest
from typing import Annotated, Any, Literal

import msgspec

from scentline.agents.operate.explaining import describe, verdict_in_words
from scentline.agents.window.reading import Reading
from scentline.models.frontier.rows import OPEN
from scentline.models.lessons import lessons
from scentline.models.page import FAILED
from scentline.models.policy.explain import Explanation, Linking
from scentline.models.policy.inputs import plain
from scentline.models.policy.speaking import Features
from scentline.models.published import Upcoming
from scentline.models.url import MAX_LENGTH, canonical
from scentline.streams.logging import printable

#: Most candidates or features at once, parts of an explanation, and characters of a feature or word.
SHOWN, PARTS, MOST_CHARACTERS = 50, 12, 60
#: The name of requests that bring no page, which are learned like a predicate.
REQUESTS = "requests that bring no page"
#: The kinds of features that a policy counts.
_LEARNED = (
    "page words", "link words", "words around links", "headings above links", "URL words",
    "sites and directories",
)  # fmt: skip
_BY_LINKS = ("words of linking pages", "URL tokens")
_BY_USERS = ("words of signatures",)

Name = Annotated[str, msgspec.Meta(max_length=200)]


class NextQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The predicate whose candidates are shown, and a URL to explain, as it was typed."""

    predicate: Name = ""
    url: Annotated[str, msgspec.Meta(max_length=MAX_LENGTH)] = ""


def candidates(reading: Reading, query: NextQuery) -> dict[str, Any]:
    """Return the best candidates, and a URL's explanation."""
    names = list(reading.predicates())
    name = query.predicate if query.predicate in names else next(iter(names), "")
    parts = [each for each in reading.standings(name) if each.best_of == name] if name else []
    best = nsmallest(SHOWN, (each for part in parts for each in part.best), key=lambda each: -each.priority)
    return {
        "running": reading.running(),
        "policy": reading.settings.frontier.rule,
        "predicates": names,
        "predicate": name,
        "time": max((part.time for part in parts), default=None),
        "opening": any(part.opening for part in parts),
        "queued": sum(part.queued.get(name, 0) for part in parts),
        "best": [_candidate(each) for each in best],
        "explained": _explained(reading, query.url.strip(), name) if query.url.strip() else None,
    }


def _candidate(found: Upcoming) -> dict[str, Any]:
    speaks = [{"adds": adds, **_plain(name)} for name, adds in found.speaks]
    return msgspec.structs.asdict(found) | {"speaks": speaks}


def _plain(name: str) -> dict[str, str]:
    found = plain(printable(name, MOST_CHARACTERS))
    return {"plain": found.name, "means": found.means}


def _explained(reading: Reading, typed: str, predicate: str) -> dict[str, Any]:
    tried = [typed] if "://" in typed else [f"https://{typed}", f"http://{typed}"]
    known_as = [url for url in map(canonical, tried) if url is not None]
    if not known_as:
        return {"trouble": "That is no address of a page: expected one that begins with http:// or https://."}
    for url in filter(reading.met, known_as):
        trouble = reading.opened()
        if trouble is None:
            return {"url": url, "trouble": "What the crawl has learned is being read."}
        if trouble:
            return {"url": url, "trouble": f"What the crawl has learned can't be read: {trouble}"}
        found = reading.explained(url)
        if found is not None:
            return _explanation(found, predicate, reading.settings.frontier.threshold)
    unknown = "The crawl has not met this URL: no judged page links to it, and no seed or log names it."
    return {"url": known_as[0], "trouble": unknown}


def _explanation(found: Explanation, predicate: str, threshold: float) -> dict[str, Any]:
    words, features = found.words.get(predicate, []), found.contributions.get(predicate, [])
    of_feature = ("pages", "hits", "ratio", "significance")
    return {
        "url": found.row.url,
        "known": True,
        "told": describe(found, threshold)[1:],
        "linking": [_linking(each) for each in found.linking],
        "priority": found.priorities.get(predicate),
        "expected": found.expected.get(predicate),
        "comes": found.comes,
        "named": found.named.get(predicate),
        "inputs": _inputs(found, predicate),
        "failing": _inputs(found, FAILED) if found.row.state in OPEN else [],
        "words": [
            msgspec.structs.asdict(each) | {"word": printable(each.word, MOST_CHARACTERS)}
            for each in words[:PARTS]
        ],
        "features": [
            {**_plain(each.feature), **{name: getattr(each, name) for name in of_feature}, "adds": each.log}
            for each in features[:PARTS]
        ],
    }


def _linking(found: Linking) -> dict[str, Any]:
    words = {name: " ".join(getattr(found, name)) for name in ("inside", "around", "above")}
    return {
        "url": found.url, "verdict": verdict_in_words(found.verdict), "position": found.position, **words,
    }  # fmt: skip


def _inputs(found: Explanation, predicate: str) -> list[dict[str, Any]]:
    shown = ("value", "weight", "deviation", "adds")
    return [
        {**_plain(part.name), **{name: getattr(part, name) for name in shown}}
        for part in found.inputs.get(predicate, [])[:PARTS]
    ]


# what was learned about a predicate


class LearningQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which predicate, and features of which kind: those that speak for it or against, from ``offset`` on."""

    predicate: Name = ""
    kind: Annotated[str, msgspec.Meta(max_length=40)] = ""
    side: Literal["for", "against"] = "for"
    offset: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0


def learning(reading: Reading, query: LearningQuery) -> dict[str, Any]:
    """Return weights, the paper's ratios, and the strongest features."""
    rule = reading.settings.frontier.rule
    known = {name: name for name in reading.predicates()} | ({FAILED: REQUESTS} if rule == "learned" else {})
    name = query.predicate if query.predicate in known else next(iter(known), "")
    kinds = _kinds(rule)
    kind = query.kind if query.kind in kinds else next(iter(kinds), "")
    trouble = reading.opened()
    found = reading.features(name, kind, query.side) if name and trouble == "" else None
    return {
        "policy": rule,
        "predicates": known,
        "predicate": name,
        "learned": {"judged": found.judged, "weights": found.weights} if found and rule == "learned" else None,
        "kinds": kinds,
        "kind": kind,
        "side": query.side,
        "ratios": found.ratios if found and kinds else [],
        "speaking": _speaking(found, query.offset) if found and kind else None,
        "reading": trouble is None,
        "trouble": trouble or "",
    }


def _kinds(rule: str) -> list[str]:
    known = lessons(rule)
    kinds = ((known.learned, _LEARNED), (known.links, _BY_LINKS), (known.users, _BY_USERS))
    return [kind for counted, found in kinds if counted for kind in found]


def _speaking(found: Features, offset: int) -> dict[str, Any]:
    offset = offset if offset < len(found.speaking) else 0
    rows = found.speaking[offset : offset + SHOWN]
    return {"rows": rows, "offset": offset, "shown": len(rows), "total": len(found.speaking)}
