"""What a policy is to a virtual crawl: something that is told of pages and asked for the next."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

from scentline.models.interest.trace import Trace
from scentline.models.page import Page
from scentline.models.predicate import ANYTHING, Sought

#: Tells whether a host may be asked now.
Ready: TypeAlias = Callable[[str], bool]


def anywhere(host: str) -> bool:
    """Tell that a host may be asked: of each, where no time passes."""
    return True


class Choice(NamedTuple):
    """The next page, the probability of a hit where the policy gives one, and whether chance alone chose it."""

    url: str
    probability: float | None = None
    explored: bool = False


class Task(NamedTuple):
    """What a policy is set to: ``keywords``, and what is ``sought``, are the predicate's.

    ``trace`` is the log, known from the start; ``random`` the policy's own source of chance.
    """

    keywords: tuple[str, ...]
    trace: Trace
    random: Random
    sought: Sought = ANYTHING


class Crawler(Protocol):
    """One policy at work for one predicate."""

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate to start from."""

    def judged(self, page: Page, holds: bool) -> None:
        """Take in a page that came and whether it satisfies the predicate; each URL once."""

    def failed(self, url: str) -> None:
        """Take in that a request brought no page; the URL is no candidate, now or later."""

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Take the best on a ``ready`` host out of the candidates for good; None when there is none."""
