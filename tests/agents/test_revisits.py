"""A page that is fetched again: asked for another version only, read for its links, and judged no more."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from agents.fetch.agent import FetchAgent
from agents.fetch.client import Client
from agents.fetch.result import Failure, Fetched, Result, Unchanged, Validators
from agents.judge.agent import JudgeAgent
from agents.judge.duplicates import DuplicateRow
from agents.judge.predicates import Predicates
from streams.records import (
    Decoder,
    FetchedPage,
    FetchOrder,
    Judged,
    PredicateDefinition,
    Relisted,
    Revisit,
    Revisited,
    SightingPack,
    Version,
    encode,
)
from streams.runtime import Runtime
from streams.settings import Settings
from streams.topics import PAGES, SIGHTINGS
from tests.agents.judging import judge_of, take_in
from tests.agents.loopback import Answer, Request, fixed, serving, untimed
from tests.agents.loopback import settings as fetch_settings
from tests.agents.shards import a_runtime, disk, emitted, journal_of
from tests.agents.test_fetch_agent import Event

NOW = 1000.0
URL = "http://a.org/"
KNOWN = Version('"7"', "Thu, 01 Jan 1970 00:01:40 GMT")
HTML = b"""<html><head><title>News of the alps</title></head><body>
<a href="/news/1">one</a> <a href="http://b.org/">two</a></body></html>"""


def order(url: str = URL, revisit: Revisit | None = None) -> FetchOrder:
    return FetchOrder(
        url=url, order=3, predicate="", policy="instant", explored=False, probability=1.0, priority=0.0,
        depth=2, lease=NOW + 60, revisit=revisit,
    )  # fmt: skip


# the web


def fetched(answer: Answer, known: Validators) -> tuple[Result, Request]:
    async def run() -> tuple[Result, Request]:
        async with serving(answer) as server, Client(fetch_settings(), lambda: NOW) as client:
            return untimed(await client.fetch(f"{server.origin}/", known)), server.requests[0]

    return asyncio.run(run())


def test_a_known_version_is_not_fetched_again() -> None:
    result, request = fetched(fixed(b"", "304 Not Modified"), Validators(*msgspec.structs.astuple(KNOWN)))
    assert isinstance(result, Unchanged)
    assert request.headers["if-none-match"] == KNOWN.etag
    assert request.headers["if-modified-since"] == KNOWN.last_modified


def test_another_version_is_fetched() -> None:
    result, _ = fetched(fixed(b"new"), Validators('"7"'))
    assert isinstance(result, Fetched)


def test_a_304_that_nobody_asked_for_is_no_page() -> None:
    result, request = fetched(fixed(b"", "304 Not Modified"), Validators())
    assert isinstance(result, Failure)
    assert "if-none-match" not in request.headers


# the fetch agent


def answered(tmp_path: Path, answer: Answer) -> tuple[list[Any], list[FetchedPage], str]:
    """Have a revisit answered; return the sightings and pages that come of it, and the URL."""
    fetch = {"allow": ("127.0.0.1",), "robots": False, "delay_seconds": 0.0}
    settings = Settings.model_validate({"data": tmp_path / "data", "fetch": fetch})

    async def run() -> tuple[list[Any], list[FetchedPage], str]:
        with a_runtime(settings, NOW) as runtime:
            async with serving(answer) as server, Client(settings.fetch, lambda: NOW) as client:
                agent = FetchAgent(runtime, client, journal_of(runtime))
                url = f"{server.origin}/"
                await agent._slots.acquire()
                await agent._answer(Event(encode(order(url, Revisit(KNOWN, 900.0)))))
                journal = journal_of(runtime)
                packs = [entry.value or b"" for entry in journal.read(SIGHTINGS.name, 0, 0, 10)]
                pages = [entry.value or b"" for entry in journal.read(PAGES.name, 0, 0, 10)]
                decode, decode_page = Decoder[SightingPack](SightingPack), Decoder[FetchedPage](FetchedPage)
                facts = [fact for pack in packs for _, _, fact in decode(pack).facts]
                return facts, [decode_page(value) for value in pages], url

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (fixed(b"", "304 Not Modified"), {"outcome": "unchanged"}),
        (fixed(b"", "404 Not Found"), {"outcome": "failed"}),
        (fixed(b"", "503 Busy", retry_after="90"), {"outcome": "retry", "wait": 90.0, "overloaded": True}),
        (fixed(b"", "301 Moved", location="http://b.org/"), {"outcome": "moved", "target": "http://b.org/"}),
        (fixed(b"", "302 Found", location="http://b.org/"), {"outcome": "failed", "target": "http://b.org/"}),
    ],
    ids=["unchanged", "gone", "overloaded", "moved", "elsewhere for now"],
)
def test_a_revisit_without_a_page_is_told_to_the_frontier_alone(
    tmp_path: Path, answer: Answer, told: dict[str, Any]
) -> None:
    (fact,), pages, url = answered(tmp_path, answer)
    assert pages == []
    expected = Revisited(url, 3, time=NOW, **told)
    assert msgspec.structs.replace(fact, elapsed=0.0) == expected


def test_a_revisit_with_a_page_goes_to_the_judge(tmp_path: Path) -> None:
    facts, (page,), url = answered(tmp_path, fixed(HTML, etag='"8"'))
    assert facts == []
    assert page.order == order(url, Revisit(KNOWN, 900.0))
    assert page.headers["etag"] == '"8"'


# the judge


def a_page(body: bytes = HTML, revisit: Revisit | None = None) -> FetchedPage:
    headers = {"content-type": "text/html", "etag": '"8"'}
    compressed = zstandard.ZstdCompressor().compress(body)
    return FetchedPage(
        order=order(revisit=revisit), status=200, headers=headers, body=compressed, time=NOW, elapsed=0
    )


def judged(tmp_path: Path, page: FetchedPage, mode: str = "instant") -> tuple[set[str], list[Any]]:
    """Return the topics that a page gives rise to, and the sightings."""
    given = {"data": tmp_path, "streams": {"partitions": 3}, "frontier": {"mode": mode}}
    with a_runtime(Settings.model_validate(given)) as runtime, disk(tmp_path) as rows:
        judge = a_judge(runtime)
        shard = rows.shard(DuplicateRow, PAGES, 0)
        take_in(judge, shard, 7, encode(page))
        messages = shard.outbox.take()
    return {message[0] for message in messages}, [fact for _, fact in emitted(messages, SIGHTINGS)]


def a_judge(runtime: Runtime) -> JudgeAgent:
    predicates = Predicates()
    definition = PredicateDefinition(name="alps", expression='"alps"')
    predicates.hear(b"alps", msgspec.json.encode(definition))
    return judge_of(runtime, predicates, keep="all")


def test_a_revisited_page_tells_its_links_and_teaches_nothing(tmp_path: Path) -> None:
    topics, facts = judged(tmp_path, a_page(revisit=Revisit(KNOWN, 900.0)))
    assert topics == {SIGHTINGS.name}
    relisted = {fact for fact in facts if isinstance(fact, Relisted)}
    assert {url for fact in relisted for url in fact.links} == {f"{URL}news/1", "http://b.org/"}
    assert {(fact.url, fact.depth, fact.time, fact.since) for fact in relisted} == {(URL, 2, NOW, 900.0)}
    assert facts[-1] == Revisited(URL, 3, "changed", NOW, version=Version('"8"'))
    assert not (tmp_path / "kept").exists()


def test_a_revisited_page_that_is_none_any_more_has_failed(tmp_path: Path) -> None:
    missing = (
        b"<html><head><title>404 Not Found</title></head><body>Page not found <a href=/1>1</a></body></html>"
    )
    _, facts = judged(tmp_path, a_page(missing, Revisit(KNOWN, 900.0)))
    assert [(type(fact), fact.outcome) for fact in facts] == [(Revisited, "failed")]


@pytest.mark.parametrize(("mode", "version"), [("instant", Version('"8"')), ("crawl", None)])
def test_the_version_of_a_judged_page_is_told_where_pages_are_revisited(
    tmp_path: Path, mode: str, version: Version | None
) -> None:
    _, facts = judged(tmp_path, a_page(), mode)
    assert [fact.version for fact in facts if isinstance(fact, Judged)] == [version]
