"""Whose pseudonym is to be replaced: worked out from who it is, or taken as given."""

from agents.observation.pseudonym import KEY_FILE, Pseudonyms, kept_key
from agents.privacy.plan import is_pseudonym
from streams.configuration import ConfigurationError
from streams.settings import Settings


def pseudonym_of(settings: Settings, user: str, is_name: bool) -> str:
    """Return the pseudonym of ``user``, an identity as the log has it or, unless ``is_name``, a pseudonym.

    Raises `ConfigurationError` where it can't be told.
    """
    if not is_name and not is_pseudonym(user):
        raise ConfigurationError(
            "forget-user: --pseudonym takes 16 hexadecimal digits, as the topics have them"
        )
    if not is_name:
        return user
    key = key_of(settings)
    if key is None:
        raise ConfigurationError(
            "forget-user: no key of the pseudonyms; expected observe.user_key as it was when the log was fed"
        )
    return Pseudonyms(key).of(user)


def key_of(settings: Settings) -> bytes | None:
    """Return the key of the pseudonyms: from the settings, else the one kept in the data directory, if any."""
    configured = settings.observe.user_key
    if configured is not None and configured.get_secret_value():
        return configured.get_secret_value().encode()
    return kept_key(settings.data / KEY_FILE)
