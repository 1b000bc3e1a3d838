"""What a judge asks of its examiner, and is told.

The answer is a function of a page's message and of what is asked. Both sides import this, and neither what the
other one needs: the judge not what reads pages, its examiner not the settings.
"""

from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from scentline.models.duplicates import NONE, Fingerprint
from scentline.models.errors import ScentlineError
from scentline.models.page import Page
from scentline.models.verdict import Verdict

if TYPE_CHECKING:
    from scentline.streams.crawl_settings import JudgeSettings
    from scentline.streams.settings import Settings


class Work(msgspec.Struct, array_like=True, frozen=True, tag="begin"):
    """By what pages are examined: the settings of `judge` that it takes, and a few more.

    ``most`` bounds the bytes of a body, ``keep`` says which pages are kept, ``agent`` is our product token, and
    ``revisit`` tells that pages are judged again.
    """

    labels: str | None
    classifier: str | None
    python: str | None
    seconds: float
    cpu_seconds: int
    memory_bytes: int
    words: int
    links: int
    context: int
    soft_404: bool
    duplicates: bool
    least_words: int
    most: int
    keep: str
    user_agent: str
    agent: str
    revisit: bool = False

    @classmethod
    def of(cls, settings: "Settings") -> "Work":
        """Return what the settings say of it."""
        # Imported where it is used, which is not in the process of an examiner.
        from scentline.agents.fetch.rules import product

        judge, fetch = settings.judge, settings.fetch
        return cls(
            judge.labels, judge.classifier, judge.python, judge.seconds, judge.cpu_seconds, judge.memory_bytes,
            judge.words, judge.links, judge.context, judge.soft_404, judge.duplicates, judge.least_words,
            fetch.max_bytes, settings.keep.pages, fetch.user_agent, product(fetch.user_agent),
            settings.frontier.revisit > 0,
        )  # fmt: skip


#: What pages are examined by, as it is set or as an examiner is given it.
Judging: TypeAlias = "JudgeSettings | Work"


class Question(msgspec.Struct, array_like=True, frozen=True):
    """A message of `pages`, and the predicates that are asked, each with its expression.

    ``alone`` says that nothing but their verdict is wanted, as of a page that was judged before.
    """

    value: bytes
    asked: dict[str, str]
    alone: bool = False


class Examined(msgspec.Struct, array_like=True, frozen=True):
    """What was found out about a page, which comes without its text.

    A page that is barred or was fetched for its links alone has no verdict. ``failure`` says why a judge of
    categories failed; ``record`` is what is kept of the page, ``unkept`` why nothing is that should be. Where
    pages are judged again, ``content``, ``links`` and ``excerpts`` are those of `streams.facts.Judged`, and
    ``differs`` tells whether a page that was known has another text, other links or another verdict.
    """

    page: Page
    verdict: Verdict = {}
    failure: str | None = None
    fingerprint: Fingerprint = NONE
    record: bytes = b""
    unkept: str = ""
    content: bytes = b""
    links: bytes = b""
    excerpts: dict[str, str] = {}
    differs: bool = True


class PageError(ScentlineError):
    """A page that can't be judged, since it takes too long or too much; the text says what it did."""

    explains_itself = False


class Examines(Protocol):
    """What examines pages."""

    async def examine(self, question: Question) -> Examined:
        """Return what a page is; raises `RecordError` where the message holds none, `PageError`."""
