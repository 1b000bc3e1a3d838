"""Pseudonyms, which stand for users everywhere behind the log."""

import hmac
import logging
import os
import secrets
from functools import lru_cache
from pathlib import Path

from scentline.agents.stored import open_plain, write_stored
from scentline.models.accesslog.views import network
from scentline.streams.settings import ConfigurationError, ObserveSettings

_log = logging.getLogger(__name__)
_REMEMBERED = 65_536
_LONG = 200
_DIGITS = 16
_KEY_BYTES = 32
#: Bytes read of a kept key.
_MOST_BYTES = 65_536
#: The bytes in a file that lost its content in a power failure.
_NOTHING = b"\0 \t\r\n"

#: The file in a data directory that holds a random key.
KEY_FILE = "user-key"


def user_key(settings: ObserveSettings, kept: Path) -> bytes:
    """Return the key of the pseudonyms from the settings, or else a random one, with a warning.

    The file ``kept``, readable by its owner only, keeps the random key: a continued crawl must give its users
    the same names. Raises `ConfigurationError` where it can't be written or read.
    """
    if settings.key is not None:
        return settings.key
    key = kept_key(kept)
    _log.warning(
        "observe: no key for the users' pseudonyms (observe.user_key, SCENTLINE_OBSERVE__USER_KEY): using a "
        "random one, kept beside the crawl's data in %s; whoever has both can undo the pseudonyms",
        kept.name,
    )
    if key is None:
        key = secrets.token_bytes(_KEY_BYTES)
        try:
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_stored(kept, key)
        except OSError as error:
            raise ConfigurationError(
                f"the key of the users' pseudonyms can't be kept in {kept}: {error.strerror}"
            ) from error
    return key


def kept_key(kept: Path) -> bytes | None:
    """Return the key in a file, None without a file; closes the file to all but its owner, with a warning.

    Raises `ConfigurationError` for a key that can't be read or closed, or is empty: anyone could compute the
    pseudonyms.
    """
    try:
        file = open_plain(kept)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"{kept}: the key can't be read: {error.strerror}") from error
    with file:
        _close_to_others(kept, file.fileno())
        key = file.read(_MOST_BYTES)
    if not key.strip(_NOTHING):
        raise ConfigurationError(
            f"{kept}: the file is empty, expected the key of the users' pseudonyms; put the key back, or "
            "delete the file if no log was fed yet"
        )
    return key


def _close_to_others(kept: Path, number: int) -> None:
    mode = os.fstat(number).st_mode
    if not mode & 0o077:
        return
    try:
        os.fchmod(number, 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"{kept}: others can {'write' if mode & 0o022 else 'read'} the key; expected mode 600, which "
            f"can't be set: {error.strerror}"
        ) from error
    _log.warning(
        "observe: others could %s the key of the users' pseudonyms, %s; only its owner can now. Whoever has "
        "the key can undo the pseudonyms",
        "write" if mode & 0o022 else "read",
        kept.name,
    )


class Pseudonyms:
    """Maps identities to pseudonyms: the first 16 hexadecimal digits of HMAC-SHA256 under ``key``.

    The latest 65,536 are remembered, except names beyond 200 characters.

    >>> Pseudonyms(b"key").of("192.0.2.7")
    '25b8e0716cbcc8a0'
    """

    def __init__(self, key: bytes) -> None:
        self._keyed = hmac.new(key, digestmod="sha256")
        self._remembered = lru_cache(_REMEMBERED)(self._computed)
        self._clients = lru_cache(_REMEMBERED)(self._of_client)

    def of(self, identity: str) -> str:
        """Return the pseudonym of an identity."""
        return self._remembered(identity) if len(identity) <= _LONG else self._computed(identity)

    def of_client(self, address: str) -> tuple[str, str | None]:
        """Return the pseudonyms of an address and, where it shows, of the client that has it (`network`)."""
        return self._clients(address) if len(address) <= _LONG else self._of_client(address)

    def _of_client(self, address: str) -> tuple[str, str | None]:
        own, client = self._computed(address), network(address)
        if client is None:
            return own, None
        return own, own if client == address else self.of(client)

    def _computed(self, identity: str) -> str:
        code = self._keyed.copy()
        code.update(identity.encode())
        return code.hexdigest()[:_DIGITS]
