"""The replacement of a pseudonym, chosen once and kept until it is complete.

A page keeps the visitors whose pseudonyms come first. So that every page keeps the same ones, the new pseudonym
must lie on the same side of each full page's last visitor as the old one.
"""

import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from scentline.agents.observe.pseudonym import KEY_FILE, Pseudonyms, kept_key
from scentline.agents.operate.record import accesses, rows
from scentline.agents.stored import write_stored
from scentline.models.facts import Access
from scentline.models.frontier.keys import PAGE_PREFIX
from scentline.models.frontier.rows import PageRow
from scentline.models.policy.features import user as user_feature
from scentline.models.records import partition_of
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.transport.journal import Journal

#: The file in a data directory that holds the replacement in progress.
PLAN_FILE = "forgetting"
_PSEUDONYM = re.compile(r"[0-9a-f]{16}")
_LARGEST = 16**16
_ATTEMPTS = 1_000_000


class Replacement(msgspec.Struct, frozen=True):
    """A pseudonym and its replacement."""

    old: str
    new: str

    def concerns(self, key: bytes, value: bytes) -> bool:
        """Return whether an entry holds the old pseudonym, which keys and values have verbatim."""
        old = self.old.encode()
        return old in key or old in value

    def of(self, key: bytes, value: bytes) -> list[tuple[bytes, bytes | None]]:
        """Return the writes that replace an entry; the value None deletes a key.

        >>> Replacement("old", "new").of(b"u-old", b"[old]")
        [(b'u-old', None), (b'u-new', b'[new]')]
        """
        old, new = self.old.encode(), self.new.encode()
        written: list[tuple[bytes, bytes | None]] = [(key.replace(old, new), value.replace(old, new))]
        return [(key, None), *written] if old in key else written


class Bounds(msgspec.Struct, frozen=True):
    """The pseudonyms, as numbers, between which the new one must lie, exclusive."""

    above: int = -1
    below: int = _LARGEST


def is_pseudonym(text: str) -> bool:
    """Return whether a text is a pseudonym: 16 hexadecimal digits in lower case.

    >>> is_pseudonym("25b8e0716cbcc8a0"), is_pseudonym("alice")
    (True, False)
    """
    return _PSEUDONYM.fullmatch(text) is not None


def choose(old: str, bounds: Bounds, partitions: int) -> Replacement:
    """Return a random replacement within the bounds that keeps everything in its partition.

    Raises `ConfigurationError` in the improbable case that none is found.
    """
    for _ in range(_ATTEMPTS):
        new = f"{bounds.above + 1 + secrets.randbelow(bounds.below - bounds.above - 1):016x}"
        if new != old and all(
            partition_of(name(new), partitions) == partition_of(name(old), partitions)
            for name in (str, user_feature)
        ):
            return Replacement(old, new)
    raise ConfigurationError("forget-user: found no pseudonym to replace the user's")


def pending(data: Path) -> Replacement | None:
    """Return the replacement in progress in a data directory."""
    path = data / PLAN_FILE
    return msgspec.json.decode(path.read_bytes(), type=Replacement) if path.exists() else None


def begin(data: Path, replacement: Replacement) -> None:
    """Store a replacement before anything is replaced: a second one would split the user."""
    write_stored(data / PLAN_FILE, msgspec.json.encode(replacement))


def end(data: Path) -> None:
    """Delete the stored replacement, the last link from one pseudonym to the other."""
    (data / PLAN_FILE).unlink(missing_ok=True)


def check_nothing_pending(data: Path) -> None:
    """Raise `ConfigurationError` if a replacement was interrupted: it must be completed first."""
    if pending(data) is not None:
        raise ConfigurationError(
            f"data {data}: forget-user was interrupted here; run the same command again first"
        )


def pseudonym_of(settings: Settings, user: str, is_name: bool) -> str:
    """Return the pseudonym of ``user``, an identity as the log has it or, unless ``is_name``, a pseudonym.

    Raises `ConfigurationError` if it can't be computed.
    """
    if not is_name and not is_pseudonym(user):
        raise ConfigurationError("forget-user: --pseudonym takes 16 hexadecimal digits, as in the topics")
    if not is_name:
        return user
    key = key_of(settings)
    if key is None:
        raise ConfigurationError(
            "forget-user: no key of the pseudonyms; expected the observe.user_key that the log was fed with"
        )
    return Pseudonyms(key).of(user)


def key_of(settings: Settings) -> bytes | None:
    """Return the key of the pseudonyms: from the settings, else the one kept in the data directory, if any."""
    return settings.observe.key or kept_key(settings.data / KEY_FILE)


def bounds_of(old: str, settings: Settings, journal: Journal) -> Bounds:
    """Return the bounds of a replacement for the pseudonym ``old`` in a data directory."""
    visitors = visitors_of(pages_of(old, accesses(journal)), accesses(journal))
    pages = (row for _, row in rows(journal.table("frontier"), PAGE_PREFIX, PageRow))
    return bounds(old, visitors, pages, settings.frontier.visitors)


def pages_of(old: str, found: Iterable[Access]) -> frozenset[str]:
    """Return the URLs of a user's accesses among those found."""
    return frozenset(access.url for access in found if access.user == old)


def visitors_of(pages: Collection[str], found: Iterable[Access]) -> dict[str, set[str]]:
    """Return the visitors of each page, by URL."""
    visitors: dict[str, set[str]] = {url: set() for url in pages}
    for access in found:
        if access.url in visitors:
            visitors[access.url].add(access.user)
    return visitors


def bounds(old: str, visitors: Mapping[str, set[str]], pages: Iterable[PageRow], most: int) -> Bounds:
    """Return the bounds, given the visitors of each page of ``old``; ``pages`` include all these.

    A page keeps ``most`` visitors.
    """
    above, below = -1, Bounds().below
    for row in pages:
        if len(row.visitors) < most:
            continue
        if old in row.visitors:
            left_out = visitors.get(row.url, set()).difference(row.visitors)
            below = min([below, *(int(user, 16) for user in left_out if user > old)])
        elif row.url in visitors and old > max(row.visitors):
            above = max(above, int(max(row.visitors), 16))
    return Bounds(above, below)
