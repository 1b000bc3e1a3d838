"""The text of the pages of the tests' webs."""

import random
from collections.abc import Sequence
from html import escape

from scentline_lab.synthetic.vocabulary import COMMON, TOPICS

_WORDS = 120


def prose(title: str) -> str:
    """Return the text of the page of that title; equal titles give equal texts."""
    rng = random.Random(title)
    words = rng.choices([*TOPICS[0].words, *COMMON], k=_WORDS)
    return " ".join(words)


def document(title: str, links: Sequence[str] = (), text: str | None = None) -> bytes:
    """Return an HTML page: ``text`` (or prose), and ``links`` as they are written."""
    listed = "".join(f'<li><a href="{escape(link)}">{escape(link[:60])}</a></li>\n' for link in links)
    return (
        f"<!DOCTYPE html>\n<html><head><title>{escape(title)}</title></head><body>\n<h1>{escape(title)}</h1>\n"
        f"<p>{escape(prose(title) if text is None else text)}</p>\n<ul>\n{listed}</ul></body></html>\n"
    ).encode()
