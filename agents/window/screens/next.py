"""What comes next: the best candidates of a predicate and what speaks for them; and any URL explained."""

from collections.abc import Sequence
from heapq import nsmallest
from typing import Annotated

import msgspec

from scentline.agents.frontier.rows import OPEN
from scentline.agents.operate.inspect.explain import Explanation
from scentline.agents.operate.inspect.in_words import describe, verdict_in_words
from scentline.agents.operate.inspect.learning import Learning
from scentline.agents.operate.inspect.linking import Counting, Linking
from scentline.agents.window.reading import Reading
from scentline.models.interest.linkage import Contribution
from scentline.models.learner.plain import plain
from scentline.models.url import MAX_LENGTH, canonical
from scentline.models.verdict import FAILED
from scentline.streams.logging import printable
from scentline.streams.published import Upcoming

#: Candidates that are shown, parts of an explanation, and characters of a text.
SHOWN, PARTS, MOST_CHARACTERS = 50, 12, 300
#: Characters of one word or feature, and of the words of a link.
MOST_OF_WORD, MOST_OF_WORDS = 60, 120


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose candidates are looked at, and a URL that is to be explained, as it was typed."""

    predicate: Annotated[str, msgspec.Meta(max_length=200)] = ""
    url: Annotated[str, msgspec.Meta(max_length=MAX_LENGTH)] = ""


def view(reading: Reading, query: Query) -> object:
    """Return the best candidates, and what is known of a URL."""
    if not reading.begun:
        return {"begun": False}
    names = list(reading.predicates())
    name = query.predicate if query.predicate in names else next(iter(names), "")
    reading.watching.want(predicate=name)
    told = reading.best(name) if name else []
    best = nsmallest(SHOWN, (each for part in told for each in part.best), key=lambda each: -each.priority)
    return {
        "begun": True,
        "running": reading.running(),
        "policy": reading.settings.frontier.rule,
        "predicates": names,
        "predicate": name,
        "time": max((part.time for part in told), default=None),
        "opening": any(part.opening for part in told),
        "queued": sum(part.queued.get(name, 0) for part in told),
        "best": [_candidate(each) for each in best],
        "explained": _explained(reading, query.url, name) if query.url.strip() else None,
    }


def _candidate(found: Upcoming) -> object:
    return {
        "url": _text(found.url),
        "address": found.url,
        "priority": found.priority,
        "probability": found.probability,
        "comes": found.comes,
        "waits": found.waits,
        "speaks": [{"adds": adds, **_plain(name)} for name, adds in found.speaks],
    }


def _plain(name: str) -> dict[str, str]:
    found = plain(printable(name, MOST_OF_WORD))
    return {"plain": found.name, "means": found.means}


def _text(found: str, most: int = MOST_CHARACTERS) -> str:
    return printable(found, most)


# a URL explained


def _explained(reading: Reading, typed: str, predicate: str) -> object:
    """Return what is known of a URL as it was typed, or in words why there is nothing."""
    learning = reading.learning
    learning.want(reading.now)
    if learning.taught is None:
        learning.step(reading.now)  # somebody waits for it
    known_as = _canonical(typed)
    if not known_as:
        return {"trouble": "That is no address of a page: expected one that begins with http:// or https://."}
    for url in known_as:
        found = learning.explained(url, reading.now)
        if found is not None:
            return _explanation(found, learning, predicate, reading.settings.frontier.threshold)
    return {
        "url": _text(known_as[0]),
        "trouble": "The crawl has not met this URL: no judged page links to it, and no seed or log names it.",
    }


def _canonical(typed: str) -> list[str]:
    """Return the URLs, as the crawl writes them, that somebody may mean."""
    text = typed.strip()
    tried = [text] if "://" in text else [f"https://{text}", f"http://{text}"]
    return [url for url in map(canonical, tried) if url is not None]


def _explanation(found: Explanation, learning: Learning, predicate: str, threshold: float) -> object:
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
        "taught": learning.state,
    }


def _linking(found: Linking) -> object:
    return {
        "url": _text(found.url),
        "address": found.url,
        "verdict": _text(verdict_in_words(found.verdict)),
        "position": found.position,
        "inside": _words(found.inside),
        "around": _words(found.around),
        "above": _words(found.above),
    }


def _words(found: Sequence[str]) -> str:
    return _text(" ".join(found), MOST_OF_WORDS)


def _inputs(found: Explanation, predicate: str) -> list[object]:
    return [
        {
            **_plain(part.name),
            "value": part.value,
            "weight": part.weight,
            "deviation": part.deviation,
            "adds": part.adds,
        }
        for part in found.inputs.get(predicate, [])[:PARTS]
    ]


def _counting(found: Counting) -> object:
    return {
        "word": _text(found.word, MOST_OF_WORD),
        "where": found.where,
        "pages": found.pages,
        "hits": found.hits,
        "adds": found.adds,
    }


def _feature(found: Contribution) -> object:
    return {
        **_plain(found.feature),
        "pages": found.pages,
        "hits": found.hits,
        "ratio": found.ratio,
        "significance": found.significance,
        "adds": found.log,
    }
