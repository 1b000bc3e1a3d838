"""The judge: what it says of a page, to whom, and what it does with what is no page."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from scentline.agents.judge.agent import JudgeAgent
from scentline.agents.judge.duplicates import DuplicateRow
from scentline.agents.judge.predicates import Predicates
from scentline.agents.judge.question import Examined, PageError, Question
from scentline.models.page import Page
from scentline.models.url import host, identifier
from scentline.streams.facts import Failed, Judged, Linked, SightingPack
from scentline.streams.inbox import Shard
from scentline.streams.outbox import Message
from scentline.streams.published import Outcome, PredicateDefinition
from scentline.streams.records import DeadLetter, Decoder, FetchedPage, FetchOrder, RecordError, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS, OUTCOMES, PAGES, SIGHTINGS, partition_of
from tests.agents.judging import judge_of, take_in
from tests.agents.shards import Disk, a_runtime, disk, emitted, write

URL = "http://a.org/skiing"
HTML = b"""<html><head><title>Skiing in the Alps</title></head><body>Snow and
<a href="/snow">more snow</a> <a href="http://b.org/">b</a> <a href="http://c.org/">c</a> <a href="http://d.org/">d</a>
<a href="http://a.org/skiing">here</a> <a href="http://b.org/#top">b again</a></body></html>"""


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    settings = Settings.model_validate(
        {"data": tmp_path, "streams": {"partitions": 3}, "fetch": {"max_bytes": 100_000}}
    )
    with a_runtime(settings) as opened:
        yield opened


@pytest.fixture
def judge(runtime: Runtime) -> JudgeAgent:
    return a_judge(runtime)


def a_judge(runtime: Runtime) -> JudgeAgent:
    predicates = Predicates()
    for name, expression in (("alps", '"alps"'), ("sea", '"sea"')):
        definition = PredicateDefinition(name=name, expression=expression)
        predicates.hear(name.encode(), msgspec.json.encode(definition))
    return judge_of(runtime, predicates)


def a_page(body: bytes = HTML, content_type: str = "text/html", raw: bytes | None = None) -> FetchedPage:
    order = FetchOrder(
        url=URL, order=2, predicate="alps", policy="linkage", explored=True, probability=0.25, priority=1.5,
        depth=3, lease=9e9,
    )  # fmt: skip
    compressed = zstandard.ZstdCompressor().compress(body) if raw is None else raw
    return FetchedPage(
        order=order, status=200, headers={"content-type": content_type}, body=compressed, time=50.0,
        elapsed=0.1, crawl_delay=2.0,
    )  # fmt: skip


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    (tmp_path / "duplicates").mkdir()
    with disk(tmp_path / "duplicates") as opened:
        yield opened


def judged(judge: JudgeAgent, rows: Disk, page: FetchedPage | bytes) -> list[Message]:
    """Return what comes of a page that is the seventh message of its partition, and the first ever judged."""
    shard = rows.shard(DuplicateRow, PAGES, 1)
    return arrived(judge, shard, page, 7)


def arrived(
    judge: JudgeAgent, shard: Shard[DuplicateRow], page: FetchedPage | bytes, offset: int
) -> list[Message]:
    value = encode(page) if isinstance(page, FetchedPage) else page
    take_in(judge, shard, offset, value)
    return shard.outbox.take()


def the_outcome(messages: list[Message]) -> Message:
    (message,) = [message for message in messages if message[0] == OUTCOMES.name]
    return message


def test_an_outcome_says_what_was_found_and_why_the_page_was_fetched(judge: JudgeAgent, rows: Disk) -> None:
    topic, partition, key, value = the_outcome(judged(judge, rows, a_page()))
    assert (topic, partition, key) == ("outcomes", partition_of(URL, 3), URL.encode())
    read: dict[str, Any] = json.loads(value or b"")
    expected = {
        "version": 1, "url": URL, "time": 50.0, "title": "Skiing in the Alps", "predicate": "alps",
        "verdict": {"alps": True, "sea": False}, "policy": "linkage", "explored": True, "probability": 0.25,
        "priority": 1.5, "expected": None, "depth": 3, "origin": "pages/1@7", "later": False, "pattern": "",
        "requests": 0,
    }  # fmt: skip
    assert {name: read[name] for name in expected} == expected
    assert read.keys() == expected.keys() | {"words", "links"}
    assert set(read["words"]) >= {"skiing", "alps", "snow"}
    links = ["http://a.org/snow", "http://b.org/", "http://c.org/", "http://d.org/"]
    assert [link[0] for link in read["links"]] == links


def test_each_partition_hears_of_its_own_links_and_of_who_else_has_some(judge: JudgeAgent, rows: Disk) -> None:
    messages = judged(judge, rows, a_page())
    outcome = msgspec.json.decode(the_outcome(messages)[3] or b"", type=Outcome)
    linked = [(partition, fact) for partition, fact in emitted(messages, SIGHTINGS) if isinstance(fact, Linked)]
    assert len(linked) > 1
    partitions = tuple(sorted(partition for partition, _ in linked))
    for partition, fact in linked:
        assert {partition_of(host(link.url), 3) for link in fact.links} == {partition}
        assert (fact.page, fact.url, fact.depth) == (identifier(URL), URL, 3)
        assert (fact.verdict, fact.words, fact.partitions) == (outcome.verdict, outcome.words, partitions)
    told = sorted((link for _, fact in linked for link in fact.links), key=lambda link: link.position)
    assert tuple(told) == outcome.links


def test_the_verdict_goes_to_the_partition_of_the_pages_host(judge: JudgeAgent, rows: Disk) -> None:
    messages = judged(judge, rows, a_page())
    outcome = msgspec.json.decode(the_outcome(messages)[3] or b"", type=Outcome)
    verdicts = [found for found in emitted(messages, SIGHTINGS) if isinstance(found[1], Judged)]
    subject = "skiing skiing in the alps"
    expected = Judged(URL, {"alps": True, "sea": False}, 50.0, 2.0, outcome.words, 0.1, subject=subject)
    assert verdicts == [(partition_of("a.org", 3), expected)]


@pytest.mark.parametrize("changed", [{"frontier": {"policy": "combined"}}, {"learn": {"semantic": ""}}])
def test_without_word_meanings_the_frontier_does_not_hear_what_the_page_is_about(
    tmp_path: Path, rows: Disk, changed: dict[str, Any]
) -> None:
    with a_runtime(Settings.model_validate({"data": tmp_path / "data", **changed})) as runtime:
        facts = emitted(judged(a_judge(runtime), rows, a_page()), SIGHTINGS)
    (fact,) = [fact for _, fact in facts if isinstance(fact, Judged)]
    assert fact.subject == ""


def test_a_judge_of_categories_that_fails_is_a_dead_letter_and_the_other_predicates_judge(
    runtime: Runtime, rows: Disk
) -> None:
    def fails(page: Page) -> list[str]:
        raise OSError("no model")

    predicates = Predicates()
    for name, expression in (("alps", '"alps"'), ("sport", 'category("Sport")')):
        definition = PredicateDefinition(name=name, expression=expression)
        predicates.hear(name.encode(), msgspec.json.encode(definition))
    messages = judged(judge_of(runtime, predicates, [fails]), rows, a_page())
    outcome = msgspec.json.decode(the_outcome(messages)[3] or b"", type=Outcome)
    assert outcome.verdict == {"alps": True}
    (letter,) = [message for message in messages if message[0] == DEAD_LETTERS.name]
    read = Decoder[DeadLetter](DeadLetter)(letter[3] or b"")
    assert (read.topic, read.partition, read.offset) == (PAGES.name, 1, 7)
    assert read.reason == "the judge of categories failed: OSError: no model"


LONG = (
    b"<title>Snow</title><body>" + b" ".join(b"snow%d lies" % n for n in range(100)) + b"<a href=/more>more</a>"
)


def a_copy(url: str = "http://b.org/copy", body: bytes = LONG) -> FetchedPage:
    page = a_page(body)
    return msgspec.structs.replace(page, order=msgspec.structs.replace(page.order, url=url))


def test_a_near_duplicate_is_refused_by_the_name_of_its_original_and_teaches_nothing(
    judge: JudgeAgent, rows: Disk
) -> None:
    shard = rows.shard(DuplicateRow, PAGES, 1)
    assert any(message[0] == OUTCOMES.name for message in arrived(judge, shard, a_page(LONG), 7))
    messages = arrived(judge, shard, a_copy(), 8)
    ((partition, fact),) = emitted(messages, SIGHTINGS)
    assert {message[0] for message in messages} == {SIGHTINGS.name}
    assert partition == partition_of("b.org", 3)
    assert isinstance(fact, Failed)
    assert (fact.url, fact.order, fact.kind) == ("http://b.org/copy", 2, "refused")
    assert (fact.reason, fact.barren) == (f"near-duplicate of {URL}", True)
    assert (fact.crawl_delay, fact.elapsed) == (2.0, 0.1)


@pytest.mark.parametrize(("vouched", "refused"), [((0.01, 0.2), False), ((0.2, 0.01), True)])
def test_a_mirror_is_the_copy_however_early_it_came_and_ends_no_space(
    judge: JudgeAgent, rows: Disk, vouched: tuple[float, float], refused: bool
) -> None:
    shard = rows.shard(DuplicateRow, PAGES, 1)
    first, second = (
        msgspec.structs.replace(page, order=msgspec.structs.replace(page.order, vouched=part))
        for page, part in zip((a_page(LONG), a_copy()), vouched, strict=True)
    )
    arrived(judge, shard, first, 7)
    facts = [fact for _, fact in emitted(arrived(judge, shard, second, 8), SIGHTINGS)]
    failed = [fact for fact in facts if isinstance(fact, Failed)]
    assert [(fact.reason, fact.barren) for fact in failed] == [(f"near-duplicate of {URL}", False)] * refused


def test_pages_that_come_again_after_a_crash_give_the_same_messages(judge: JudgeAgent, rows: Disk) -> None:
    pages = (a_page(LONG), a_copy(), a_page(LONG), a_copy("http://c.org/other"))

    def run(numbers: range, *, written: bool) -> list[list[Message]]:
        shard = rows.shard(DuplicateRow, PAGES, 1)
        messages = [arrived(judge, shard, pages[n], n) for n in numbers]
        if written:
            write(shard)
        return messages

    told = run(range(4), written=False)
    assert run(range(2), written=True) == told[:2]
    assert not rows.shard(DuplicateRow, PAGES, 1).fresh(1)
    assert run(range(2, 4), written=True) == told[2:]
    assert [len(emitted(messages, SIGHTINGS)) for messages in told] == [2, 1, 2, 1]


@pytest.mark.parametrize(
    ("body", "content_type", "kind", "reason"),
    [
        (b"%PDF-1.4\n...", "text/html", "refused", "not HTML or text: PDF, served as text/html"),
        (b"GIF89a\1\0\1", "", "refused", "not HTML or text: GIF image"),
        (b"<title>404 Not Found</title>Sorry.", "", "gone", "soft 404: the page says that there is none"),
        (
            b"<meta name=scentline content=none>x <a href=/x>x</a>",
            "",
            "refused",
            "the page asks not to be indexed",
        ),
    ],
)
def test_what_is_no_page_to_be_judged_is_refused_with_the_reason(
    judge: JudgeAgent, rows: Disk, body: bytes, content_type: str, kind: str, reason: str
) -> None:
    messages = judged(judge, rows, a_page(body, content_type))
    assert {message[0] for message in messages} == {SIGHTINGS.name}
    ((partition, fact),) = emitted(messages, SIGHTINGS)
    assert isinstance(fact, Failed)
    assert (partition, fact.url, fact.order, fact.time) == (partition_of("a.org", 3), URL, 2, 50.0)
    assert (fact.kind, fact.reason, fact.barren) == (kind, reason, kind == "gone")


def test_links_are_not_followed_where_the_head_of_the_response_says_so(judge: JudgeAgent, rows: Disk) -> None:
    messages = judged(judge, rows, msgspec.structs.replace(a_page(), nofollow=True))
    assert [type(fact) for _, fact in emitted(messages, SIGHTINGS)] == [Judged]


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (b"not a record", "not a FetchedPage"),
        (b"", "not a FetchedPage"),
        (encode(a_page()).replace(b"\x01", b"\x09", 1), "unknown version 9, expected 1"),
        (a_page(raw=b"not compressed"), "can't be decompressed"),
        (a_page(raw=zstandard.ZstdCompressor().compress(b"x" * 5000)[:-3]), "can't be decompressed"),
    ],
)
def test_what_can_t_be_read_is_no_page_and_the_reason_says_why(
    judge: JudgeAgent, rows: Disk, page: FetchedPage | bytes, why: str
) -> None:
    with pytest.raises(RecordError, match=why):
        judged(judge, rows, page)


def bombs() -> Iterator[bytes]:
    """Bodies of a few kilobytes that grow to 64 MB: the size stated, and not."""
    body = b"<p>snow " * 8_000_000
    yield zstandard.ZstdCompressor().compress(body)
    stream = zstandard.ZstdCompressor().compressobj()
    yield stream.compress(body) + stream.flush()


@pytest.mark.parametrize("bomb", list(bombs()), ids=["stated", "unstated"])
def test_a_body_that_grows_beyond_the_limit_is_refused(judge: JudgeAgent, rows: Disk, bomb: bytes) -> None:
    assert len(bomb) < 100_000
    with pytest.raises(RecordError, match="body"):
        judged(judge, rows, a_page(raw=bomb))


class Fails:
    """Examines no page: each takes too long."""

    async def examine(self, question: Question) -> Examined:
        raise PageError("too long")


def test_a_page_that_takes_too_long_is_refused_buried_and_counted(runtime: Runtime, rows: Disk) -> None:
    judge = a_judge(runtime)
    judge._examiner = Fails()
    messages = judged(judge, rows, a_page())
    (letter,) = [message for message in messages if message[0] == DEAD_LETTERS.name]
    assert Decoder[DeadLetter](DeadLetter)(letter[3] or b"").reason == "too long"
    ((partition, fact),) = emitted(messages, SIGHTINGS)
    assert partition == partition_of("a.org", 3)
    assert isinstance(fact, Failed)
    assert (fact.url, fact.order, fact.kind, fact.barren) == (URL, 2, "refused", False)
    assert fact.reason == "too long"


def test_a_page_that_took_too_long_before_a_crash_is_told_of_whole_when_it_comes_again(
    runtime: Runtime, rows: Disk
) -> None:
    judge = a_judge(runtime)
    whole = judged(judge, rows, a_page())
    examiner, judge._examiner = judge._examiner, Fails()
    (refused,) = [message for message in judged(judge, rows, a_page()) if message[0] == SIGHTINGS.name]
    # Without a source: who has taken it in has seen no origin of this page, and passes nothing over.
    assert Decoder[SightingPack](SightingPack)(refused[3] or b"").source == ""
    judge._examiner = examiner
    assert judged(judge, rows, a_page()) == whole
