"""The inputs of many candidates at once, for several predicates."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from scentline.models.interest.features import USER
from scentline.models.interest.ratio import PRIOR_PAGES, log_lifts
from scentline.models.learner.candidate import Candidate
from scentline.models.learner.combiner import Vector
from scentline.models.learner.inputs import INPUTS, MOST
from scentline.models.learner.knowledge import Knowledge, lifts_of, prefix_ratios
from scentline.models.learner.linking import HITS, NO_LINK, NOT, PAGES, SATISFIES, SUMMED, LinkTable, Places
from scentline.models.learner.named import SAID
from scentline.models.learner.words import KINDS, URL

#: Places of inputs, in the order of `models.learner.inputs.INPUTS`.
_URL_WORDS, _URL_PAGE_WORDS, _USERS = 10, 11, 12
_CROWD = slice(13, 15)
_POSITIVE, _PREFIX, _LINKS, _ACCESSES, _NO_LINK, _NO_ACCESS, _DEPTH, _FOREIGN, _BIAS = range(15, 24)

#: Pages at the base rate that all link targets of a page, and the near ones, are taken to have beside them.
_SIBLING_PRIORS = np.array((PRIOR_PAGES, 1.0))


def inputs_of(knowledge: Sequence[Knowledge], links: LinkTable, candidates: Sequence[Candidate]) -> Vector:
    """Return the inputs of candidates, shape (predicates, candidates, `INPUTS`).

    The predicates are those of ``knowledge``, of ``links`` and of each candidate, in one order.
    """
    found = np.zeros((len(knowledge), len(candidates), len(INPUTS)))
    rates = np.array([known.rate for known in knowledge])[:, None, None]
    found[:, :, SUMMED] = _of_links(knowledge, links, candidates, rates)
    _of_url(found, knowledge, candidates)
    _of_counts(found, candidates, rates)
    _of_crowds(found, knowledge, candidates, rates)
    found[:, :, _BIAS] = 1.0
    return np.minimum(MOST, np.maximum(-MOST, found, out=found), out=found)


def named_of(knowledge: Sequence[Knowledge], links: LinkTable, candidates: Sequence[Candidate]) -> Vector:
    """Return what the phrases of each predicate add to the logit of a hit, shape (predicates, candidates).

    It goes by the best of a candidate's links, or by its URL (`models.learner.named`).
    """
    found = np.zeros((len(knowledge), len(candidates)))
    if any(known.named.any for known in knowledge):
        places, starts, _ = _joined([candidate.links or (NO_LINK,) for candidate in candidates])
        found[:] = np.maximum.reduceat(links.named(places, knowledge), starts, axis=1)
        places, starts, scale = _of_url_words(candidates)
        for row, known in zip(found, knowledge, strict=True):
            parts = np.add.reduceat(known.named.by_word.take(places // KINDS, mode="clip"), starts)
            np.maximum(row, SAID * np.minimum(1.0, parts * (scale > 0)), out=row)
    return found


def _of_links(
    knowledge: Sequence[Knowledge], links: LinkTable, candidates: Sequence[Candidate], rates: Vector
) -> Vector:
    """Return what is summed over the in-links of each candidate and divided by the root of their number."""
    places, starts, scale = _joined([candidate.links or (NO_LINK,) for candidate in candidates])
    cells = links.take(places, knowledge)
    cells[:, :, HITS] = log_lifts(cells[:, :, PAGES], cells[:, :, HITS], rates, _SIBLING_PRIORS)
    holds, not_holds = (
        np.array([[known.verdicts[verdict]] for known in knowledge]) for verdict in (True, False)
    )
    cells[:, :, SATISFIES] = cells[:, :, SATISFIES] * holds + cells[:, :, NOT] * not_holds
    return np.add.reduceat(cells[:, :, SUMMED], starts, axis=1) * scale[:, None]


def _joined(groups: Sequence[Sequence[int]]) -> tuple[Places, Places, Vector]:
    """Return numbers one after the other, where each group starts, and one over the root of its size."""
    return np.fromiter(chain.from_iterable(groups), np.intp), *_grouped(groups)


def _grouped(groups: Iterable[Sequence[object]]) -> tuple[Places, Vector]:
    sizes = np.array([len(group) for group in groups])
    return np.cumsum(sizes) - sizes, 1 / np.sqrt(sizes)


def _of_url_words(candidates: Sequence[Candidate]) -> tuple[Places, Places, Vector]:
    """Return the words of URLs as `_joined` does; one without words has that of place 0, nothing times."""
    places, starts, scale = _joined([candidate.url_words or (0,) for candidate in candidates])
    return places, starts, scale * [bool(candidate.url_words) for candidate in candidates]


def _of_url(found: Vector, knowledge: Sequence[Knowledge], candidates: Sequence[Candidate]) -> None:
    places, starts, scale = _of_url_words(candidates)
    both = np.array((places + URL, places))
    weights = np.array([known.words.weights.take(both) for known in knowledge])
    sums = np.add.reduceat(weights, starts, axis=2) * scale
    found[:, :, _URL_WORDS], found[:, :, _URL_PAGE_WORDS] = sums[:, 0], sums[:, 1]
    distinct: dict[tuple[str, ...], int] = {}  # many candidates share a directory
    prefixes = [distinct.setdefault(candidate.prefixes, len(distinct)) for candidate in candidates]
    found[:, :, _PREFIX] = prefix_ratios(knowledge, list(distinct))[:, prefixes]


def _of_counts(found: Vector, candidates: Sequence[Candidate], rates: Vector) -> None:
    links = np.zeros((*found.shape[:2], 2))
    linked = [place for place, candidate in enumerate(candidates) if candidate.parents]
    if linked:
        links[:, linked] = np.array([candidates[place].parents for place in linked], float).transpose(1, 0, 2)
    found[:, :, _POSITIVE] = log_lifts(links[:, :, :1], links[:, :, 1:], rates, 1.0)[:, :, 0]
    found[:, :, _LINKS] = np.log1p(links[:, :, 0]) / 3
    found[:, :, _NO_LINK] = links[:, :, 0] == 0
    found[:, :, _DEPTH] = np.log1p([candidate.depth for candidate in candidates])
    found[:, :, _FOREIGN] = [candidate.foreign for candidate in candidates]


def _of_crowds(
    found: Vector, knowledge: Sequence[Knowledge], candidates: Sequence[Candidate], rates: Vector
) -> None:
    crowds = [candidate.crowd for candidate in candidates]
    accesses = np.array([crowd.accesses if crowd else 0 for crowd in crowds], float)
    found[:, :, _ACCESSES] = np.log1p(accesses) / 3
    found[:, :, _NO_ACCESS] = accesses == 0
    visited = {place: crowd.visitors for place, crowd in enumerate(crowds) if crowd and crowd.visitors}
    if visited:
        starts, scale = _grouped(visited.values())
        lifts = lifts_of(knowledge, [USER + name for name in chain.from_iterable(visited.values())])
        found[:, list(visited), _USERS] = np.add.reduceat(lifts, starts, axis=1) * scale
    beside = {place: crowd.beside for place, crowd in enumerate(crowds) if crowd and crowd.beside}
    if beside:
        seen = list(beside)
        cells = np.array(list(beside.values()), float).transpose(1, 0, 2)
        found[:, seen, _CROWD] = log_lifts(cells[:, :, 0::2], cells[:, :, 1::2], rates, 1.0)
