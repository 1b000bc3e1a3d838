"""Forgetting one user of a data directory on which no crawl runs."""

from dataclasses import dataclass

from agents.crawl.journal import open_journal
from agents.observe.observer import Observer
from agents.operate.privacy.bounds import bounds_of
from agents.operate.privacy.plan import Replacement, begin, choose, end, key_of, pending, pseudonym_of
from agents.operate.privacy.rawlines import lines_of
from agents.operate.privacy.rewrite import delete, purge, rewrite
from streams.settings import Settings
from streams.transport.journal import Journal


@dataclass(frozen=True)
class Forgotten:
    """What was found of a user: entries of topics and tables that held the pseudonym, and raw lines."""

    entries: int
    lines: int


def forget_user(settings: Settings, user: str, is_name: bool) -> Forgotten:
    """Replace a user's pseudonym everywhere by a random one that no key leads to, and delete raw lines.

    ``user`` is the identity as the log has it or, unless ``is_name``, a pseudonym. One that was interrupted is
    completed first. Raises `JournalInUseError` while a crawl runs, `JournalMissingError` where there is none,
    `JournalFormatError` for the data of another version, and `ConfigurationError` where the pseudonym can't be
    told.
    """
    data = settings.data
    # What is no crawl's, or another version's, is refused before anything is replaced in it.
    Journal.open(data / "journal", read_only=True).close()
    old = pseudonym_of(settings, user, is_name)
    unfinished = pending(data)
    entries = _replaced(settings, unfinished) if unfinished is not None else 0
    with open_journal(settings) as journal:
        observer = Observer(settings.observe, key_of(settings) or b"")
        lines = list(lines_of(journal, observer, old, user if is_name else None))
        replacement = choose(old, bounds_of(old, settings, journal), settings.streams.partitions)
    delete(data, lines)
    begin(data, replacement)
    return Forgotten(entries + _replaced(settings, replacement), len(lines))


def _replaced(settings: Settings, replacement: Replacement) -> int:
    found = rewrite(settings.data, replacement)
    purge(settings.data)
    end(settings.data)
    return found
