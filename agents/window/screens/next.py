"""What comes next: the best candidates of a predicate and what speaks for them; and any URL explained."""

from heapq import nsmallest
from typing import Annotated

import msgspec

from scentline.agents.operate.explaining import describe, verdict_in_words
from scentline.agents.window.reading import Reading
from scentline.models.frontier.rows import OPEN
from scentline.models.page import FAILED
from scentline.models.policy.explain import Counting, Explanation, Linking
from scentline.models.policy.inputs import plain
from scentline.models.policy.weights import Contribution
from scentline.models.published import Upcoming
from scentline.models.url import MAX_LENGTH, canonical
from scentline.streams.logging import printable

#: Candidates that are shown, parts of an explanation, and characters of a text.
SHOWN, PARTS, MOST_CHARACTERS = 50, 12, 300
#: Characters of one word or feature, and of the words of a link.
MOST_OF_WORD, MOST_OF_WORDS = 60, 120


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The predicate whose candidates are shown, and a URL to explain, as it was typed."""

    predicate: Annotated[str, msgspec.Meta(max_length=200)] = ""
    url: Annotated[str, msgspec.Meta(max_length=MAX_LENGTH)] = ""


def view(reading: Reading, query: Query) -> object:
    """Return the best candidates, and what is known of a URL."""
    if not reading.begun:
        return {"begun": False}
    names = list(reading.predicates())
    name = query.predicate if query.predicate in names else next(iter(names), "")
    parts = [each for each in reading.standings(name) if each.best_of == name] if name else []
    best = nsmallest(SHOWN, (each for part in parts for each in part.best), key=lambda each: -each.priority)
    return {
        "begun": True,
        "running": reading.running(),
        "policy": reading.settings.frontier.rule,
        "predicates": names,
        "predicate": name,
        "time": max((part.time for part in parts), default=None),
        "opening": any(part.opening for part in parts),
        "queued": sum(part.queued.get(name, 0) for part in parts),
        "best": [_candidate(each) for each in best],
        "explained": _explained(reading, query.url, name) if query.url.strip() else None,
    }


def _candidate(found: Upcoming) -> object:
    return {
        **msgspec.structs.asdict(found),
        "url": _text(found.url),
        "address": found.url,
        "speaks": [{"adds": adds, **_plain(name)} for name, adds in found.speaks],
    }


def _plain(name: str) -> dict[str, str]:
    found = plain(printable(name, MOST_OF_WORD))
    return {"plain": found.name, "means": found.means}


def _text(found: str, most: int = MOST_CHARACTERS) -> str:
    return printable(found, most)


# a URL explained


def _explained(reading: Reading, typed: str, predicate: str) -> object:
    known_as = _canonical(typed)
    if not known_as:
        return {"trouble": "That is no address of a page: expected one that begins with http:// or https://."}
    trouble = reading.opened()
    if trouble is None:
        return {"url": _text(known_as[0]), "trouble": "What the crawl has learned is being read."}
    if trouble:
        return {
            "url": _text(known_as[0]),
            "trouble": _text(f"What the crawl has learned can't be read: {trouble}"),
        }
    for url in known_as:
        found = reading.explained(url)
        if found is not None:
            return _explanation(found, predicate, reading.settings.frontier.threshold)
    return {
        "url": _text(known_as[0]),
        "trouble": "The crawl has not met this URL: no judged page links to it, and no seed or log names it.",
    }


def _canonical(typed: str) -> list[str]:
    text = typed.strip()
    tried = [text] if "://" in text else [f"https://{text}", f"http://{text}"]
    return [url for url in map(canonical, tried) if url is not None]


def _explanation(found: Explanation, predicate: str, threshold: float) -> object:
    return {
        "url": _text(found.row.url),
        "address": found.row.url,
        "told": [_text(line) for line in describe(found, threshold)[1:]],
        "linking": [_linking(each) for each in found.linking],
        "priority": found.priorities.get(predicate),
        "expected": found.expected.get(predicate),
        "comes": found.comes,
        "named": found.named.get(predicate),
        "inputs": _inputs(found, predicate),
        "failing": _inputs(found, FAILED) if found.row.state in OPEN else [],
        "words": [_counting(each) for each in found.words.get(predicate, [])[:PARTS]],
        "features": [_feature(each) for each in found.contributions.get(predicate, [])[:PARTS]],
    }


def _linking(found: Linking) -> object:
    return {
        "url": _text(found.url),
        "address": found.url,
        "verdict": _text(verdict_in_words(found.verdict)),
        "position": found.position,
        **{
            name: _text(" ".join(getattr(found, name)), MOST_OF_WORDS) for name in ("inside", "around", "above")
        },
    }


def _inputs(found: Explanation, predicate: str) -> list[object]:
    shown = ("value", "weight", "deviation", "adds")
    return [
        {**_plain(part.name), **{name: getattr(part, name) for name in shown}}
        for part in found.inputs.get(predicate, [])[:PARTS]
    ]


def _counting(found: Counting) -> object:
    return msgspec.structs.asdict(found) | {"word": _text(found.word, MOST_OF_WORD)}


def _feature(found: Contribution) -> object:
    shown = ("pages", "hits", "ratio", "significance")
    return {
        **_plain(found.feature),
        **{name: getattr(found, name) for name in shown},
        "adds": found.log,
    }
