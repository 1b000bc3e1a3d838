"""The text and HTML of the synthetic web's pages."""

import random
from collections.abc import Iterable, Sequence
from html import escape
from itertools import accumulate

from agents.offline.synthetic.links import Hyperlink
from agents.offline.synthetic.plan import PlannedPage
from agents.offline.synthetic.sites import Site
from agents.offline.synthetic.vocabulary import COMMON, Subtopic, Topic

# What the words of a page are drawn from; what a page has no topic or sub-topic for is common words.
_TOPIC_SHARE, _SUBTOPIC_SHARE, _FOREIGN_SHARE = 0.22, 0.12, 0.06
_ARTICLE_WORDS = (180, 420)
_OTHER_WORDS = 60
_SENTENCE_WORDS = (7, 16)


class Writer:
    """Writes pages; equal seeds give equal pages."""

    def __init__(self, seed: int, topics: Sequence[Topic]) -> None:
        self._seed = seed
        parts = [topic.words for topic in topics]
        parts += [subtopic.words for topic in topics for subtopic in topic.subtopics]
        self._foreign = sorted({word for words in parts for word in words})
        self._mixtures: dict[tuple[str, str], tuple[list[str], list[float]]] = {}

    def html(self, page: PlannedPage, links: Iterable[Hyperlink], site: Site) -> bytes:
        """Return the page in its site's encoding."""
        rng = random.Random(f"{self._seed}/text/{page.number}")
        placed: dict[str, list[str]] = {"nav": [], "body": [], "list": [], "foot": []}
        for link in links:
            placed[link.place].append(f'<a href="{escape(link.href)}">{escape(link.anchor)}</a>')
        listed = "".join(f"<li>{link}</li>\n" for link in placed["list"])
        text = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="{site.encoding}">'
            f"<title>{escape(page.title)}</title>"
            '<link rel="stylesheet" href="/style.css"></head>\n<body>\n'
            f'<div class="nav"><img src="/logo.png" alt=""> {" | ".join(placed["nav"])}</div>\n'
            f"<h1>{escape(page.title)}</h1>\n{self._paragraphs(rng, page, placed['body'])}"
            f"<ul>\n{listed}</ul>\n<p>{' | '.join(placed['foot'])}</p>\n</body></html>\n"
        )
        return text.encode(site.encoding, "xmlcharrefreplace")

    def _paragraphs(self, rng: random.Random, page: PlannedPage, links: list[str]) -> str:
        sentences = self._sentences(rng, page)
        for link in links:
            words = sentences[rng.randrange(len(sentences))]
            words.insert(rng.randint(1, len(words)), link)
        written = [f"{' '.join(words)}." for words in sentences]
        return "".join(f"<p>{' '.join(written[at : at + 4])}</p>\n" for at in range(0, len(written), 4))

    def _sentences(self, rng: random.Random, page: PlannedPage) -> list[list[str]]:
        mixture, weights = self._mixture(page.topic, page.subtopic)
        short = page.kind in ("home", "hub")
        words = rng.choices(
            mixture, cum_weights=weights, k=_OTHER_WORDS if short else rng.randint(*_ARTICLE_WORDS)
        )
        if page.subtopic is not None:
            words[rng.randrange(len(words))] = page.subtopic.keyword
        sentences = []
        while words:
            size = rng.randint(*_SENTENCE_WORDS)
            sentence, words = words[:size], words[size:]
            sentence[0] = sentence[0].capitalize()
            sentences.append(sentence)
        return sentences

    def _mixture(self, topic: Topic | None, subtopic: Subtopic | None) -> tuple[list[str], list[float]]:
        key = (topic.name if topic else "", subtopic.name if subtopic else "")
        if key not in self._mixtures:
            parts: list[tuple[float, Sequence[str], list[float]]] = [
                (_FOREIGN_SHARE, self._foreign, [1.0] * len(self._foreign))
            ]
            if topic is not None:
                parts.append((_TOPIC_SHARE, topic.words, _zipf(len(topic.words))))
            if subtopic is not None:
                parts.append((_SUBTOPIC_SHARE, subtopic.words, _zipf(len(subtopic.words))))
            parts.append((1 - sum(share for share, _, _ in parts), COMMON, _zipf(len(COMMON))))
            self._mixtures[key] = _mixed(parts)
        return self._mixtures[key]


def _mixed(parts: Iterable[tuple[float, Sequence[str], list[float]]]) -> tuple[list[str], list[float]]:
    words: list[str] = []
    weights: list[float] = []
    for share, part, part_weights in parts:
        scale = share / sum(part_weights)
        words += part
        weights += [scale * weight for weight in part_weights]
    return words, list(accumulate(weights))


def _zipf(count: int) -> list[float]:
    return [1 / rank for rank in range(1, count + 1)]
