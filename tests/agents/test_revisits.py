"""A page that is fetched again: asked for another version only, read for its links, or judged again."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.fetch.agent import QUARANTINED, FetchAgent
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.result import Failure, Unchanged, Validators
from scentline.agents.fetch.revisits import unread
from scentline.agents.judge.agent import JudgeAgent
from scentline.agents.judge.duplicates import DuplicateRow
from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.keep.records import date_of
from scentline.agents.judge.keep.store import files
from scentline.agents.judge.predicates import Predicates
from scentline.agents.judge.question import Question, Work
from scentline.models.page import Page
from scentline.models.revisit.content import changed
from scentline.models.url import host
from scentline.models.verdict import Verdict
from scentline.streams.facts import Failed, Judged, Linked, Relisted, Revisited, SightingPack
from scentline.streams.outbox import Message
from scentline.streams.published import Outcome, PredicateDefinition
from scentline.streams.records import Decoder, FetchedPage, FetchOrder, Revisit, Version, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import PAGES, RENEWED, SIGHTINGS, partition_of
from tests.agents.judging import judge_of, take_in
from tests.agents.loopback import Answer, awaited, fixed, serving
from tests.agents.loopback import settings as fetch_settings
from tests.agents.shards import a_runtime, disk, emitted, journal_of
from tests.agents.test_fetch_agent import Event
from tests.cases import each_case

NOW = 1000.0
URL = "http://a.org/"
KNOWN = Version('"7"', "Thu, 01 Jan 1970 00:01:40 GMT")
FOR_LINKS = Revisit(KNOWN, 900.0)
AGAIN = Revisit(KNOWN, 900.0, again=True, verdict={"alps": True})
ELSEWHERE = {"outcome": "failed", "target": "http://b.org/", "reason": "redirect for now"}
HTML = b"""<html><head><title>News of the alps</title></head><body>
<a href="/news/1">one</a> <a href="http://b.org/">two</a></body></html>"""


def order(url: str = URL, revisit: Revisit | None = None) -> FetchOrder:
    return FetchOrder(
        url=url, order=3, predicate="", policy="instant", explored=False, probability=1.0, priority=0.0,
        depth=2, lease=NOW + 60, revisit=revisit,
    )  # fmt: skip


# the web


@awaited
async def test_a_known_version_is_not_fetched_again() -> None:
    known = Validators(*msgspec.structs.astuple(KNOWN))
    async with serving(UNCHANGED) as server, Client(fetch_settings(), lambda: NOW) as client:
        assert isinstance(await client.fetch(f"{server.origin}/", known), Unchanged)
        assert isinstance(await client.fetch(f"{server.origin}/"), Failure), "nobody asked for a 304"
    asked, plain = (request.headers for request in server.requests)
    assert (asked["if-none-match"], asked["if-modified-since"]) == (KNOWN.etag, KNOWN.last_modified)
    assert "if-none-match" not in plain


# the fetch agent


def answered(
    tmp_path: Path, answer: Answer, revisit: Revisit = FOR_LINKS, *, robots: bool = False, keep: str = "matches"
) -> tuple[list[Any], list[FetchedPage], str]:
    """Have a revisit answered; return the sightings and pages that come of it, and the URL."""
    fetch = {"allow": ("127.0.0.1",), "robots": robots, "delay_seconds": 0.0, "max_bytes": 10_000}
    settings = Settings.model_validate({"data": tmp_path / "data", "fetch": fetch, "keep": {"pages": keep}})

    async def run() -> tuple[list[Any], list[FetchedPage], str]:
        with a_runtime(settings, NOW) as runtime:
            async with serving(answer) as server, Client(settings.fetch, lambda: NOW) as client:
                agent = FetchAgent(runtime, client, journal_of(runtime))
                url = f"{server.origin}/"
                await agent._slots.acquire()
                event = Event(encode(order(url, revisit)))
                await agent._answer(event, agent._given(event))
                journal = journal_of(runtime)
                packs = [entry.value or b"" for entry in journal.read(SIGHTINGS.name, 0, 0, 10)]
                pages = [entry.value or b"" for entry in journal.read(PAGES.name, 0, 0, 10)]
                decode, decode_page = Decoder[SightingPack](SightingPack), Decoder[FetchedPage](FetchedPage)
                facts = [fact for pack in packs for _, _, fact in decode(pack).facts]
                return facts, [decode_page(value) for value in pages], url

    return asyncio.run(run())


UNCHANGED, MISSING = fixed(b"", "304 Not Modified"), fixed(b"", "404 Not Found")
BUSY = fixed(b"", "503 Busy", retry_after="90")
RETRY = {"outcome": "retry", "wait": 90.0, "overloaded": True, "reason": "status 503"}
MOVED = fixed(b"", "308 Moved", location="http://b.org/")
FOR_NOW = fixed(b"", "302 Found", location="http://b.org/")


@pytest.mark.parametrize(
    ("revisit", "answer", "told"),
    [
        (FOR_LINKS, UNCHANGED, {"outcome": "unchanged"}),
        (FOR_LINKS, MISSING, {"outcome": "failed", "reason": "status 404"}),
        (FOR_LINKS, BUSY, RETRY),
        (FOR_LINKS, MOVED, {"outcome": "moved", "target": "http://b.org/"}),
        (FOR_LINKS, FOR_NOW, ELSEWHERE),
        (AGAIN, UNCHANGED, {"outcome": "unchanged"}),
        (AGAIN, MISSING, {"outcome": "gone", "reason": "status 404"}),
        (AGAIN, fixed(b"x", content_type="image/png"), {"outcome": "gone", "reason": "content type image/png"}),
        (AGAIN, fixed(b"x" * 20_000), {"outcome": "gone", "reason": "body over 10000 bytes"}),
        (AGAIN, fixed(b"x", x_robots_tag="noindex"), {"outcome": "refused", "reason": "X-Robots-Tag noindex"}),
        (AGAIN, BUSY, RETRY),
        (AGAIN, MOVED, {"outcome": "moved", "target": "http://b.org/"}),
        (AGAIN, FOR_NOW, ELSEWHERE),
    ],
)
def test_a_revisit_without_a_page_is_told_to_the_frontier_alone(
    tmp_path: Path, revisit: Revisit, answer: Answer, told: dict[str, Any]
) -> None:
    (fact,), pages, url = answered(tmp_path, answer, revisit, keep="none")
    assert pages == []
    expected = Revisited(url, 3, time=NOW, again=revisit.again, **told)
    assert msgspec.structs.replace(fact, elapsed=0.0) == expected


@pytest.mark.parametrize(
    ("verdict", "keep", "kept"),
    [({"alps": True}, "matches", True), ({"alps": False}, "matches", False), ({}, "all", True)],
)
def test_whoever_keeps_pages_hears_of_a_kept_one_that_is_as_it_was(
    tmp_path: Path, verdict: Verdict, keep: str, kept: bool
) -> None:
    revisit = msgspec.structs.replace(AGAIN, verdict=verdict)
    (fact,), pages, url = answered(tmp_path, fixed(b"", "304 Not Modified"), revisit, keep=keep)
    assert fact.outcome == "unchanged"
    assert [(page.order, page.status, page.body, page.time) for page in pages] == (
        [(order(url, revisit), 304, b"", fact.time)] if kept else []
    )


def test_a_page_that_robots_txt_forbids_now_is_refused(tmp_path: Path) -> None:
    (_, fact), pages, _ = answered(tmp_path, fixed(b"User-agent: *\nDisallow: /"), AGAIN, robots=True)
    assert pages == []
    assert (fact.outcome, fact.reason, fact.elapsed) == ("refused", "robots.txt", 0.0)


@each_case("reason", [QUARANTINED, "contact missing in fetch.user_agent", "error KeyError"])
def test_what_this_crawler_is_to_blame_for_takes_no_page_out(reason: str) -> None:
    told = unread(order(revisit=AGAIN), Failure("refused", reason), NOW, overloaded=False)
    assert (told.outcome, told.reason) == ("failed", reason)


# the judge


def a_page(body: bytes = HTML, revisit: Revisit | None = None) -> FetchedPage:
    headers = {"content-type": "text/html", "etag": '"8"'}
    compressed = zstandard.ZstdCompressor().compress(body)
    return FetchedPage(
        order=order(revisit=revisit), status=200, headers=headers, body=compressed, time=NOW, elapsed=0
    )


def told(tmp_path: Path, page: FetchedPage, frontier: dict[str, Any]) -> list[Message]:
    """Return what a judge tells of a page."""
    given = {"data": tmp_path, "streams": {"partitions": 3}, "frontier": frontier}
    with a_runtime(Settings.model_validate(given)) as runtime, disk(tmp_path) as rows:
        judge = a_judge(runtime)
        shard = rows.shard(DuplicateRow, PAGES, 0)
        take_in(judge, shard, 7, encode(page))
        return shard.outbox.take()


def a_judge(runtime: Runtime) -> JudgeAgent:
    predicates = Predicates()
    definition = PredicateDefinition(name="alps", expression='"alps"')
    predicates.hear(b"alps", msgspec.json.encode(definition))
    return judge_of(runtime, predicates, keep="all")


def test_a_revisited_page_tells_its_links_and_teaches_nothing(tmp_path: Path) -> None:
    messages = told(tmp_path, a_page(revisit=Revisit(KNOWN, 900.0)), {"mode": "instant"})
    facts = [fact for _, fact in emitted(messages, SIGHTINGS)]
    assert {message[0] for message in messages} == {SIGHTINGS.name}
    relisted = {fact for fact in facts if isinstance(fact, Relisted)}
    assert {url for fact in relisted for url in fact.links} == {f"{URL}news/1", "http://b.org/"}
    assert {(fact.url, fact.depth, fact.time, fact.since) for fact in relisted} == {(URL, 2, NOW, 900.0)}
    assert facts[-1] == Revisited(URL, 3, "changed", NOW, version=Version('"8"'))
    assert not (tmp_path / "kept").exists()


# the judge, again


def again(tmp_path: Path, body: bytes, revisit: Revisit) -> tuple[list[Outcome], dict[int, Linked], Any]:
    """Return the outcomes and links that are told of a page judged again, and what its partition is told."""
    tmp_path.mkdir()
    messages = told(tmp_path, a_page(body, revisit), {"revisit": 0.5})
    outcomes = [
        msgspec.json.decode(value or b"", type=Outcome)
        for topic, _, _, value in messages
        if topic == "outcomes"
    ]
    facts = emitted(messages, SIGHTINGS)
    (own,) = [fact for _, fact in facts if not isinstance(fact, Linked)]
    assert facts[-1] == (partition_of("a.org", 3), own)
    return outcomes, {partition: fact for partition, fact in facts if isinstance(fact, Linked)}, own


def first(tmp_path: Path) -> Revisit:
    """Return what is known of a page once it was judged."""
    (own,) = [
        fact
        for _, fact in emitted(told(tmp_path, a_page(), {"revisit": 0.5}), SIGHTINGS)
        if isinstance(fact, Judged)
    ]
    assert (own.again, own.changed, own.version, own.title) == (0, False, Version('"8"'), "News of the alps")
    assert own.partitions == tuple(sorted({partition_of("a.org", 3), partition_of("b.org", 3)}))
    known = own.verdict, own.content, own.links, own.partitions
    return Revisit(own.version, own.time, True, *known, judged=own.time)


def test_of_a_page_that_is_as_it_was_its_own_partition_hears_alone(tmp_path: Path) -> None:
    known = first(tmp_path)
    known.verdict["removed"] = True  # by a predicate that judges no more
    outcomes, linked, own = again(tmp_path / "again", HTML.replace(b"<body>", b"<body>22 November "), known)
    assert (outcomes, linked) == ([], {})
    assert (own.again, own.changed, own.verdict, own.partitions) == (3, False, {"alps": True}, known.partitions)
    assert not changed(known.content, own.content)
    assert (own.links, own.time) == (known.links, NOW)
    assert not (tmp_path / "again" / "kept").exists()


@pytest.mark.parametrize(
    ("body", "change"),
    [
        (HTML.replace(b"two", b"three"), {}),
        (HTML.replace(b"/news/1", b"/news/2"), {}),
        (HTML, {"verdict": {"alps": False}}),
        (HTML, {"verdict": {}}),
        (HTML, {"links": b""}),
        (HTML, {"judged": NOW - RENEWED}),
    ],
    ids=["text", "links", "verdict", "another predicate", "judged before pages were visited again", "long ago"],
)
def test_a_page_with_another_text_other_links_or_another_verdict_is_told_of_to_all_who_knew_it(
    tmp_path: Path, body: bytes, change: dict[str, Any]
) -> None:
    known = msgspec.structs.replace(first(tmp_path), **change, partitions=(2,))
    (outcome,), linked, own = again(tmp_path / "again", body, known)
    assert (outcome.again, outcome.verdict, outcome.time, outcome.later) == (True, {"alps": True}, NOW, False)
    expected = tuple(sorted({2, partition_of("a.org", 3), partition_of("b.org", 3)}))
    assert tuple(linked) == own.partitions == expected
    for partition, fact in linked.items():
        assert (fact.again, fact.verdict, fact.partitions, fact.time) == (True, {"alps": True}, expected, NOW)
        assert {partition_of(host(link.url), 3) for link in fact.links} <= {partition}
    assert {link for fact in linked.values() for link in fact.links} == set(outcome.links)
    assert (own.again, own.changed, own.words) == (3, True, outcome.words)
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


def test_of_a_kept_page_that_is_as_it_was_a_revisit_is_kept(tmp_path: Path) -> None:
    known = msgspec.structs.replace(first(tmp_path), judged=900.0)
    date, before = date_of(NOW), date_of(900.0)
    again(tmp_path / "same", HTML, known)
    assert kept_records(tmp_path / "same") == [("revisit", date, "identical-payload-digest", before)]
    again(tmp_path / "alike", HTML + b" 22 November", known)
    assert kept_records(tmp_path / "alike") == []
    unchanged = a_page(b"", known)
    unchanged.status, unchanged.body = 304, b""
    (tmp_path / "unmodified").mkdir()
    assert told(tmp_path / "unmodified", unchanged, {"revisit": 0.5}) == []
    assert kept_records(tmp_path / "unmodified") == [("revisit", date, "server-not-modified", before)]


def test_what_a_judge_that_failed_could_not_tell_is_as_it_was(tmp_path: Path) -> None:
    def failing(page: Page) -> list[str]:
        raise KeyError(page.url)

    known = msgspec.structs.replace(AGAIN, verdict={"sport": True, "alps": False, "removed": True})
    asked = {"sport": 'category("Sport")', "alps": '"alps"', "new": 'category("New")'}
    settings = Settings.model_validate({"data": tmp_path, "frontier": {"revisit": 0.5}})
    examined = Examiner(Work.of(settings), [failing]).examined(Question(encode(a_page(revisit=known)), asked))
    assert examined.failure is not None
    assert examined.verdict == {"sport": True, "alps": True}


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (b"<html><head><title>404 Not Found</title></head><body>Page not found", "gone"),
        (b'<html><head><meta name="robots" content="noindex"></head><body>alps', "refused"),
        (b"%PDF-1.4", "gone"),
    ],
    ids=["soft 404", "noindex", "no page"],
)
def test_a_page_that_is_not_to_be_judged_any_more_says_why(tmp_path: Path, body: bytes, outcome: str) -> None:
    outcomes, linked, own = again(tmp_path / "again", body, AGAIN)
    assert (outcomes, linked) == ([], {})
    assert (type(own), own.outcome, own.again, own.url, own.order) == (Revisited, outcome, True, URL, 3)
    assert own.reason


def test_a_page_is_no_near_duplicate_of_what_it_was_and_copies_are_of_what_it_is(tmp_path: Path) -> None:
    before, now = (
        b"<body><p>" + " ".join(f"{word}{chr(97 + n % 26)}{n}" for n in range(200)).encode()
        for word in ("snow", "rain")
    )
    given = {"data": tmp_path, "frontier": {"revisit": 0.5}}
    with a_runtime(Settings.model_validate(given)) as runtime, disk(tmp_path) as rows:
        judge = a_judge(runtime)
        shard = rows.shard(DuplicateRow, PAGES, 0)
        copies = {name: a_page(body) for name, body in (("before", before), ("now", now))}
        take_in(judge, shard, 0, encode(copies["before"]))
        take_in(judge, shard, 1, encode(a_page(now, msgspec.structs.replace(AGAIN, content=b"another"))))
        kinds = {}
        shard.outbox.take()
        for offset, (name, page) in enumerate(copies.items(), 2):
            page.order = order(f"{URL}{name}")
            take_in(judge, shard, offset, encode(page))
            kinds[name] = type(emitted(shard.outbox.take(), SIGHTINGS)[-1][1])
    assert kinds == {"before": Judged, "now": Failed}
