"""What counts as a change of a page: any sentence of its text, and nothing that a template varies."""

import random
import re
from collections.abc import Iterator
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.judge.parse import LEAST_WORDS, parse
from scentline.models.page import Page
from scentline.models.revisit.content import LINKS_BYTES, TEXT_BYTES, changed, links_digest, text_digest
from scentline.models.words import words
from scentline.streams.crawl_settings import JudgeSettings
from tests.cases import each_case
from tests.shared import shared

URL = "http://example.org/page"
LIMITS = JudgeSettings()
PROSE = " ".join(f"words{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(LEAST_WORDS))
CONTENTS = f"<div id=table-of-contents>{PROSE * 3}"
# A sentence between two tags, far enough from their ends.
SENTENCE = re.compile(rb"(?<=[.>] )[A-Z][a-z]+ [^<>&.]{30,200}\.(?= [A-Z])")
WORD = re.compile(rb"(?<= )[a-z]{3,}(?= )")


def read(markup: bytes) -> Page:
    return parse(URL, markup, "text/html; charset=utf-8", LIMITS, main=True)


def digest(markup: bytes | str) -> bytes:
    page = read(markup.encode() if isinstance(markup, str) else markup)
    return text_digest(page.title, page.main)


def links(markup: str) -> bytes:
    return links_digest(read(markup.encode()).leading)


@each_case(("before", "now"))
def test_what_is_of_the_moment_or_beside_the_text_makes_no_change(before: str, now: str) -> None:
    text = f"<title>Alps</title><p>{PROSE}</p>"
    assert digest(text + before) == digest(text + now)


@each_case(("before", "now"), [(f"{CONTENTS} and it snows</div>", f"{CONTENTS} it rains")])
def test_any_other_word_makes_one(before: str, now: str) -> None:
    assert changed(digest(f"{before}<p>{PROSE}"), digest(f"{now}<p>{PROSE}"))


@each_case("page")
def test_headlines_or_navigation_are_the_text_of_a_page_that_has_little_else(page: str) -> None:
    assert changed(digest(page.format("Flood in town")), digest(page.format("Flood is over")))


def test_a_link_counts_as_one_outside_navigation_in_any_order() -> None:
    page = "<nav><a href={}>x</a></nav><p>of <a href=/{}>one</a> and <a href=/{}>two</a>"
    assert links(page.format("/n", "a", "b")) == links(page.format("/m", "b", "a"))
    assert links(page.format("/n", "a", "b")) != links(page.format("/n", "a", "c"))
    assert links("<nav><a href=/a>a</a></nav>") != links("<nav><a href=/b>b</a></nav>")


def noise(chance: random.Random) -> tuple[bytes, bytes]:
    """Return what a template puts before and behind a page's text, another at each visit."""

    def word() -> str:
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9)))

    def teasers(count: int) -> str:
        return " ".join(f"<li><a href='/{word()}'>{word()} {word()} {word()}</a></li>" for _ in range(count))

    day, month = chance.choice(["Monday", "Tuesday", "Friday"]), chance.choice(["May", "June", "November"])
    ago = chance.choice(["just now", "an hour ago", "yesterday", f"{chance.randint(2, 59)} minutes ago"])
    before = f"""<nav><a href=/>{word()}</a> {word()}</nav><div class="banner">{word()} {word()}</div>
        <p>{day}, {month} {chance.randint(1, 28)}, 2026, {chance.randint(1, 12)}:{chance.randint(10, 59)} pm</p>
        <p>Posted {ago}, {chance.randint(1, 9999)} views, session {chance.randbytes(8).hex()}0</p>"""
    behind = f"""<ul>{teasers(chance.randint(3, 6))}</ul><aside>{word()} {word()}: <ul>{teasers(4)}</ul></aside>
        <footer>{word()} {chance.random()} seconds</footer>"""
    return before.encode(), behind.encode()


def recorded(name: str, most: int) -> Iterator[bytes]:
    with shared(f"{name}/pages.warc.gz").open("rb") as file:
        responses = (record for record in ArchiveIterator(file) if record.rec_type == "response")
        bodies = (record.content_stream().read() for record in islice(responses, 0, None, 13))
        yield from islice((body for body in bodies if b"<body" in body and b"</body>" in body), most)


@each_case("name", ["docs", "wikispeedia"])
def test_of_recorded_pages_few_changes_are_missed_and_little_noise_taken_for_one(name: str) -> None:
    chance = random.Random(5)
    pages, noisy = 0, 0
    seen: dict[str, list[bool]] = {"sentence": [], "word": []}
    for body in recorded(name, 60):
        head, tag, rest = body.partition(b"<body")
        attributes, close, text = rest.partition(b">")
        text, end, _ = text.rpartition(b"</body>")

        def visit(text: bytes, first: bytes = head + tag + attributes + close, last: bytes = end) -> bytes:
            before, behind = noise(chance)
            return digest(first + before + text + behind + last)

        known = visit(text)
        pages += 1
        noisy += changed(known, visit(text))
        places = list(SENTENCE.finditer(text))
        if not places:
            continue
        place = chance.choice(places)
        for kind, found, other in (
            ("sentence", place, b"The committee of the harbour has found nothing to add."),
            ("word", WORD.search(text, place.start(), place.end()), b"harbour"),
        ):
            if found is not None:
                seen[kind].append(changed(known, visit(text[: found.start()] + other + text[found.end() :])))
    assert pages >= 60
    assert noisy <= 0.05 * pages  # indexes, whose text are lists of links
    for noticed in seen.values():
        assert len(noticed) >= 20
        assert sum(noticed) >= 0.95 * len(noticed)


@given(st.text(max_size=200), st.text(max_size=300), st.lists(st.text(max_size=20), max_size=5))
def test_a_digest_is_of_one_size_and_numbers_do_not_change_it(title: str, text: str, urls: list[str]) -> None:
    found = text_digest(title, words(text))
    assert len(found) == TEXT_BYTES
    assert not changed(found, text_digest(title, [*words(text), "12", "minutes", "2026"]))
    assert changed(found, text_digest(title, [*words(text), "snow", "snow"]))
    assert len(links_digest(url.encode("utf-8", "replace").decode() for url in urls)) == LINKS_BYTES
