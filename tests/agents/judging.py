"""What tests of fetching and judging share: an order, and a judge agent that examines pages here."""

from collections.abc import Container, Coroutine, Iterator, Sequence
from typing import Any

import msgspec
from warcio.archiveiterator import ArchiveIterator

from bench.fuzz.targets import well_formed
from scentline.agents.judge.agent import JudgeAgent
from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.judges import CategoryJudge
from scentline.agents.judge.kept import KeptPages
from scentline.agents.judge.parse import parse
from scentline.agents.judge.predicates import Predicates
from scentline.agents.judge.question import Examined, Question, Work
from scentline.models.page import Page
from scentline.models.published import PredicateDefinition
from scentline.models.records import FetchOrder
from scentline.models.settings import JudgeSettings
from scentline.models.url import canonical
from scentline.models.words import words
from scentline.streams.inbox import Shard
from scentline.streams.runtime import Runtime
from scentline.streams.settings import KeepSettings
from tests.shared import shared


def an_order(url: str, **changed: Any) -> FetchOrder:
    """Return an order whose lease does not run out, but for what is ``changed``."""
    usual: dict[str, Any] = {
        "order": 2, "predicate": "tea", "policy": "linkage", "explored": False, "probability": 1.0,
        "priority": 1.5, "depth": 3, "lease": 9e9,
    }  # fmt: skip
    return FetchOrder(url=url, **usual | changed)


def hearing(*definitions: PredicateDefinition, **expressions: str) -> Predicates:
    predicates = Predicates()
    named = (PredicateDefinition(name=name, expression=text) for name, text in expressions.items())
    for each in (*definitions, *named):
        predicates.hear(msgspec.json.encode(each))
    return predicates


class Here(Examiner):
    """Examines pages here and now."""

    async def examine(self, question: Question) -> Examined:
        return self.examined(question)


def judge_of(
    runtime: Runtime, predicates: Predicates, judges: Sequence[CategoryJudge] = (), keep: str = "none"
) -> JudgeAgent:
    kept = KeptPages(runtime.settings.data, KeepSettings())
    settings = runtime.settings.model_copy(update={"keep": KeepSettings.model_validate({"pages": keep})})
    return JudgeAgent(runtime, Here(Work.of(settings), judges), predicates, kept)


def take_in(judge: JudgeAgent, shard: Shard[Any], offset: int, value: bytes) -> None:
    """Have the judge take in a message of its inbox; raises `RecordError` for what is no page."""
    examine(judge, value)
    for arrival in shard.accept(offset, judge.read(value)):
        judge.absorb(shard, arrival)


def examine(judge: JudgeAgent, value: bytes) -> None:
    """Have the judge find out about a page, also where an event loop runs: here that waits for nothing."""
    work: Coroutine[Any, Any, None] = judge.examine(value)
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits")


def responses(name: str) -> Iterator[tuple[str, str | None, bytes]]:
    """Yield the URL, the type and the body of each response in an archive of the shared data."""
    with shared(f"{name}/pages.warc.gz").open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                kind = record.http_headers.get_header("content-type") if record.http_headers else None
                yield record.rec_headers.get_header("WARC-Target-URI"), kind, record.content_stream().read()


def archived(name: str, nth: int, named: Container[str] = ()) -> Iterator[Page]:
    """Yield each ``nth`` page of an archive of the shared data, and those ``named``: all are well formed."""
    for number, (address, kind, body) in enumerate(responses(name)):
        url = canonical(address)
        if url is not None and (number % nth == 0 or url.rpartition("/")[2] in named):
            page = parse(url, body, kind, JudgeSettings(), paths=True)
            well_formed(page)
            anchors = {word for link in page.links for word in link.anchor}
            assert name == "webkb" or anchors <= {*words(page.text)}
            yield page
