"""Who asks: whether a User-Agent names a contact, and what may be asked where it names none."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from scentline.agents.fetch.guard import Guard, literal
from scentline.models.url import host
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import FetchSettings

# Names that belong to nobody (RFC 2606, RFC 6761): nobody can be reached there.
_NOBODY = re.compile(r"(?:.*\.)?(?:example(?:\.(?:com|net|org))?|test|invalid|localhost)\.?")
_CONTACT = re.compile(r"(?:https?://|[^\s@<>()]+@)([A-Za-z0-9](?:[A-Za-z0-9-]*\.)+[A-Za-z0-9-]+)")


def names_contact(user_agent: str) -> bool:
    """Return whether a User-Agent holds a URL or a mail address at a name that may be somebody's.

    >>> names_contact("Bot/1.0 (+https://crawler.wikipedia.org/bot)")
    True
    >>> names_contact("Bot/1.0 (+https://example.org/bot)"), names_contact("Bot/1.0")
    (False, False)
    """
    return any(not _NOBODY.fullmatch(found[1].lower()) for found in _CONTACT.finditer(user_agent))


def stays_home(settings: FetchSettings) -> bool:
    """Return whether only the hosts of ``settings.allow`` may be asked, since no contact is named.

    A proxy on this machine needs none: an archive is served so. What such a proxy asks is its operator's
    responsibility.
    """
    return not names_contact(settings.user_agent) and not _on_this_machine(settings.proxy)


def check_contact(settings: FetchSettings, seeds: Iterable[str]) -> None:
    """Raise `ConfigurationError` for a crawl that would ask the open web without saying who asks."""
    if not stays_home(settings):
        return
    guard = Guard(settings.allow, settings.deny)
    for seed in seeds:
        if not guard.allows_host(host(seed)):
            raise ConfigurationError(
                f"fetch.user_agent: {settings.user_agent!r} names no contact, which a crawl of the open web "
                "needs; expected your URL or e-mail address, such as "
                "fetch.user_agent='MyBot/1.0 (+https://my.site/bot)'. Without one, only the hosts in "
                "fetch.allow can be crawled"
            )


def _on_this_machine(proxy: str | None) -> bool:
    name = (urlsplit(proxy).hostname or "") if proxy else ""
    address = literal(name)
    return name == "localhost" or (address is not None and address.is_loopback)
