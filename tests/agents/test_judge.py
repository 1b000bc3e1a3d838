"""The judge: what it says of a page, new or visited again, to whom, and what it does with what is no page."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zstandard
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.judge.duplicates import DuplicateRow
from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.judges import CategoryJudge
from scentline.agents.judge.kept import files
from scentline.agents.judge.question import Examined, Examines, PageError, Question, Work
from scentline.agents.judge.warc import date_of
from scentline.models.facts import Fetched, Linked, Missing, SightingPack
from scentline.models.facts import Page as Came
from scentline.models.page import Page
from scentline.models.published import RENEWED
from scentline.models.records import (
    DeadLetter,
    Decoder,
    FetchedPage,
    HostAnswer,
    RecordError,
    Revisit,
    Version,
    Visit,
    encode,
    partition_of,
)
from scentline.models.revisit.content import changed
from scentline.models.url import host, identifier
from scentline.streams.inbox import Message
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS, OUTCOMES, PAGES, SIGHTINGS
from tests.agents.judging import an_order, hearing, judge_of, take_in
from tests.agents.scenarios import outcomes, sent
from tests.agents.shards import a_runtime, disk, emitted, write
from tests.cases import each_case

URL, NOW = "http://a.org/skiing", 1000.0
HTML = b"""<html><head><title>Skiing in the Alps</title></head><body>Snow and
<a href="/snow">more snow</a> <a href="http://b.org/">b</a> <a href="http://c.org/">c</a> <a href="http://d.org/">d</a>
<a href="http://a.org/skiing">here</a> <a href="http://b.org/#top">b again</a></body></html>"""
LONG = (
    b"<title>Snow</title><body>" + b" ".join(b"snow%d lies" % n for n in range(100)) + b"<a href=/more>more</a>"
)
ALPS = {"alps": '"alps"'}
BOTH = ALPS | {"sea": '"sea"'}
pack = zstandard.ZstdCompressor().compress
TOLD = HostAnswer(elapsed=0.1, crawl_delay=2.0)


def a_page(
    html: bytes = HTML, kind: str = "text/html", url: str = URL, ordered: Mapping[str, Any] = {}, **said: Any
) -> FetchedPage:
    given: dict[str, Any] = {"predicate": "alps", "explored": True, "probability": 0.25, **ordered}
    page = FetchedPage(
        order=an_order(url, **given), status=200, headers={"content-type": kind, "etag": '"8"'},
        body=pack(html), time=NOW, host=TOLD,
    )  # fmt: skip
    return replace(page, **said)


def end(result: Came | Missing, url: str = URL, visit: Visit = "first") -> Fetched:
    return Fetched(url, 2, visit, NOW, TOLD, result)


def a_copy(url: str = "http://b.org/copy", **ordered: Any) -> FetchedPage:
    return a_page(LONG, url=url, ordered=ordered)


def told(
    *pages: FetchedPage | bytes, data: Path | None = None, asked: Mapping[str, str] = BOTH, keep: str = "none",
    judges: Sequence[CategoryJudge] = (), examiner: Examines | None = None, **given: object,
) -> list[list[Message]]:  # fmt: skip
    """Return what a judge tells of each page, the first of which is message 7 of its partition."""
    with TemporaryDirectory() as directory:
        data = data or Path(directory)
        usual = {"data": data, "streams": {"partitions": 3}, "fetch": {"max_bytes": 100_000}}
        with a_runtime(Settings.model_validate(usual | given)) as runtime, disk(data) as rows:
            judge = judge_of(runtime, hearing(**asked), judges, keep)
            judge.examiner = examiner or judge.examiner
            shard, messages = rows.shard(DuplicateRow, PAGES, 1), []
            for offset, page in enumerate(pages, 7):
                take_in(judge, shard, offset, encode(page) if isinstance(page, FetchedPage) else page)
                messages.append(shard.take())
            return messages


def buried(messages: list[Message]) -> DeadLetter:
    (value,) = [value for topic, _, _, value in messages if topic == DEAD_LETTERS.name]
    return Decoder[DeadLetter](DeadLetter)(value or b"")


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    return told(a_page())[0]


def test_an_outcome_says_what_was_found_and_why_the_page_was_fetched(messages: list[Message]) -> None:
    (outcome,) = [message for message in messages if message[0] == OUTCOMES.name]
    assert outcome[:3] == ("outcomes", partition_of(URL, 3), URL.encode())
    read: dict[str, Any] = json.loads(outcome[3] or b"")
    expected = {
        "version": 1, "url": URL, "time": NOW, "title": "Skiing in the Alps", "predicate": "alps",
        "verdict": {"alps": True, "sea": False}, "policy": "linkage", "explored": True, "probability": 0.25,
        "priority": 1.5, "expected": None, "depth": 3, "origin": "pages/1@7", "later": False,
        "requests": 0,
    }  # fmt: skip
    assert {name: read[name] for name in expected} == expected
    assert read.keys() == expected.keys() | {"words", "links"}
    assert set(read["words"]) >= {"skiing", "alps", "snow"}
    links = ["http://a.org/snow", "http://b.org/", "http://c.org/", "http://d.org/"]
    assert [link[0] for link in read["links"]] == links


def test_each_partition_hears_of_its_own_links_and_of_who_else_has_some(messages: list[Message]) -> None:
    (outcome,) = outcomes(messages)
    linked = [(partition, fact) for partition, fact in emitted(messages, SIGHTINGS) if isinstance(fact, Linked)]
    assert len(linked) > 1
    partitions = tuple(sorted(partition for partition, _ in linked))
    for partition, fact in linked:
        assert {partition_of(host(link.url), 3) for link in fact.links} == {partition}
        assert (fact.page, fact.url, fact.depth) == (identifier(URL), URL, 3)
        assert (fact.verdict, fact.words, fact.partitions) == (outcome.verdict, outcome.words, partitions)
    heard = sorted((link for _, fact in linked for link in fact.links), key=lambda link: link.position)
    assert tuple(heard) == outcome.links


def test_the_verdict_goes_to_the_partition_of_the_pages_host(messages: list[Message]) -> None:
    verdicts = [found for found in emitted(messages, SIGHTINGS) if isinstance(found[1], Fetched)]
    verdict, words = {"alps": True, "sea": False}, outcomes(messages)[0].words
    expected = end(Came(verdict, words, "skiing skiing in the alps"))
    assert verdicts == [(partition_of("a.org", 3), expected)]


@each_case("changed", [{"frontier": {"policy": "combined"}}, {"learn": {"semantic": ""}}])
def test_without_word_meanings_nobody_hears_what_the_page_is_about(changed: dict[str, Any]) -> None:
    (fact,) = [fact for fact in sent(told(a_page(), **changed)[0]) if isinstance(fact, Fetched)]
    assert fact.result.subject == ""  # type: ignore[union-attr]


def failing(page: Page) -> list[str]:
    raise OSError("no model")


def test_a_judge_of_categories_that_fails_is_a_dead_letter_and_the_other_predicates_judge() -> None:
    (messages,) = told(a_page(), asked=ALPS | {"sport": 'category("Sport")'}, judges=[failing])
    assert [outcome.verdict for outcome in outcomes(messages)] == [{"alps": True}]
    letter = buried(messages)
    assert (letter.topic, letter.partition, letter.offset) == (PAGES.name, 1, 7)
    assert letter.reason == "the judge of categories failed: OSError: no model"


def test_a_near_duplicate_is_refused_by_the_name_of_its_original_and_teaches_nothing() -> None:
    original, messages = told(a_page(LONG), a_copy())
    assert outcomes(original)
    assert {message[0] for message in messages} == {SIGHTINGS.name}
    refusal = end(Missing("unfit", f"near-duplicate of {URL}", barren=True), url="http://b.org/copy")
    assert emitted(messages, SIGHTINGS) == [(partition_of("b.org", 3), refusal)]


@each_case(("first", "second", "refused"), [(0.01, 0.2, False), (0.2, 0.01, True)])
def test_a_mirror_is_the_copy_however_early_it_came(first: float, second: float, refused: bool) -> None:
    _, messages = told(a_page(LONG, ordered={"vouched": first}), a_copy(vouched=second))
    failed = [fact.result for fact in sent(messages) if isinstance(getattr(fact, "result", None), Missing)]
    assert failed == [Missing("unfit", f"near-duplicate of {URL}")] * refused


def test_pages_that_come_again_after_a_crash_give_the_same_messages(tmp_path: Path) -> None:
    pages = (a_page(LONG), a_copy(), a_page(LONG), a_copy("http://c.org/other"))
    with a_runtime(Settings(data=tmp_path)) as runtime, disk(tmp_path) as rows:
        judge = judge_of(runtime, hearing(**ALPS))

        def run(numbers: range, *, written: bool) -> list[list[Message]]:
            shard, messages = rows.shard(DuplicateRow, PAGES, 1), []
            for number in numbers:
                take_in(judge, shard, number, encode(pages[number]))
                messages.append(shard.take())
            if written:
                write(shard)
            return messages

        once = run(range(4), written=False)
        assert run(range(2), written=True) == once[:2]
        assert rows.shard(DuplicateRow, PAGES, 1).mark.offset >= 1
        assert run(range(2, 4), written=True) == once[2:]
    assert [len(sent(messages)) for messages in once] == [2, 1, 2, 1]


AGAIN = Revisit(Version('"7"'), 900.0, again=True, verdict={"alps": True})


@each_case(
    ("body", "kind", "missing"),
    [
        (b"%PDF-1.4\n...", "text/html", Missing("unfit", "pdf: it is broken")),
        (b"GIF89a\1\0\1", "", Missing("unfit", "not HTML or text: GIF image")),
        (b"<title>404 Not Found</title>Sorry.", "",
         Missing("gone", "soft 404: the page says that there is none", barren=True)),
        (b"<meta name=scentline content=none>x <a href=/x>x</a>", "",
         Missing("refused", "the page asks not to be indexed")),
    ],
)  # fmt: skip
def test_what_is_no_page_to_be_judged_is_refused_and_why(body: bytes, kind: str, missing: Missing) -> None:
    visits: dict[Visit, Revisit | None] = {"first": None, "again": AGAIN, "links": Revisit()}
    pages = [a_page(body, kind, ordered={"revisit": revisit}) for revisit in visits.values()]
    for messages, visit in zip(told(*pages), visits, strict=True):
        assert {message[0] for message in messages} == {SIGHTINGS.name}
        assert emitted(messages, SIGHTINGS) == [(partition_of("a.org", 3), end(missing, visit=visit))]


def test_links_are_not_followed_where_the_head_of_the_response_says_so() -> None:
    assert [type(fact) for fact in sent(told(a_page(nofollow=True))[0])] == [Fetched]


#: A body of a few kilobytes that grows to 64 MB: the size stated, and not.
STATED, _STREAM = pack(b"<p>snow " * 8_000_000), zstandard.ZstdCompressor().compressobj()
UNSTATED = _STREAM.compress(b"<p>snow " * 8_000_000) + _STREAM.flush()


@each_case(
    ("page", "why"),
    [
        (b"not a record", "not a FetchedPage"),
        (b"", "not a FetchedPage"),
        (encode(a_page()).replace(b"\x01", b"\x09", 1), "unknown version 9, expected 1"),
        (a_page(body=b"not compressed"), "can't be decompressed"),
        (a_page(body=pack(b"x" * 5000)[:-3]), "can't be decompressed"),
        (a_page(body=STATED), "its body has more than 100000 bytes"),
        (a_page(body=UNSTATED), "body"),
    ],
)
def test_what_can_t_be_read_is_no_page_and_the_reason_says_why(page: FetchedPage | bytes, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        told(page)


def test_a_page_that_takes_too_long_is_buried_and_refused_in_a_way_that_lets_a_later_verdict_count() -> None:
    class Fails:
        async def examine(self, question: Question) -> Examined:
            raise PageError("too long")

    (messages,) = told(a_page(), examiner=Fails())
    assert buried(messages).reason == "too long"
    assert emitted(messages, SIGHTINGS) == [(partition_of("a.org", 3), end(Missing("failed", "too long")))]
    (told_of,) = [value for topic, _, _, value in messages if topic == SIGHTINGS.name]
    # Without a source: who has taken it in has seen no origin of this page, and passes nothing over.
    assert Decoder[SightingPack](SightingPack)(told_of or b"").source == ""


# visited again

NEWS = b"""<html><head><title>News of the alps</title></head><body>
<a href="/news/1">one</a> <a href="http://b.org/">two</a></body></html>"""
A, B = partition_of("a.org", 3), partition_of("b.org", 3)


def test_a_page_visited_for_its_links_tells_these_and_teaches_nothing(tmp_path: Path) -> None:
    page = a_page(NEWS, ordered={"revisit": Revisit(Version('"7"'), 900.0)})
    (messages,) = told(page, data=tmp_path, keep="all", frontier={"mode": "instant"})
    assert {message[0] for message in messages} == {SIGHTINGS.name}
    *relisted, last = sent(messages)
    assert all(fact.visit == "links" and not fact.judged for fact in relisted)
    assert {link.url for fact in relisted for link in fact.links} == {"http://a.org/news/1", "http://b.org/"}
    assert {(fact.url, fact.depth, fact.time, fact.since) for fact in relisted} == {(URL, 3, NOW, 900.0)}
    assert last == end(Came({}, version=Version('"8"'), changed=True), visit="links")
    assert not (tmp_path / "kept").exists()


def visited(data: Path, page: FetchedPage) -> tuple[list[Message], dict[int, Linked], Came]:
    """Return what is told of a page by a judge that keeps pages, the links by partition, and what came last."""
    data.mkdir()
    (messages,) = told(page, data=data, asked=ALPS, keep="all", frontier={"revisit": 0.5})
    *linked, (partition, own) = emitted(messages, SIGHTINGS)
    assert (partition, own) == (A, end(own.result, visit=page.order.visit))
    return messages, dict(linked), own.result


def again(data: Path, body: bytes, known: Revisit) -> tuple[list[Message], dict[int, Linked], Came]:
    return visited(data, a_page(body, ordered={"revisit": known}))


@pytest.fixture
def known(tmp_path: Path) -> Revisit:
    _, _, own = visited(tmp_path / "first", a_page(NEWS))
    assert (own.changed, own.version, own.title) == (False, Version('"8"'), "News of the alps")
    assert own.partitions == tuple(sorted({A, B}))
    told = own.verdict, own.content, own.links, own.partitions
    return Revisit(own.version, NOW, True, *told, judged=NOW)


def test_of_a_page_that_is_as_it_was_its_own_partition_hears_alone(tmp_path: Path, known: Revisit) -> None:
    known.verdict["removed"] = True  # by a predicate that judges no more
    messages, linked, own = again(tmp_path / "again", NEWS.replace(b"<body>", b"<body>22 November "), known)
    assert (outcomes(messages), linked) == ([], {})
    assert (own.changed, own.verdict, own.partitions) == (False, {"alps": True}, known.partitions)
    assert not changed(known.content, own.content)
    assert own.links == known.links
    assert not (tmp_path / "again" / "kept").exists()


@pytest.mark.parametrize(
    ("body", "change"),
    [
        pytest.param(NEWS.replace(b"two", b"three"), {}, id="text"),
        pytest.param(NEWS.replace(b"/news/1", b"/news/2"), {}, id="links"),
        pytest.param(NEWS, {"verdict": {"alps": False}}, id="verdict"),
        pytest.param(NEWS, {"verdict": {}}, id="another predicate"),
        pytest.param(NEWS, {"links": b""}, id="judged before pages were visited again"),
        pytest.param(NEWS, {"judged": NOW - RENEWED}, id="long ago"),
    ],
)
def test_all_hear_of_a_changed_page(
    tmp_path: Path, known: Revisit, body: bytes, change: dict[str, Any]
) -> None:
    messages, linked, own = again(tmp_path / "again", body, replace(known, **change, partitions=(0,)))
    (outcome,) = outcomes(messages)
    assert (outcome.again, outcome.verdict, outcome.time, outcome.later) == (True, {"alps": True}, NOW, False)
    expected = tuple(sorted({0, A, B}))
    assert len(expected) > len(known.partitions)
    assert tuple(linked) == own.partitions == expected
    for partition, fact in linked.items():
        said = ("again", {"alps": True}, expected, NOW)
        assert (fact.visit, fact.verdict, fact.partitions, fact.time) == said
        assert {partition_of(host(link.url), 3) for link in fact.links} <= {partition}
    assert {link for fact in linked.values() for link in fact.links} == set(outcome.links)
    assert (own.changed, own.words) == (True, outcome.words)
    assert (tmp_path / "again" / "kept").exists()


def kept_records(data: Path) -> list[tuple[str, str, str, str]]:
    """Return type, date, and of revisits profile and the date referred to, of each kept record."""
    names = ("WARC-Date", "WARC-Profile", "WARC-Refers-To-Date")
    found = []
    for path in files(data / "kept"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                date, profile, refers = (record.rec_headers.get_header(name) or "" for name in names)
                found.append((record.rec_type, date, profile.rpartition("/")[2], refers))
                record.content_stream().read()
    return found


def test_of_a_kept_page_that_is_as_it_was_a_revisit_is_kept(tmp_path: Path, known: Revisit) -> None:
    known = replace(known, judged=900.0)
    date, before = date_of(NOW), date_of(900.0)
    again(tmp_path / "same", NEWS, known)
    assert kept_records(tmp_path / "same") == [("revisit", date, "identical-payload-digest", before)]
    again(tmp_path / "alike", NEWS + b" 22 November", known)
    assert kept_records(tmp_path / "alike") == []
    unmodified = a_page(ordered={"revisit": known}, status=304, body=b"")
    (tmp_path / "unmodified").mkdir()
    assert told(unmodified, data=tmp_path / "unmodified", keep="all", frontier={"revisit": 0.5}) == [[]]
    assert kept_records(tmp_path / "unmodified") == [("revisit", date, "server-not-modified", before)]


def test_what_a_judge_that_failed_could_not_tell_is_as_it_was(tmp_path: Path) -> None:
    known = replace(AGAIN, verdict={"sport": True, "alps": False, "removed": True})
    asked = {"sport": 'category("Sport")', "alps": '"alps"', "new": 'category("New")'}
    settings = Settings.model_validate({"data": tmp_path, "frontier": {"revisit": 0.5}})
    question = Question(encode(a_page(ordered={"revisit": known})), asked)
    examined = Examiner(Work.of(settings), [failing]).examined(question)
    assert examined.failure is not None
    assert examined.verdict == {"sport": True, "alps": True}


def test_a_page_is_no_near_duplicate_of_what_it_was_and_copies_are_of_what_it_is() -> None:
    before, now = (
        b"<body><p>" + " ".join(f"{word}{chr(97 + n % 26)}{n}" for n in range(200)).encode()
        for word in ("snow", "rain")
    )
    visit = a_page(now, ordered={"revisit": replace(AGAIN, content=b"another")})
    copies = a_page(before, url=f"{URL}/before"), a_page(now, url=f"{URL}/now")
    _, _, *messages = told(a_page(before), visit, *copies, frontier={"revisit": 0.5})
    assert [type(sent(each)[-1].result) for each in messages] == [Came, Missing]
