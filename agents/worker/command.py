"""What the worker command does around a worker: checks, the connection, signals."""

import asyncio
from collections.abc import Iterable
from contextlib import ExitStack
from secrets import token_bytes

from scentline.agents.crawl.directory import keep_settings, make_directory
from scentline.agents.fetch.guard import stays_home
from scentline.agents.judge.predicates import check_judges, with_every_page
from scentline.agents.observe.observer import Observer
from scentline.agents.signals import told_to_end
from scentline.agents.worker.worker import ROLES, Worker
from scentline.models.errors import EventLog
from scentline.models.predicate import parse
from scentline.streams.metrics import Metrics
from scentline.streams.settings import ConfigurationError, Settings

log = EventLog("worker")


def played(names: Iterable[str]) -> tuple[str, ...]:
    """Return the roles that the names stand for; raises `ConfigurationError` for one that there is not.

    >>> played(["judge", "fetch"])
    ('fetch', 'judge')
    """
    given = set(names)
    unknown = sorted(given - {*ROLES, "all"})
    if unknown:
        raise ConfigurationError(f"no role {unknown[0]!r}; expected some of {', '.join(ROLES)}, or all")
    return ROLES if "all" in given else tuple(role for role in ROLES if role in given)


def run(settings: Settings, roles: tuple[str, ...]) -> None:
    """Play the roles until a signal ends the worker; raises the error that ended it otherwise."""
    settings = with_every_page(settings)
    _check(settings, roles)
    make_directory(settings.data)
    keep_settings(settings)
    observer = Observer(settings.observe, settings.observe.key or token_bytes(32))
    asyncio.run(_run(settings, roles, observer))


def _check(settings: Settings, roles: tuple[str, ...]) -> None:
    predicates = {name: parse(expression) for name, expression in settings.predicates.items()}
    if "judge" in roles:
        check_judges(predicates, settings.judge)
    if "fetch" in roles and stays_home(settings.fetch) and not settings.fetch.allow:
        raise ConfigurationError(
            f"fetch.user_agent: {settings.fetch.user_agent!r} names no contact, so nothing may be "
            "fetched; expected your URL or e-mail address, or hosts in fetch.allow"
        )
    # Every worker that observes must call a user by the same name.
    if "observe" in roles and settings.observe.key is None:
        raise ConfigurationError(
            "observe.user_key: missing; expected the key of the users' pseudonyms in "
            "SCENTLINE_OBSERVE__USER_KEY, the same for every worker"
        )


async def _run(settings: Settings, roles: tuple[str, ...], observer: Observer) -> None:
    metrics = Metrics()
    waiting = ["the broker, or topics: the worker's log says what it waits for"]
    metrics.health.need(lambda: list(waiting))
    # It is told to end while the worker stops, too.
    with ExitStack() as heard:
        async with Worker(settings, roles, observer, metrics) as worker:
            waiting.clear()
            heard.enter_context(told_to_end(worker.stopped.set))
            worker.begin()
            log.info("working", roles=", ".join(roles))
            await worker.stopped.wait()
            log.info("stopping", roles=", ".join(roles))
    if worker.failure is not None:
        raise worker.failure
