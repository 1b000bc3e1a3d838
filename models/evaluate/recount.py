"""All counts, worked out at once from the judged pages: what the incremental counts must equal."""

from collections.abc import Iterable

import msgspec

from models.counts import Counts
from models.interest.features import BASE, link, token, word
from models.interest.parents import rank
from models.url import identifier, tokens
from models.verdict import Verdict


class JudgedPage(msgspec.Struct, frozen=True):
    """A judged page as the learner uses it: canonical URL, verdict, distinct words and link targets."""

    url: str
    verdict: Verdict
    words: frozenset[str] = frozenset()
    links: tuple[str, ...] = ()


def recount(pages: Iterable[JudgedPage], parents: int) -> Counts:
    """Return the counts of all features over ``pages``, the first of each URL; their order is of no account.

    ``parents`` bounds the in-linking pages whose words count for a page. Links count without bound, each
    distinct target once, and not to the page itself.
    """
    judged: dict[str, JudgedPage] = {}
    for page in pages:
        judged.setdefault(page.url, page)
    sources: dict[str, list[JudgedPage]] = {url: [] for url in judged}
    for page in judged.values():
        for target in set(page.links) - {page.url}:
            if target in sources:
                sources[target].append(page)
    counts = Counts()
    for page in judged.values():
        _count(counts, page, sources[page.url], parents)
    return counts


def _count(counts: Counts, page: JudgedPage, sources: list[JudgedPage], parents: int) -> None:
    counts.add([BASE], page.verdict)
    counts.add([token(name) for name in tokens(page.url)], page.verdict)
    child = identifier(page.url)
    nearest = sorted(sources, key=lambda source: rank(identifier(source.url), child))[:parents]
    present = {name for source in nearest for name in source.words}
    counts.add([word(name) for name in present], page.verdict)
    for source in sources:
        counts.add([link(predicate, holds) for predicate, holds in source.verdict.items()], page.verdict)
