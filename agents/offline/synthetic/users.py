"""The people who browse the synthetic web, and what each sees in a session."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agents.offline.synthetic.links import Hyperlink, Linker
from agents.offline.synthetic.plan import Plan, PlannedPage
from agents.offline.synthetic.vocabulary import Topic

# A link to a page of a user's taste is this many times as likely to be followed as another one.
_PULL = 8.0
# Sessions that begin at a page of the user's taste, as from a search; the others at a home page.
_BEGIN_AT_TASTE = 0.75
_GO_ON, _GO_BACK = 0.88, 0.15
_MAX_SESSION = 40


@dataclass(frozen=True, slots=True)
class User:
    """A person: the address that stands in the log, and the names of one or two topics they like."""

    address: str
    tastes: tuple[str, ...]


#: What a request met: a page seen, the old URL of a page, or a dead link.
Met: TypeAlias = Literal["page", "moved", "missing"]


def make_users(seed: int, count: int, topics: Sequence[Topic]) -> list[User]:
    """Return ``count`` users, at most 65,000 with addresses of their own."""
    rng = random.Random(f"{seed}/users")
    numbers = rng.sample(range(256, 256 * 255), count)
    return [
        User(
            f"10.20.{number // 256}.{number % 256}",
            tuple(topic.name for topic in rng.sample(topics, min(len(topics), rng.choice((1, 1, 2))))),
        )
        for number in numbers
    ]


def browse(rng: random.Random, plan: Plan, linker: Linker, user: User) -> Iterator[tuple[str, Met]]:
    """Return the URLs of one session in order, with what each met.

    The user starts at a page they like or at a home page and follows links, now and then from the page
    before; robots.txt does not bind people.
    """
    page = _begin(rng, plan, linker, user)
    before = page
    yield page.url, "page"
    for _ in range(_MAX_SESSION):
        if rng.random() > _GO_ON:
            return
        if rng.random() < _GO_BACK:
            page = before
        link = _choose(rng, linker.links(page), user)
        if link is None:
            return
        if link.page is None:
            yield link.target, "missing"
            continue
        if link.target in plan.moved:
            yield link.target, "moved"
            yield link.page.url, "page"
        else:
            yield link.target, "page"
        before, page = page, link.page


def _begin(rng: random.Random, plan: Plan, linker: Linker, user: User) -> PlannedPage:
    if rng.random() < _BEGIN_AT_TASTE:
        return linker.popular(rng, rng.choice(user.tastes))
    return rng.choice(plan.homes)


def _choose(rng: random.Random, links: Sequence[Hyperlink], user: User) -> Hyperlink | None:
    seen = [link for link in links if not link.target.endswith(".pdf")]
    if not seen:
        return None
    return rng.choices(seen, weights=[_PULL if _liked(link, user) else 1.0 for link in seen])[0]


def _liked(link: Hyperlink, user: User) -> bool:
    return link.page is not None and link.page.topic is not None and link.page.topic.name in user.tastes
