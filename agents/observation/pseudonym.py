"""Pseudonyms: what stands for a user everywhere behind the log."""

import hmac
import logging
import secrets
from functools import lru_cache
from pathlib import Path

from streams.settings import ObserveSettings

_log = logging.getLogger(__name__)
_REMEMBERED = 65_536
_LONG = 200
_DIGITS = 16
_KEY_BYTES = 32

#: The file in a data directory that holds a random key.
KEY_FILE = "user-key"


def user_key(settings: ObserveSettings, kept: Path) -> bytes:
    """Return the key of the pseudonyms from the settings, or else a random one, with a warning.

    An empty key counts as none: pseudonyms made with it could be undone by anyone. The random key is kept in
    the file ``kept``, for its owner only: a crawl that goes on must call its users by the same names, or it
    would count their accesses again.
    """
    if settings.user_key is not None and settings.user_key.get_secret_value():
        return settings.user_key.get_secret_value().encode()
    _log.warning(
        "observe: no key for the users' pseudonyms (observe.user_key, SCENTLINE_OBSERVE__USER_KEY): using a "
        "random one, kept beside the crawl's data in %s; who has both can undo the pseudonyms",
        kept.name,
    )
    if kept.exists():
        return kept.read_bytes()
    key = secrets.token_bytes(_KEY_BYTES)
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Written whole under another name first: a key cut short by a crash would be another key.
    fresh = kept.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_bytes(key)
    fresh.replace(kept)
    return key


class Pseudonyms:
    """Maps identities to pseudonyms: the first 16 hexadecimal digits of HMAC-SHA256 under ``key``.

    The latest 65,536 are remembered, since users come back within minutes; names beyond 200 characters are not.

    >>> Pseudonyms(b"key").of("192.0.2.7")
    '25b8e0716cbcc8a0'
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._remembered = lru_cache(_REMEMBERED)(self._computed)

    def of(self, identity: str) -> str:
        """Return the pseudonym of an identity."""
        return self._remembered(identity) if len(identity) <= _LONG else self._computed(identity)

    def _computed(self, identity: str) -> str:
        return hmac.digest(self._key, identity.encode(), "sha256").hex()[:_DIGITS]
